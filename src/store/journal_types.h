// Places and ends in the journal, as plain values that reader, writer and service share.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>

#include "journal/running_hash.h"

namespace berth::store {

// Of a group's first byte, in the file of its segment.
struct GroupAt {
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  auto operator<=>(const GroupAt&) const = default;
};

// Of a note's bytes: the group's place, further on by what add_note or note_offset said.
struct BytesAt {
  std::uint64_t segment = 0;
  std::uint64_t offset = 0;
  std::uint32_t size = 0;
  bool operator==(const BytesAt&) const = default;
};

// What the journal's end looks like; where the next group goes. Segment 0: there is no segment yet.
struct JournalEnd {
  std::uint64_t next_seq = 0;
  journal::RunningHash::State hash;
  std::uint64_t epoch = 0;
  GroupAt at;
  bool operator==(const JournalEnd&) const = default;
};

}  // namespace berth::store
