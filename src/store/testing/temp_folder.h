// What the store's tests share: a folder of their own, and hands that damage files in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/assert.h"

namespace berth::store::testing {

class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "berth-store-XXXXXX").string();
    ASSERT(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline void copy_folder(const std::filesystem::path& from, const std::filesystem::path& to) {
  std::filesystem::remove_all(to);
  std::filesystem::copy(from, to, std::filesystem::copy_options::recursive);
}

inline std::byte byte_at(const std::filesystem::path& path, std::uint64_t offset) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(offset));
  return static_cast<std::byte>(file.get());
}

inline void set_byte(const std::filesystem::path& path, std::uint64_t offset, std::byte value) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(offset));
  file.put(static_cast<char>(value));
  file.flush();
  ASSERT(file.good());
}

inline void flip_byte(const std::filesystem::path& path, std::uint64_t offset,
                      std::byte with = std::byte{1}) {
  set_byte(path, offset, byte_at(path, offset) ^ with);
}

// Zeros from `offset` on, the length unchanged: what a torn write leaves in a preallocated file.
inline void blank_from(const std::filesystem::path& path, std::uint64_t offset) {
  const std::uint64_t size = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, offset);
  std::filesystem::resize_file(path, size);
}

}  // namespace berth::store::testing
