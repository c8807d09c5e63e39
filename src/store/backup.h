// Backup and restore of a data folder, and the last resort when there is no backup.
//
// A backup is a data folder of its own: segments up to a durable group, the newest snapshot, the
// history; fsck works on it. It may be made while a server runs: segments only grow, and what is
// copied is what was durable when the copy began.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/result.h"

namespace berth::store {

struct BackupReport {
  std::uint64_t next_seq = 0;  // all events before this one are in it
  std::uint64_t segments = 0;
  std::uint64_t bytes = 0;
};

// `to` must be new or empty. Ok: it is complete, durable and was checked.
Result<BackupReport> backup(const std::filesystem::path& data, const std::filesystem::path& to);

// `data` must be new or empty. Ok: it is complete, durable and was checked.
Result<BackupReport> restore(const std::filesystem::path& from, const std::filesystem::path& data);

struct CutReport {
  std::uint64_t next_seq = 0;      // the first event that is gone
  std::filesystem::path moved_to;  // what was cut away, kept
};

// Cuts a damaged journal behind its last whole group, for want of a backup: acknowledged work that
// came after it is lost. What is cut, later snapshots and the history are moved into a folder of
// their own, nothing is deleted. Refuses while a server runs, and where there is no damage.
Result<CutReport> cut_journal(const std::filesystem::path& data);

}  // namespace berth::store
