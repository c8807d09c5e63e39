// Reading the journal back: groups in order, and what is wrong with it, if anything.
//
// A bad group with a whole one behind it, in this segment or a later one, is damage: the scan says
// so and the caller refuses. One with nothing behind it is a torn tail: a write that was cut short
// and never acknowledged; JournalWriter::open cuts it. A journal that ends before the durable mark
// is damage in any case. Checks sequence numbers, not decisions: the caller hashes the actions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "journal/group.h"
#include "store/journal_types.h"
#include "store/segment.h"

namespace berth::store {

struct JournalFinding {
  enum class Kind : std::uint8_t { torn_tail, damage, gap, unknown_format };
  Kind kind = Kind::damage;
  GroupAt at;
  std::string message;  // a sentence: what and where
  std::string repair;   // a sentence: what to do
};

struct JournalScan {
  JournalEnd end;  // behind the last whole group in order
  std::uint64_t groups = 0;
  std::uint64_t events = 0;
  std::uint64_t cut_bytes = 0;  // of the torn tail
  std::optional<JournalFinding> finding;
  std::vector<SegmentInfo> segments;  // all of them, up to the first damaged one

  // Of its newest segment; 0: none.
  std::uint64_t identity() const { return segments.empty() ? 0 : segments.back().header.identity; }
  // The journal may be appended to.
  bool usable() const { return !finding || finding->kind == JournalFinding::Kind::torn_tail; }
  // Nothing was removed from its beginning, so it can be applied to an empty state.
  bool has_its_beginning() const { return segments.empty() || segments.front().header.number == 1; }
};

// The group's bytes are valid during the call. False: stop here.
using GroupVisitor = std::function<bool(GroupAt, const SegmentInfo&, const journal::Group&)>;

// Walks groups from the first segment that can hold `from_seq`; 0: from the oldest there is, even
// if older ones were removed. Groups that end at or before from_seq are skipped; one that only
// begins before it is visited, and so is one without events that stands at it. An error is the
// environment's (no access, a failing disk); what is wrong with the bytes is the finding.
Result<JournalScan> scan_journal(const std::filesystem::path& folder, std::uint64_t from_seq,
                                 const GroupVisitor& visit);

}  // namespace berth::store
