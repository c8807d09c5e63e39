// JournalWriter: appends groups to the journal's segments and makes them durable. One thread.
//
// The writer keeps a spare segment. It is used when there is no room for another one, and only
// then.
//
// An append that failed may be tried again: nothing counts as written. After a failed sync, of a
// segment or of their folder, the kernel may have dropped what it had, so nothing is accepted any
// more: `has_failed` says so, and the process must end and recover.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/result.h"
#include "journal/running_hash.h"
#include "journal/wire.h"
#include "store/durable_mark.h"
#include "store/file.h"
#include "store/identity.h"
#include "store/journal_types.h"
#include "store/segment.h"

namespace berth::store {

struct JournalOptions {
  std::filesystem::path folder;
  std::uint64_t segment_bytes = 64ull << 20;
  Identity identity = 0;                // that segments are begun with; 0: none
  std::filesystem::path marked_folder;  // whose identity mark is kept; empty: none is
};

class JournalWriter {
 public:
  // Goes on behind `end`, the end that scan_journal found; whatever stands behind it is cut away.
  // REQUIRES a scan that found nothing, or only a torn tail. An empty folder starts at segment 1
  // with end.next_seq, whatever the caller chose. Behind segments without an identity a new one
  // begins.
  static Result<std::unique_ptr<JournalWriter>> open(const JournalOptions& options,
                                                     const JournalEnd& end);

  // Writes a sealed group; not durable yet. `hash_after`: the running hash after this group.
  // REQUIRES that the group's seq is the next one.
  Result<GroupAt> append(journal::ByteView group, const journal::RunningHash::State& hash_after);

  // Ok: all that was appended survives power loss.
  Status sync();

  // Whether a spare segment is kept, so that the journal goes on when the disk is full.
  bool has_spare() const { return has_spare_; }
  // Takes room for one again.
  Status make_spare();

  // A sync failed, also one inside append: trying again is no use.
  bool has_failed() const { return refused_.has_value(); }

  std::uint64_t segment() const { return end_.at.segment; }  // the one being written
  const JournalEnd& end() const { return end_; }

 private:
  JournalWriter(const JournalOptions& options, const JournalEnd& end);

  Status begin_first_segment();
  Status go_on_in_segment();
  Status make_room(std::uint64_t bytes, std::uint64_t epoch);
  Status begin_next_segment(std::uint64_t bytes, std::uint64_t epoch);
  Status write_group(journal::ByteView group);
  Status clear_failed_write();
  Status sync_segment();
  Status note_durable();
  Status refuse(const Error& failed);

  JournalOptions options_;
  JournalEnd end_;
  File file_;
  File mark_;
  std::uint64_t room_ = 0;       // bytes of the current segment's file
  std::uint64_t dirty_end_ = 0;  // how far a failed append may have written; 0: none did
  bool unsynced_ = false;        // appended since the last sync
  bool has_spare_ = false;
  std::optional<Error> refused_;  // why nothing is accepted any more
};

}  // namespace berth::store
