// See segment_bytes.h.
#include "store/segment_bytes.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

namespace berth::store {
namespace {

constexpr std::uint64_t kWindow = 4ull << 20;

bool only_zeros(journal::ByteView bytes) {
  return bytes.empty() || (bytes[0] == std::byte{0} &&
                           std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

std::uint64_t end_of_rubbish(journal::ByteView bytes) {
  const auto last = std::find_if(bytes.rbegin(), bytes.rend(),
                                 [](std::byte byte) { return byte != std::byte{0}; });
  return static_cast<std::uint64_t>(bytes.rend() - last);
}

std::optional<std::uint64_t> find_magic(journal::ByteView bytes) {
  std::array<std::byte, sizeof journal::kGroupMagic> magic{};
  journal::store_le(magic.data(), journal::kGroupMagic);
  const auto hit = std::search(bytes.begin(), bytes.end(), magic.begin(), magic.end());
  if (hit == bytes.end()) return std::nullopt;
  return static_cast<std::uint64_t>(hit - bytes.begin());
}

bool is_whole(const journal::ParsedGroup& parsed) {
  return parsed.status == journal::GroupStatus::intact ||
         parsed.status == journal::GroupStatus::unknown_format;
}

Result<std::optional<std::uint64_t>> find_whole_group(SegmentBytes& bytes, std::uint64_t from,
                                                      std::uint64_t seq) {
  constexpr std::uint64_t kOverlap = sizeof journal::kGroupMagic - 1;
  while (from + kOverlap < bytes.size()) {
    Result<journal::ByteView> window = bytes.at(from, kWindow);
    if (!window) return window.error();
    if (window->size() <= kOverlap) break;
    const std::uint64_t size = window->size();
    const std::optional<std::uint64_t> hit =
        only_zeros(*window) ? std::nullopt : find_magic(*window);
    if (!hit) {
      from += size - kOverlap;
      continue;
    }
    from += *hit;
    Result<GroupHere> here = group_here(bytes, from);
    if (!here) return here.error();
    if (is_whole(here->parsed) && here->parsed.group.header.seq >= seq) return std::optional(from);
    ++from;
  }
  return std::optional<std::uint64_t>();
}

Result<std::uint64_t> find_rubbish_end(SegmentBytes& bytes, std::uint64_t from) {
  std::uint64_t end = 0;
  while (from < bytes.size()) {
    Result<journal::ByteView> window = bytes.at(from, kWindow);
    if (!window) return window.error();
    if (window->empty()) break;
    if (!only_zeros(*window)) end = from + end_of_rubbish(*window);
    from += window->size();
  }
  return end;
}

}  // namespace

Result<SegmentBytes> SegmentBytes::open(const std::filesystem::path& path) {
  Result<File> file = File::open_to_read(path);
  if (!file) return file.error();
  Result<std::uint64_t> size = file->size();
  if (!size) return size.error();
  return SegmentBytes(std::move(*file), *size);
}

Result<journal::ByteView> SegmentBytes::at(std::uint64_t offset, std::uint64_t count) {
  if (offset >= size_) return journal::ByteView();
  count = std::min(count, size_ - offset);
  const bool inside =
      offset >= start_ && offset - start_ <= filled_ && count <= filled_ - (offset - start_);
  if (!inside) {
    if (Status filled = fill(offset, count); !filled) return filled.error();
    count = std::min(count, filled_);
  }
  return journal::ByteView(window_.get() + (offset - start_), count);
}

Status SegmentBytes::fill(std::uint64_t offset, std::uint64_t count) {
  const std::uint64_t wanted = std::max(count, std::min(kWindow, size_ - offset));
  if (wanted > capacity_) {
    window_.reset(new (std::nothrow) std::byte[wanted]);
    capacity_ = window_ ? wanted : 0;
    if (!window_) {
      return Error{"no memory for a group of " + std::to_string(wanted) + " bytes in " +
                   file_.path().string()};
    }
  }
  Result<std::size_t> done = file_.read_at(offset, {window_.get(), wanted});
  if (!done) return done.error();
  start_ = offset;
  filled_ = *done;
  return Done{};
}

Result<GroupHere> group_here(SegmentBytes& bytes, std::uint64_t offset) {
  Result<journal::ByteView> view = bytes.at(offset, journal::kGroupHeaderSize);
  if (!view) return view.error();
  GroupHere here;
  here.parsed = journal::parse_group(*view);
  const bool header_intact = view->size() == journal::kGroupHeaderSize &&
                             (here.parsed.status == journal::GroupStatus::torn ||
                              here.parsed.status == journal::GroupStatus::intact);
  if (!header_intact) return here;
  here.stated_size = journal::kGroupHeaderSize + journal::load_le<std::uint32_t>(view->data() + 8);
  if (here.stated_size > bytes.size() - offset) return here;
  view = bytes.at(offset, here.stated_size);
  if (!view) return view.error();
  here.parsed = journal::parse_group(*view);
  return here;
}

Result<Tail> look_behind(SegmentBytes& bytes, std::uint64_t offset, std::uint64_t search_from,
                         std::uint64_t seq) {
  Tail tail;
  Result<std::uint64_t> end = find_rubbish_end(bytes, offset);
  if (!end) return end.error();
  tail.rubbish_end = *end;
  if (tail.rubbish_end == 0) return tail;
  Result<std::optional<std::uint64_t>> found = find_whole_group(bytes, search_from, seq);
  if (!found) return found.error();
  tail.next_group = *found;
  return tail;
}

}  // namespace berth::store
