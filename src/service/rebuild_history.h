// Rebuilding a damaged history: from the journal as far back as that reaches, and older rows from
// what can still be read of the old file.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/result.h"
#include "base/time.h"

namespace berth::service {

struct RebuiltHistory {
  std::uint64_t from_journal = 0;  // rows
  std::uint64_t from_old = 0;      // older ones, as they were
  std::uint64_t unread = 0;        // rows of the old file that could not be read, at least
  std::uint64_t reaches_from = 0;  // the first event that the journal still has
  std::filesystem::path kept;      // the old file; empty: there was none
};

// Refuses while a server runs. `result_ttl`: the server's, for tasks that gave none.
Result<RebuiltHistory> rebuild_history(const std::filesystem::path& data, Duration result_ttl);

}  // namespace berth::service
