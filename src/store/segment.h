// Segment: one file of the journal. Its name, its header, and which ones a folder holds.
//
//   journal/000000000000000001.bjl       the name is the number, ascending without gaps
//
//   offset  0  u32  magic "BJSG"         32  u64  running hash before its first group
//           4  u32  format               40  u64  actions counted by that hash
//           8  u64  number               48  u64  identity of the data folder; 0: none
//          16  u64  seq of first event   56  u32  reserved, zero
//          24  u64  epoch                60  u32  CRC32C of the 60 bytes before
//                                        64  groups, one after another, then zeros
//
// A segment gets its name only when its header is on disk and all before it is durable: a header
// that is not intact is damage, never a torn write, and a later segment vouches for the earlier.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/result.h"
#include "journal/running_hash.h"
#include "store/file.h"

namespace berth::store {

inline constexpr std::size_t kSegmentHeaderSize = 64;
inline constexpr std::uint32_t kSegmentMagic = 0x47534a42;  // "BJSG"
inline constexpr std::uint32_t kSegmentFormat = 1;

struct SegmentHeader {
  std::uint64_t number = 0;
  std::uint64_t first_seq = 0;
  std::uint64_t epoch = 0;
  journal::RunningHash::State hash;  // before its first group
  std::uint64_t identity = 0;        // see identity.h; 0: written by a version that knew none
  bool operator==(const SegmentHeader&) const = default;
};

struct SegmentInfo {
  SegmentHeader header;
  std::filesystem::path path;
  std::uint64_t bytes = 0;  // of the file, the zeros at its end included
};

std::filesystem::path segment_path(const std::filesystem::path& folder, std::uint64_t number);

// The numbers of the segments in `folder`, ascending. Other files do not count; a folder that is
// not there holds none.
Result<std::vector<std::uint64_t>> segment_numbers(const std::filesystem::path& folder);

struct ParsedSegment {
  enum class Status : std::uint8_t { intact, unknown_format, damaged } status = Status::damaged;
  SegmentHeader header;
  const char* reason = "";  // a few words, when not intact
};
ParsedSegment parse_segment_header(journal::ByteView bytes, std::uint64_t number);

// Writes the segment beside its place, with room for `bytes`. After an error nothing is left of it,
// and it may be tried again.
Result<File> prepare_segment(const std::filesystem::path& folder, const SegmentHeader& header,
                             std::uint64_t bytes);
// Makes it durable and gives it its name. After an error nobody knows which of both it has: the
// journal must be read again before anything is appended.
Status publish_segment(File& prepared, const std::filesystem::path& folder, std::uint64_t number);

// Room on disk that is kept for the day when there is none: a file of zeros that can become the
// next segment without asking for more. Behind it stands a little more, for others who need some to
// begin on a full disk.
constexpr std::uint64_t spare_slack(std::uint64_t segment_bytes) { return segment_bytes / 16; }
std::filesystem::path spare_path(const std::filesystem::path& folder);
Status make_spare(const std::filesystem::path& folder, std::uint64_t bytes);
// The same as prepare_segment, out of the spare.
Result<File> prepare_segment_of_spare(const std::filesystem::path& folder,
                                      const SegmentHeader& header);

// Removes whole segments, the oldest first. Refuses to remove the last one.
Status remove_segments_before(const std::filesystem::path& folder, std::uint64_t segment);

}  // namespace berth::store
