// HistoryReader; see history.h.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "store/history.h"
#include "store/history_columns.h"
#include "store/history_schema.h"

namespace berth::store {
namespace {

// How many rows one call of list looks at.
constexpr std::int64_t kListRows = 200'000;
constexpr std::int64_t kDayNs = 86'400'000'000'000;

Error wrong_row(const std::filesystem::path& path, std::string_view table, std::int64_t task_no) {
  return {"the row of task " + std::to_string(task_no) + " in " + std::string(table) + " of " +
          path.string() + " does not match its checksum; check it with berth fsck"};
}

std::string select_tasks(std::string_view where) {
  return "SELECT " + ended_columns() + " FROM ended " + std::string(where);
}

// Bodies without their row: a row that is not there any more was lost, for both go together. Asked
// in one statement, so that a writer's change is seen as a whole.
class RowlessBodies {
 public:
  explicit RowlessBodies(const std::filesystem::path& path) : path_(path) {}

  // An error: there is one with a number from `first` to `last`.
  Status check(Connection& connection, std::int64_t first, std::int64_t last) {
    if (first > last) return Done{};
    if (!query_) {
      Result<Statement> query = connection.prepare(
          "SELECT task_no FROM bodies AS b WHERE task_no BETWEEN ? AND ? AND NOT EXISTS "
          "(SELECT 1 FROM ended AS e WHERE e.task_no = b.task_no) LIMIT 1");
      if (!query) return query.error();
      query_ = std::move(*query);
    }
    query_->reset();
    query_->bind(0, first);
    query_->bind(1, last);
    const Result<bool> row = query_->step();
    if (!row) return row.error();
    if (!*row) return Done{};
    return Error{"the row of task " + std::to_string(query_->integer(0)) + " is missing in " +
                 path_.string() + ", but its spec is there; check it with berth fsck"};
  }

  // The same; looks only where no row stands, so it costs no more than to read their keys.
  Status check_gaps(Connection& connection, std::int64_t first, std::int64_t last) {
    Result<Statement> rows = connection.prepare(
        "SELECT task_no FROM ended WHERE task_no BETWEEN ? AND ? ORDER BY task_no DESC");
    if (!rows) return rows.error();
    rows->bind(0, first);
    rows->bind(1, last);
    for (;;) {
      const Result<bool> row = rows->step();
      if (!row) return row.error();
      if (!*row) return check(connection, first, last);
      const std::int64_t task_no = rows->integer(0);
      if (task_no < last) {
        if (Status gap = check(connection, task_no + 1, last); !gap) return gap;
      }
      if (task_no == first) return Done{};
      last = task_no - 1;
    }
  }

 private:
  const std::filesystem::path& path_;
  std::optional<Statement> query_;
};

// Until when bodies were pruned: one that is missing beyond that was lost.
Status read_body_of(Connection& connection, const std::filesystem::path& path, EndedTask& task) {
  Result<Statement> query =
      connection.prepare("SELECT " + std::string(kBodyColumns) + " FROM bodies WHERE task_no = ?");
  if (!query) return query.error();
  const auto task_no = static_cast<std::int64_t>(task.task_no);
  query->bind(0, task_no);
  const Result<bool> row = query->step();
  if (!row) return row.error();
  if (*row) {
    if (!read_body(*query, task)) return wrong_row(path, "bodies", task_no);
    return Done{};
  }
  const Result<std::int64_t> pruned = read_meta(connection, kMetaPruned);
  if (!pruned) return pruned.error();
  if (task.expires_ns == 0 || task.expires_ns > *pruned) {
    return Error{"spec and result of task " + std::to_string(task.task_no) + " are missing in " +
                 path.string() + "; check it with berth fsck"};
  }
  return Done{};
}

// The row the statement stands at, and its body if asked for.
Result<EndedTask> task_at(Connection& connection, const std::filesystem::path& path,
                          const Statement& row, bool body) {
  EndedTask task;
  if (!read_task(row, task)) return wrong_row(path, "ended", row.integer(0));
  if (body) {
    if (Status read = read_body_of(connection, path, task); !read) return read.error();
  }
  return task;
}

Result<std::optional<EndedTask>> first_task(Connection& connection,
                                            const std::filesystem::path& path, Statement& query) {
  const Result<bool> row = query.step();
  if (!row) return row.error();
  if (!*row) return std::optional<EndedTask>();
  Result<EndedTask> task = task_at(connection, path, query, true);
  if (!task) return task.error();
  return std::optional<EndedTask>(std::move(*task));
}

constexpr std::int64_t kNone = -1;  // task numbers begin at 0

// The highest task_no below `before`, or kNone.
Result<std::int64_t> highest_below(Connection& connection, std::int64_t before) {
  Result<Statement> query =
      connection.prepare("SELECT coalesce(max(task_no), -1) FROM ended WHERE task_no < ?");
  if (!query) return query.error();
  query->bind(0, before);
  const Result<bool> row = query->step();
  if (!row) return row.error();
  return *row ? query->integer(0) : kNone;
}

// The statement of one call of list: rows from `top` down to `bottom` that pass the filter.
Result<Statement> prepare_list(Connection& connection, const HistoryFilter& filter,
                               std::int64_t top, std::int64_t bottom) {
  std::string where = "WHERE task_no BETWEEN ? AND ?";
  if (!filter.tenant.empty()) where += " AND tenant = ?";
  if (!filter.queue.empty()) where += " AND queue = ?";
  if (filter.group) where += " AND \"group\" = ?";
  for (std::size_t i = 0; i < filter.states.size(); ++i) {
    where += i == 0 ? " AND state IN (?" : ",?";
  }
  if (!filter.states.empty()) where += ")";
  Result<Statement> query = connection.prepare(select_tasks(where + " ORDER BY task_no DESC"));
  if (!query) return query;
  int at = 0;
  query->bind(at++, bottom);
  query->bind(at++, top);
  if (!filter.tenant.empty()) query->bind(at++, std::string_view(filter.tenant));
  if (!filter.queue.empty()) query->bind(at++, std::string_view(filter.queue));
  if (filter.group) query->bind(at++, std::string_view(*filter.group));
  for (const std::string& state : filter.states) {
    query->bind(at++, std::string_view(state));
  }
  return query;
}

QueryCell cell_of(const Statement& row, int column) {
  switch (row.type(column)) {
    case ColumnType::null:
      return std::monostate();
    case ColumnType::blob: {
      const auto blob = row.blob(column);
      return std::vector<std::byte>(blob.begin(), blob.end());
    }
    default:
      return std::string(row.text(column));
  }
}

}  // namespace

Result<std::unique_ptr<HistoryReader>> HistoryReader::open(const std::filesystem::path& path) {
  Result<Connection> connection = Connection::open_to_read(path);
  if (!connection) return connection.error();
  const Result<std::int64_t> format = read_meta(*connection, kMetaFormat);
  if (!format) return Error{"cannot read " + path.string() + ": " + format.error().message};
  std::unique_ptr<HistoryReader> reader(new HistoryReader(path));
  reader->idle_.push_back(std::move(*connection));
  return reader;
}

HistoryHead read_history_head(const std::filesystem::path& path) {
  std::error_code error;
  HistoryHead head;
  head.exists = std::filesystem::exists(path, error);
  if (!head.exists) return head;
  Result<Connection> connection = Connection::open_to_read(path);
  if (!connection) return head;
  const Result<std::int64_t> projected = read_meta(*connection, kMetaProjected);
  if (!projected) return head;
  head.readable = true;
  head.projected = static_cast<std::uint64_t>(*projected);
  const Result<std::int64_t> identity = read_meta(*connection, kMetaIdentity);
  if (identity) head.identity = static_cast<std::uint64_t>(*identity);
  return head;
}

// Takes an idle connection or opens one; what went well goes back.
template <class Use>
auto HistoryReader::with_connection(Use use) const -> decltype(use(std::declval<Connection&>())) {
  std::optional<Connection> mine;
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      mine = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!mine) {
    Result<Connection> opened = Connection::open_to_read(path_);
    if (!opened) return opened.error();
    mine = std::move(*opened);
  }
  auto result = use(*mine);
  if (result.ok()) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(*mine));
  }
  return result;
}

Result<std::optional<EndedTask>> HistoryReader::find(std::uint64_t task_no) const {
  return with_connection([&](Connection& connection) -> Result<std::optional<EndedTask>> {
    Result<Statement> query = connection.prepare(select_tasks("WHERE task_no = ?"));
    if (!query) return query.error();
    const auto number = static_cast<std::int64_t>(task_no);
    query->bind(0, number);
    Result<std::optional<EndedTask>> found = first_task(connection, path_, *query);
    if (!found || found->has_value()) return found;
    if (Status lost = RowlessBodies(path_).check(connection, number, number); !lost) {
      return lost.error();
    }
    return found;
  });
}

Result<std::optional<EndedTask>> HistoryReader::find_by_id(std::string_view tenant,
                                                           std::string_view task_id) const {
  return with_connection([&](Connection& connection) -> Result<std::optional<EndedTask>> {
    Result<Statement> query =
        connection.prepare(select_tasks("WHERE task_id = ? AND tenant = ? AND " +
                                        std::string(kHasOwnId) + " ORDER BY task_no DESC LIMIT 1"));
    if (!query) return query.error();
    query->bind(0, task_id);
    query->bind(1, tenant);
    return first_task(connection, path_, *query);
  });
}

Result<HistoryPage> HistoryReader::list(const HistoryFilter& filter) const {
  return with_connection([&](Connection& connection) -> Result<HistoryPage> {
    HistoryPage page;
    constexpr std::int64_t kTop = std::numeric_limits<std::int64_t>::max();
    const bool newest =
        filter.before_task_no == 0 || filter.before_task_no > static_cast<std::uint64_t>(kTop);
    const Result<std::int64_t> top =
        highest_below(connection, newest ? kTop : static_cast<std::int64_t>(filter.before_task_no));
    if (!top) return top.error();
    const std::int64_t last = newest ? kTop : static_cast<std::int64_t>(filter.before_task_no) - 1;
    RowlessBodies lost(path_);
    if (*top == kNone) {
      if (Status whole = lost.check(connection, 0, last); !whole) return whole.error();
      return page;
    }
    const std::int64_t bottom = std::max<std::int64_t>(0, *top - kListRows + 1);
    Result<Statement> query = prepare_list(connection, filter, *top, bottom);
    if (!query) return query.error();
    std::int64_t reached = bottom;
    for (;;) {
      if (page.tasks.size() >= std::max<std::size_t>(filter.limit, 1)) {
        reached = static_cast<std::int64_t>(page.tasks.back().task_no);
        break;
      }
      const Result<bool> row = query->step();
      if (!row) return row.error();
      if (!*row) break;
      Result<EndedTask> task = task_at(connection, path_, *query, filter.bodies);
      if (!task) return task.error();
      page.tasks.push_back(std::move(*task));
    }
    const Result<std::int64_t> next = highest_below(connection, reached);
    if (!next) return next.error();
    if (*next != kNone) page.more_before = static_cast<std::uint64_t>(reached);
    const std::int64_t first = *next == kNone ? 0 : reached;
    if (Status whole = lost.check_gaps(connection, first, last); !whole) return whole.error();
    return page;
  });
}

Result<std::vector<UsageLine>> HistoryReader::usage(std::string_view tenant, int days,
                                                    std::int64_t now_ns,
                                                    std::int64_t wall_ahead_ns) const {
  return with_connection([&](Connection& connection) -> Result<std::vector<UsageLine>> {
    Result<Statement> query = connection.prepare(
        "SELECT tenant, queue, date((ended_ns + ?3) / 1000000000, 'unixepoch') AS day, count(*), "
        "sum(state = 'completed'), sum(charge_us) / 1000, sum(wait_ns) / 1000000 FROM ended "
        "WHERE ended_ns >= ?1 AND (?2 = '' OR tenant = ?2) "
        "GROUP BY tenant, queue, day ORDER BY day DESC, tenant, queue");
    if (!query) return query.error();
    const std::int64_t wall_ns = std::max<std::int64_t>(0, now_ns + wall_ahead_ns);
    const std::int64_t today = wall_ns - wall_ns % kDayNs;
    const std::int64_t back = std::clamp<std::int64_t>(days - 1, 0, today / kDayNs);
    query->bind(0, today - back * kDayNs - wall_ahead_ns);
    query->bind(1, tenant);
    query->bind(2, wall_ahead_ns);
    std::vector<UsageLine> lines;
    for (;;) {
      const Result<bool> row = query->step();
      if (!row) return row.error();
      if (!*row) return lines;
      lines.push_back({.tenant = std::string(query->text(0)),
                       .queue = std::string(query->text(1)),
                       .day = std::string(query->text(2)),
                       .tasks = static_cast<std::uint64_t>(query->integer(3)),
                       .completed = static_cast<std::uint64_t>(query->integer(4)),
                       .gpu_ms = query->integer(5),
                       .wait_ms = query->integer(6)});
    }
  });
}

Result<QueryResult> HistoryReader::query(std::string_view sql, std::size_t rows_max) const {
  Result<Connection> connection = Connection::open_to_read(path_);
  if (!connection) return connection.error();
  connection->allow_reading_only();
  Result<Statement> query = connection->prepare(sql);
  if (!query) return query.error();
  QueryResult result;
  for (int i = 0; i < query->columns(); ++i) {
    result.columns.emplace_back(query->name(i));
  }
  for (;;) {
    const Result<bool> row = query->step();
    if (!row) return row.error();
    if (!*row) return result;
    if (result.rows.size() == rows_max) {
      result.cut = true;
      return result;
    }
    std::vector<QueryCell>& cells = result.rows.emplace_back();
    for (int i = 0; i < query->columns(); ++i) {
      cells.push_back(cell_of(*query, i));
    }
  }
}

}  // namespace berth::store
