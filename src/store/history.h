// History: ended tasks in SQLite, to be listed, summed and queried with SQL.
//
// A projection of the journal: rows are added in the order tasks end, together with the place in
// the journal up to which they are complete, so a lost tail is projected again. One connection
// writes and checkpoints; readers have their own, read only. Each row carries a checksum: a row
// that does not match is an error that names it, never data; so is one that is gone while its body
// is there. Tables and views: history_schema.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "store/ended_task.h"
#include "store/sqlite.h"

namespace berth::store {

// One thread.
class HistoryWriter {
 public:
  // Creates the file if it is not there. What it holds then is durable.
  // `identity`: of the data folder, put into a history that has none; see identity.h.
  static Result<std::unique_ptr<HistoryWriter>> open(const std::filesystem::path& path,
                                                     std::uint64_t identity = 0);

  // All of them or none, with `projected`. One that is there already stays as it is, so that a
  // part of the journal may be projected again. Then the settled charges are put into their rows;
  // one without a row is passed by.
  Status add(std::span<const EndedTask> tasks, std::uint64_t projected,
             std::span<const SettledCharge> settled = {});

  // Deletes spec and result of at most `count_max` tasks whose time is over. How many it were.
  Result<std::size_t> prune(std::int64_t now_ns, std::size_t count_max = 10'000);

  // Deletes at most `count_max` tasks that ended at or before this time, the oldest first. How many
  // it were.
  Result<std::size_t> remove_ended(std::int64_t upto_ns, std::size_t count_max = 10'000);

  // Makes the index over the tenants' own ids if an older version made the file. Some seconds for
  // each million rows; readers go on meanwhile.
  Status index_ids();

  // Moves the log into the file; short if called often. True: all that was added is durable. False:
  // a reader holds an older state; try again later.
  Result<bool> checkpoint();

  // The place in the journal up to which the rows are complete; 0 in a new file. The journal must
  // be kept from the durable one on.
  std::uint64_t projected() const { return projected_; }
  std::uint64_t durable_projected() const { return durable_projected_; }

 private:
  explicit HistoryWriter(Connection connection) : connection_(std::move(connection)) {}
  Status prepare();
  Status put_identity(std::uint64_t identity);
  Status add_rows(std::span<const EndedTask> tasks, std::uint64_t projected,
                  std::span<const SettledCharge> settled);
  Status add_one(const EndedTask& task);
  Status settle(const SettledCharge& settled);
  Status put_meta(std::string_view key, std::int64_t value);

  Connection connection_;
  Statement insert_task_;
  Statement insert_body_;
  Statement find_task_;
  Statement replace_task_;
  Statement replace_meta_;
  Statement delete_bodies_;
  Statement remove_bodies_;
  Statement remove_tasks_;
  std::uint64_t projected_ = 0;
  std::uint64_t durable_projected_ = 0;
};

struct HistoryFilter {
  std::string tenant;  // empty: any
  std::string queue;   // empty: any
  std::optional<std::string> group;
  std::vector<std::string> states;   // empty: any
  std::uint64_t before_task_no = 0;  // 0: from the newest
  std::size_t limit = 100;
  bool bodies = false;  // spec and result too
};

struct HistoryPage {
  std::vector<EndedTask> tasks;              // the highest task_no first
  std::optional<std::uint64_t> more_before;  // go on with before_task_no = this; none: the end
};

struct UsageLine {
  std::string tenant;
  std::string queue;
  std::string day;  // 2026-11-15, UTC
  std::uint64_t tasks = 0;
  std::uint64_t completed = 0;
  std::int64_t gpu_ms = 0;
  std::int64_t wait_ms = 0;
  bool operator==(const UsageLine&) const = default;
};

// A cell of a query: NULL, text (numbers as text), or a blob.
using QueryCell = std::variant<std::monostate, std::string, std::vector<std::byte>>;
struct QueryResult {
  std::vector<std::string> columns;
  std::vector<std::vector<QueryCell>> rows;
  bool cut = false;  // there were more rows
};

// Any number of threads.
class HistoryReader {
 public:
  // The file must exist; HistoryWriter::open makes it.
  static Result<std::unique_ptr<HistoryReader>> open(const std::filesystem::path& path);

  // By key: about a tenth of a millisecond.
  Result<std::optional<EndedTask>> find(std::uint64_t task_no) const;

  // The newest with this id of the tenant's own; tasks named by their number are not looked at. By
  // an index; without it (HistoryWriter::index_ids) some 300 ms for each million rows.
  Result<std::optional<EndedTask>> find_by_id(std::string_view tenant,
                                              std::string_view task_id) const;

  // Reads back from the newest, at most a fixed number of rows in one call: a page may be short, or
  // empty, and still have more behind it.
  Result<HistoryPage> list(const HistoryFilter& filter) const;

  // Of the last `days` days, today included. Empty tenant: all. Rows have engine time, days are
  // those of the wall clock, which is ahead of it.
  Result<std::vector<UsageLine>> usage(std::string_view tenant, int days, std::int64_t now_ns,
                                       std::int64_t wall_ahead_ns = 0) const;

  // One statement that only reads. Rows are not checked against their checksums.
  Result<QueryResult> query(std::string_view sql, std::size_t rows_max = 100'000) const;

 private:
  explicit HistoryReader(std::filesystem::path path) : path_(std::move(path)) {}
  template <class Use>
  auto with_connection(Use use) const -> decltype(use(std::declval<Connection&>()));

  std::filesystem::path path_;
  mutable std::mutex mutex_;
  mutable std::vector<Connection> idle_;
};

// What a history says of itself, for those who have not opened it yet.
struct HistoryHead {
  bool exists = false;
  bool readable = false;       // the rest was read
  std::uint64_t identity = 0;  // 0: none
  std::uint64_t projected = 0;
};
HistoryHead read_history_head(const std::filesystem::path& path);

// What can still be read of a damaged history: rows that match their checksums, in the order of
// their numbers up to `upto_task_no`; spec and result are empty where they cannot be read.
struct Salvaged {
  std::uint64_t good = 0;
  std::uint64_t bad = 0;  // rows, or places where the file cannot be read
};
using TakeSalvaged = std::function<Status(const std::vector<EndedTask>&)>;
Result<Salvaged> salvage_history(const std::filesystem::path& path, std::uint64_t upto_task_no,
                                 const TakeSalvaged& take);

struct HistoryFinding {
  std::string message;
  std::string repair;
};

// Looks at everything: the file's structure, its schema, every row. Empty: all is well. A file that
// cannot be opened is a finding too.
std::vector<HistoryFinding> check_history(const std::filesystem::path& path);

}  // namespace berth::store
