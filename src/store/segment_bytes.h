// SegmentBytes: a segment's file read in order through a window, and the groups that stand in it.
//
// Reads by pread, not by mapping: a failing disk or a file cut meanwhile is an error or an early
// end, never a signal. Believes no length that a checksum does not cover.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/result.h"
#include "journal/group.h"
#include "journal/wire.h"
#include "store/file.h"

namespace berth::store {

class SegmentBytes {
 public:
  static Result<SegmentBytes> open(const std::filesystem::path& path);

  std::uint64_t size() const { return size_; }

  // `count` bytes from `offset`, fewer where the file ends. Valid until the next call.
  Result<journal::ByteView> at(std::uint64_t offset, std::uint64_t count);

 private:
  SegmentBytes(File file, std::uint64_t size) : file_(std::move(file)), size_(size) {}
  Status fill(std::uint64_t offset, std::uint64_t count);

  File file_;
  std::uint64_t size_ = 0;
  std::unique_ptr<std::byte[]> window_;
  std::uint64_t capacity_ = 0;
  std::uint64_t start_ = 0;   // of the window, in the file
  std::uint64_t filled_ = 0;  // bytes in it
};

struct GroupHere {
  journal::ParsedGroup parsed;    // its payload is valid until the next call
  std::uint64_t stated_size = 0;  // what an intact header says; 0: the header is not intact
};
Result<GroupHere> group_here(SegmentBytes& bytes, std::uint64_t offset);

// What stands behind the last group that could be read.
struct Tail {
  std::optional<std::uint64_t> next_group;  // a whole group with seq >= the one asked for
  std::uint64_t rubbish_end = 0;            // behind the last byte that is not zero; 0: only zeros
};
Result<Tail> look_behind(SegmentBytes& bytes, std::uint64_t offset, std::uint64_t search_from,
                         std::uint64_t seq);

}  // namespace berth::store
