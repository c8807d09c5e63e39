// check_history; see history.h.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "store/history.h"
#include "store/history_columns.h"
#include "store/history_schema.h"

namespace berth::store {
namespace {

constexpr std::size_t kFindingsMax = 20;

class Check {
 public:
  explicit Check(const std::filesystem::path& path) : path_(path) {}

  std::vector<HistoryFinding> run() {
    Result<Connection> connection = Connection::open_to_read(path_);
    if (!connection) {
      find(connection.error().message);
      return std::move(findings_);
    }
    integrity(*connection);
    schema(*connection);
    meta(*connection);
    if (readable_) rows(*connection);
    if (readable_) bodies(*connection);
    return std::move(findings_);
  }

 private:
  void find(std::string message) {
    if (findings_.size() >= kFindingsMax) return;
    findings_.push_back(
        {std::move(message),
         "stop the server and run berth fsck --rebuild-history: it takes the rows from the "
         "journal, "
         "as far back as that reaches, and older ones from what can still be read"});
  }
  void fail(const Error& error) {
    find(error.message);
    readable_ = false;
  }

  // Each row of the query, until it ends or fails.
  template <class Visit>
  void each_row(Connection& connection, std::string_view sql, Visit visit) {
    Result<Statement> query = connection.prepare(sql);
    if (!query) return fail(query.error());
    for (;;) {
      const Result<bool> row = query->step();
      if (!row) return fail(row.error());
      if (!*row || findings_.size() >= kFindingsMax) return;
      visit(*query);
    }
  }

  void integrity(Connection& connection) {
    each_row(connection, "PRAGMA integrity_check(5)", [&](const Statement& row) {
      if (row.text(0) == "ok") return;
      find("the structure of " + path_.string() + " is damaged: " + std::string(row.text(0)));
    });
  }

  void schema(Connection& connection) {
    std::size_t known = 0;
    each_row(connection,
             "SELECT name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_autoindex%'",
             [&](const Statement& row) {
               const auto same = [&](const SchemaItem& item) {
                 return item.name == row.text(0) && item.sql == row.text(1);
               };
               if (std::any_of(kHistorySchema.begin(), kHistorySchema.end(), same)) {
                 ++known;
               } else if (!same(kEndedById)) {
                 find("the definition of '" + std::string(row.text(0)) + "' in " + path_.string() +
                      " is not the one of this version");
               }
             });
    if (readable_ && known != kHistorySchema.size()) {
      find("tables or views are missing in " + path_.string());
    }
  }

  void meta(Connection& connection) {
    for (const std::string_view key : {kMetaFormat, kMetaProjected, kMetaPruned}) {
      const Result<std::int64_t> value = read_meta(connection, key);
      if (!value) {
        fail(value.error());
      } else if (key == kMetaFormat && *value != kHistoryFormat) {
        fail({"the history is in format " + std::to_string(*value)});
      } else if (key == kMetaPruned) {
        pruned_ns_ = *value;
      }
    }
  }

  void rows(Connection& connection) {
    each_row(connection, "SELECT " + ended_columns() + " FROM ended ORDER BY task_no",
             [&](const Statement& row) {
               EndedTask task;
               if (read_task(row, task)) return;
               find("the row of task " + std::to_string(row.integer(0)) + " in " + path_.string() +
                    " does not match its checksum");
             });
  }

  void bodies(Connection& connection) {
    each_row(connection, "SELECT " + std::string(kBodyColumns) + " FROM bodies ORDER BY task_no",
             [&](const Statement& row) {
               EndedTask task;
               task.task_no = static_cast<std::uint64_t>(row.integer(0));
               task.expires_ns = row.integer(1);
               if (read_body(row, task)) return;
               find("spec and result of task " + std::to_string(task.task_no) + " in " +
                    path_.string() + " do not match their checksum");
             });
    each_row(connection,
             "SELECT e.task_no FROM ended AS e LEFT JOIN bodies AS b USING (task_no) "
             "WHERE b.task_no IS NULL AND (e.expires_ns = 0 OR e.expires_ns > " +
                 std::to_string(pruned_ns_) + ")",
             [&](const Statement& row) {
               find("spec and result of task " + std::to_string(row.integer(0)) +
                    " are missing in " + path_.string());
             });
    each_row(connection,
             "SELECT b.task_no FROM bodies AS b LEFT JOIN ended AS e USING (task_no) "
             "WHERE e.task_no IS NULL OR e.expires_ns <> b.expires_ns",
             [&](const Statement& row) {
               find("the row of task " + std::to_string(row.integer(0)) + " is missing in " +
                    path_.string() + ", but its spec is there");
             });
  }

  const std::filesystem::path& path_;
  std::vector<HistoryFinding> findings_;
  std::int64_t pruned_ns_ = 0;
  bool readable_ = true;
};

}  // namespace

std::vector<HistoryFinding> check_history(const std::filesystem::path& path) {
  return Check(path).run();
}

}  // namespace berth::store
