// Small files, read and written whole. Errors are sentences; nothing here knows what is in them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::agent {

// An open file or socket, closed with its owner.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.release()) {}
  Fd& operator=(Fd&& other) noexcept;
  ~Fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  int release();
  void reset();

 private:
  int fd_ = -1;
};

// "Could not open PATH: No such file or directory."
Error file_error(std::string_view what, const std::filesystem::path& path, int error_number);

Result<std::string> read_file(const std::filesystem::path& path);
// Nothing: there is no such file. An error: there may be, and it could not be read now, for example
// because too many files are open.
Result<std::optional<std::string>> read_file_if_there(const std::filesystem::path& path);

// Under another name first, then renamed over `path`: a reader sees the old or the new file, whole,
// whoever is killed when.
Status write_file(const std::filesystem::path& path, std::string_view content);
// The same, and when it returns, file and name are on disk.
Status write_file_durably(const std::filesystem::path& path, std::string_view content);

// All of `content`, from the file's position on.
Status write_all(int fd, std::string_view content, const std::filesystem::path& path);

// The names in this folder are on disk.
Status sync_folder(const std::filesystem::path& folder);

// Makes the folder and those above it that are missing.
Status make_folder(const std::filesystem::path& folder);

}  // namespace berth::agent
