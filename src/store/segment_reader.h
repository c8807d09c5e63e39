// SegmentReader: a note's bytes again, by their place. Any number of threads.
//
// Keeps a few files open. The bytes were checked when the journal was scanned or written, with
// their group; here they are read as they stand, so whoever must be certain keeps a checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/result.h"
#include "store/file.h"
#include "store/journal_types.h"

namespace berth::store {

class SegmentReader {
 public:
  explicit SegmentReader(std::filesystem::path folder) : folder_(std::move(folder)) {}

  Result<std::vector<std::byte>> read(BytesAt at);

 private:
  struct Open {
    std::uint64_t segment = 0;
    std::shared_ptr<const File> file;
  };
  Result<std::shared_ptr<const File>> file_of(std::uint64_t segment);

  std::filesystem::path folder_;
  std::mutex mutex_;
  std::vector<Open> open_;  // the last used one at the end
};

Result<std::vector<std::byte>> read_bytes(const std::filesystem::path& folder, BytesAt at);

}  // namespace berth::store
