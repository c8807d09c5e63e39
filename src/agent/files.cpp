// Reading and writing whole files.
#include "agent/files.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace berth::agent {
namespace {

// ESRCH: what /proc says of a process that ended after its file was opened.
bool is_absence(int error_number) {
  return error_number == ENOENT || error_number == ENOTDIR || error_number == ESRCH;
}

}  // namespace

Fd& Fd::operator=(Fd&& other) noexcept {
  if (this != &other) {
    reset();
    fd_ = other.release();
  }
  return *this;
}

int Fd::release() { return std::exchange(fd_, -1); }

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

Error file_error(std::string_view what, const std::filesystem::path& path, int error_number) {
  return {"Could not " + std::string(what) + " " + path.string() + ": " +
          std::strerror(error_number) + "."};
}

Result<std::string> read_file(const std::filesystem::path& path) {
  Result<std::optional<std::string>> content = read_file_if_there(path);
  if (!content) return content.error();
  if (!*content) return file_error("open", path, ENOENT);
  return std::move(**content);
}

Result<std::optional<std::string>> read_file_if_there(const std::filesystem::path& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && is_absence(errno)) return std::optional<std::string>();
  if (!file) return file_error("open", path, errno);
  std::string content;
  std::array<char, 16384> buffer;
  while (true) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got == 0) return std::optional(std::move(content));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && is_absence(errno)) return std::optional<std::string>();
    if (got < 0) return file_error("read", path, errno);
    content.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

Status write_all(int fd, std::string_view content, const std::filesystem::path& path) {
  while (!content.empty()) {
    const ssize_t put = ::write(fd, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return file_error("write to", path, errno);
    content.remove_prefix(static_cast<std::size_t>(put));
  }
  return Done{};
}

namespace {

Status replace_file(const std::filesystem::path& path, std::string_view content, bool durably) {
  std::filesystem::path temporary = path;
  temporary += ".new";
  const Fd file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file) return file_error("create", temporary, errno);
  if (const Status written = write_all(file.get(), content, temporary); !written) return written;
  if (durably && ::fsync(file.get()) != 0) return file_error("sync", temporary, errno);
  if (::rename(temporary.c_str(), path.c_str()) != 0) return file_error("rename", temporary, errno);
  return durably ? sync_folder(path.parent_path()) : Status(Done{});
}

}  // namespace

Status write_file(const std::filesystem::path& path, std::string_view content) {
  return replace_file(path, content, false);
}

Status write_file_durably(const std::filesystem::path& path, std::string_view content) {
  return replace_file(path, content, true);
}

Status sync_folder(const std::filesystem::path& folder) {
  const Fd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return file_error("open", folder, errno);
  if (::fsync(opened.get()) != 0) return file_error("sync", folder, errno);
  return Done{};
}

Status make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return file_error("create", folder, error.value());
  return Done{};
}

}  // namespace berth::agent
