// HistoryWriter; see history.h.
#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "store/crash_points.h"
#include "store/history.h"
#include "store/history_columns.h"
#include "store/history_schema.h"

namespace berth::store {
namespace {

// The journal is the truth and is projected again, so a commit needs no sync of its own; a
// checkpoint syncs. It runs when this writer says so, never from another connection.
constexpr std::string_view kPragmas =
    "PRAGMA journal_mode=WAL;"
    "PRAGMA synchronous=NORMAL;"
    "PRAGMA wal_autocheckpoint=0;"
    "PRAGMA mmap_size=0;"
    "PRAGMA cache_size=-16384;"
    "PRAGMA temp_store=MEMORY;";

constexpr std::string_view kOldest =
    "SELECT task_no FROM ended WHERE ended_ns <= ? ORDER BY ended_ns, task_no LIMIT ?";

Error with_repair(const Error& error) {
  return {error.message +
          "; move the history away and start again: it is projected anew from the journal, as far "
          "back as that reaches"};
}

std::string placeholders(int count) {
  std::string out = "?";
  for (int i = 1; i < count; ++i) {
    out += ",?";
  }
  return out;
}

std::string task_sql(std::string_view verb) {
  return std::string(verb) + " INTO ended(" + ended_columns() + ") VALUES (" +
         placeholders(ended_column_count()) + ")";
}

// Rolls back unless it was committed.
class Transaction {
 public:
  explicit Transaction(Connection& connection) : connection_(connection) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction() {
    if (open_) (void)connection_.run("ROLLBACK");
  }
  Status begin() {
    Status begun = connection_.run("BEGIN IMMEDIATE");
    open_ = begun.ok();
    return begun;
  }
  Status commit() {
    crash_point(CrashPoint::history_before);
    Status done = connection_.run("COMMIT");
    if (!done) return done;
    open_ = false;
    crash_point(CrashPoint::history_after);
    return done;
  }

 private:
  Connection& connection_;
  bool open_ = false;
};

Result<bool> has_tables(Connection& connection) {
  Result<Statement> query = connection.prepare("SELECT 1 FROM sqlite_schema LIMIT 1");
  if (!query) return query.error();
  return query->step();
}

Status create_schema(Connection& connection) {
  Transaction transaction(connection);
  if (Status begun = transaction.begin(); !begun) return begun;
  for (const SchemaItem& item : kHistorySchema) {
    if (Status created = connection.run(item.sql); !created) return created;
  }
  if (Status created = connection.run(kEndedById.sql); !created) return created;
  Result<Statement> insert = connection.prepare("INSERT INTO meta VALUES (?, ?, ?)");
  if (!insert) return insert.error();
  for (const auto& [key, value] :
       {std::pair(kMetaFormat, kHistoryFormat), {kMetaProjected, 0}, {kMetaPruned, 0}}) {
    bind_meta(*insert, key, value);
    if (Status inserted = insert->run(); !inserted) return inserted;
  }
  return transaction.commit();
}

}  // namespace

Result<std::unique_ptr<HistoryWriter>> HistoryWriter::open(const std::filesystem::path& path,
                                                           std::uint64_t identity) {
  Result<Connection> connection = Connection::open_to_write(path);
  if (!connection) return connection.error();
  std::unique_ptr<HistoryWriter> writer(new HistoryWriter(std::move(*connection)));
  if (Status ready = writer->prepare(); !ready) return with_repair(ready.error());
  if (Status put = writer->put_identity(identity); !put) return with_repair(put.error());
  return writer;
}

Status HistoryWriter::put_identity(std::uint64_t identity) {
  if (identity == 0) return Done{};
  Result<Statement> insert = connection_.prepare("INSERT OR IGNORE INTO meta VALUES (?, ?, ?)");
  if (!insert) return insert.error();
  bind_meta(*insert, kMetaIdentity, static_cast<std::int64_t>(identity));
  if (Status inserted = insert->run(); !inserted) return inserted;
  if (connection_.changes() == 0) return Done{};
  const Result<bool> synced = checkpoint();
  return synced ? Status(Done{}) : Status(synced.error());
}

Status HistoryWriter::prepare() {
  if (Status set = connection_.run(kPragmas); !set) return set;
  const Result<bool> there = has_tables(connection_);
  if (!there) return there.error();
  if (!*there) {
    if (Status created = create_schema(connection_); !created) return created;
  }
  const Result<std::int64_t> format = read_meta(connection_, kMetaFormat);
  if (!format) return format.error();
  if (*format != kHistoryFormat) {
    return Error{"the history is in format " + std::to_string(*format) + ", this version reads " +
                 std::to_string(kHistoryFormat)};
  }
  const Result<std::int64_t> projected = read_meta(connection_, kMetaProjected);
  if (!projected) return projected.error();
  projected_ = static_cast<std::uint64_t>(*projected);

  const std::pair<Statement*, std::string> statements[] = {
      {&insert_task_, task_sql("INSERT OR IGNORE")},
      {&replace_task_, task_sql("REPLACE")},
      {&find_task_, "SELECT " + ended_columns() + " FROM ended WHERE task_no = ?"},
      {&insert_body_,
       "INSERT OR IGNORE INTO bodies(" + std::string(kBodyColumns) + ") VALUES (?, ?, ?, ?, ?)"},
      {&replace_meta_, "UPDATE meta SET value = ?2, check_sum = ?3 WHERE key = ?1"},
      {&delete_bodies_,
       "DELETE FROM bodies WHERE task_no IN (SELECT task_no FROM bodies "
       "WHERE expires_ns > 0 AND expires_ns <= ? LIMIT ?)"},
      {&remove_bodies_, "DELETE FROM bodies WHERE task_no IN (" + std::string(kOldest) + ")"},
      {&remove_tasks_, "DELETE FROM ended WHERE task_no IN (" + std::string(kOldest) + ")"},
  };
  for (const auto& [statement, sql] : statements) {
    Result<Statement> prepared = connection_.prepare(sql);
    if (!prepared) return prepared.error();
    *statement = std::move(*prepared);
  }
  const Result<bool> synced = checkpoint();
  if (!synced) return synced.error();
  return Done{};
}

Status HistoryWriter::add(std::span<const EndedTask> tasks, std::uint64_t projected,
                          std::span<const SettledCharge> settled) {
  projected = std::max(projected, projected_);
  if (Status added = add_rows(tasks, projected, settled); !added) return added;
  projected_ = projected;
  return Done{};
}

Status HistoryWriter::add_rows(std::span<const EndedTask> tasks, std::uint64_t projected,
                               std::span<const SettledCharge> settled) {
  Transaction transaction(connection_);
  if (Status begun = transaction.begin(); !begun) return begun;
  for (const EndedTask& task : tasks) {
    if (Status added = add_one(task); !added) return added;
  }
  for (const SettledCharge& charge : settled) {
    if (Status put = settle(charge); !put) return put;
  }
  if (Status noted = put_meta(kMetaProjected, static_cast<std::int64_t>(projected)); !noted) {
    return noted;
  }
  return transaction.commit();
}

Status HistoryWriter::add_one(const EndedTask& task) {
  const BoundTask bound(insert_task_, task);
  if (Status inserted = insert_task_.run(); !inserted) return inserted;
  if (connection_.changes() == 0) return Done{};  // it is there already
  bind_body(insert_body_, task);
  return insert_body_.run();
}

Status HistoryWriter::settle(const SettledCharge& settled) {
  find_task_.bind(0, static_cast<std::int64_t>(settled.task_no));
  const Result<bool> found = find_task_.step();
  EndedTask task;
  // A row that does not match its checksum stays as it is, for fsck to tell.
  const bool is_good = found && *found && read_task(find_task_, task);
  find_task_.reset();
  if (!found) return found.error();
  if (!is_good) return Done{};
  for (EndedAttempt& attempt : task.attempts) {
    if (attempt.lease != settled.lease) continue;
    task.charge_us += settled.charge_us - attempt.charge_us;
    attempt.charge_us = settled.charge_us;
  }
  const BoundTask bound(replace_task_, task);
  return replace_task_.run();
}

Status HistoryWriter::put_meta(std::string_view key, std::int64_t value) {
  bind_meta(replace_meta_, key, value);
  return replace_meta_.run();
}

Result<std::size_t> HistoryWriter::prune(std::int64_t now_ns, std::size_t count_max) {
  Transaction transaction(connection_);
  if (Status begun = transaction.begin(); !begun) return begun.error();
  const Result<std::int64_t> before = read_meta(connection_, kMetaPruned);
  if (!before) return before.error();
  delete_bodies_.bind(0, now_ns);
  delete_bodies_.bind(1, static_cast<std::int64_t>(count_max));
  if (Status deleted = delete_bodies_.run(); !deleted) return deleted.error();
  const auto count = static_cast<std::size_t>(connection_.changes());
  if (count == 0) return count;
  if (Status noted = put_meta(kMetaPruned, std::max(*before, now_ns)); !noted) {
    return noted.error();
  }
  if (Status done = transaction.commit(); !done) return done.error();
  return count;
}

Result<std::size_t> HistoryWriter::remove_ended(std::int64_t upto_ns, std::size_t count_max) {
  Transaction transaction(connection_);
  if (Status begun = transaction.begin(); !begun) return begun.error();
  // Bodies first: both choose by the rows of the tasks.
  for (Statement* remove : {&remove_bodies_, &remove_tasks_}) {
    remove->bind(0, upto_ns);
    remove->bind(1, static_cast<std::int64_t>(count_max));
    if (Status removed = remove->run(); !removed) return removed.error();
  }
  const auto count = static_cast<std::size_t>(connection_.changes());
  if (count == 0) return count;
  if (Status done = transaction.commit(); !done) return done.error();
  return count;
}

Status HistoryWriter::index_ids() {
  Result<Statement> query = connection_.prepare("SELECT 1 FROM sqlite_schema WHERE name = ?");
  if (!query) return query.error();
  query->bind(0, kEndedById.name);
  const Result<bool> there = query->step();
  if (!there) return there.error();
  if (*there) return Done{};
  query->reset();
  // Sorting a large history takes more than memory should be asked for.
  if (Status set = connection_.run("PRAGMA temp_store=FILE"); !set) return set;
  Status created = connection_.run(kEndedById.sql);
  if (Status set = connection_.run("PRAGMA temp_store=MEMORY"); !set) return set;
  return created;
}

Result<bool> HistoryWriter::checkpoint() {
  const std::uint64_t projected = projected_;
  Result<bool> whole = connection_.checkpoint();
  if (whole && *whole) durable_projected_ = projected;
  return whole;
}

}  // namespace berth::store
