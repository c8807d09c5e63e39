// See segment_reader.h.
#include "store/segment_reader.h"

#include <algorithm>
#include <string>

#include "store/segment.h"

namespace berth::store {
namespace {

constexpr std::size_t kOpenFiles = 16;

}  // namespace

Result<std::vector<std::byte>> SegmentReader::read(BytesAt at) {
  Result<std::shared_ptr<const File>> file = file_of(at.segment);
  if (!file) return file.error();
  Result<std::uint64_t> size = (*file)->size();
  if (!size) return size.error();
  std::vector<std::byte> bytes;
  if (at.offset <= *size && at.size <= *size - at.offset) {
    bytes.resize(at.size);
    Result<std::size_t> count = (*file)->read_at(at.offset, bytes);
    if (!count) return count.error();
    if (*count == at.size) return bytes;
  }
  return Error{"cannot read " + std::to_string(at.size) + " bytes at byte " +
               std::to_string(at.offset) + " of " + (*file)->path().string() +
               ": the file ends before them; check it with berth fsck"};
}

Result<std::shared_ptr<const File>> SegmentReader::file_of(std::uint64_t segment) {
  const std::lock_guard lock(mutex_);
  const auto known = std::find_if(open_.begin(), open_.end(),
                                  [&](const Open& open) { return open.segment == segment; });
  if (known != open_.end()) {
    std::rotate(known, known + 1, open_.end());
    return open_.back().file;
  }
  Result<File> file = File::open_to_read(segment_path(folder_, segment));
  if (!file) return file.error();
  if (open_.size() == kOpenFiles) open_.erase(open_.begin());
  open_.push_back({segment, std::make_shared<const File>(std::move(*file))});
  return open_.back().file;
}

Result<std::vector<std::byte>> read_bytes(const std::filesystem::path& folder, BytesAt at) {
  return SegmentReader(folder).read(at);
}

}  // namespace berth::store
