// The columns of the history's tables: one list that binds, reads, names and checksums them.
//
// The checksum is CRC32C over all other columns of the row in the order of the table, each as a
// letter for its type and its canonical bytes (journal/wire.h). It is taken of what SQLite gives
// back, before anything is made of it, so a value of another type does not pass either.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "store/ended_task.h"
#include "store/sqlite.h"

namespace berth::store {

// "task_no, task_id, …, check_sum", as the table has them.
const std::string& ended_columns();
int ended_column_count();

// Binds a row and keeps what the statement points into. Run the statement while it lives.
class BoundTask {
 public:
  BoundTask(Statement& statement, const EndedTask& task);

 private:
  std::string attempts_;
  std::string labels_;
};

// Reads ended_columns(). False: the row does not match its checksum.
[[nodiscard]] bool read_task(const Statement& row, EndedTask& task);

inline constexpr std::string_view kBodyColumns = "task_no, expires_ns, spec, result, check_sum";
void bind_body(Statement& statement, const EndedTask& task);
// Reads kBodyColumns into spec and result of the task with this task_no and expires_ns.
[[nodiscard]] bool read_body(const Statement& row, EndedTask& task);

inline constexpr std::string_view kMetaFormat = "format";
inline constexpr std::string_view kMetaProjected = "projected";
inline constexpr std::string_view kMetaPruned = "pruned_ns";
inline constexpr std::string_view kMetaIdentity = "identity";  // there may be none
void bind_meta(Statement& statement, std::string_view key, std::int64_t value);
Result<std::int64_t> read_meta(Connection& connection, std::string_view key);

}  // namespace berth::store
