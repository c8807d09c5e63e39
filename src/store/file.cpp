// See file.h.
#include "store/file.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "store/faults.h"

namespace berth::store {
namespace fs = std::filesystem;
namespace {

std::string advice(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "; free some room on that disk";
    case EACCES:
    case EPERM:
      return "; give the user that runs berth access to it";
    case EIO:
      return "; the disk fails, look at the kernel's log";
    case EROFS:
      return "; mount that disk for writing";
    default:
      return "";
  }
}

// Writes half, then fails: what a full disk leaves behind.
int fail_half_way(int fd, std::uint64_t offset, journal::ByteView bytes, int error) {
  const journal::ByteView half = bytes.first(bytes.size() / 2);
  (void)!::pwrite(fd, half.data(), half.size(), static_cast<off_t>(offset));
  return error;
}

int write_all(int fd, std::uint64_t offset, journal::ByteView bytes) {
  if (const int error = detail::next_write_fault(); error != 0) {
    return fail_half_way(fd, offset, bytes, error);
  }
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 ? errno : ENOSPC;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
  return 0;
}

template <class Call>
int retried(Call call) {
  while (call() != 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

Status status_of(int error, std::string_view what, const fs::path& path) {
  if (error != 0) return system_error(what, path, error);
  return Done{};
}

}  // namespace

Error system_error(std::string_view what, const fs::path& path, int error) {
  return {"cannot " + std::string(what) + " " + path.string() + ": " +
          std::generic_category().message(error) + advice(error)};
}

File::File(File&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

File& File::operator=(File&& other) noexcept {
  if (this == &other) return *this;
  close();
  fd_ = std::exchange(other.fd_, -1);
  path_ = std::move(other.path_);
  return *this;
}

File::~File() { close(); }

void File::close() {
  if (fd_ >= 0) (void)::close(std::exchange(fd_, -1));
}

Result<File> File::open(const fs::path& path, int flags) {
  int fd = -1;
  do {
    fd = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return system_error("open", path, errno);
  return File(fd, path);
}

Result<File> File::open_to_read(const fs::path& path) { return open(path, O_RDONLY); }
Result<File> File::open_to_write(const fs::path& path) { return open(path, O_RDWR); }
Result<File> File::create(const fs::path& path) { return open(path, O_RDWR | O_CREAT | O_TRUNC); }

Status File::write_at(std::uint64_t offset, journal::ByteView bytes) {
  return status_of(write_all(fd_, offset, bytes), "write", path_);
}

Result<std::size_t> File::read_at(std::uint64_t offset, std::span<std::byte> to) const {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t count =
        ::pread(fd_, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("read", path_, errno);
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
}

Result<std::uint64_t> File::size() const {
  struct stat info {};
  if (::fstat(fd_, &info) != 0) return system_error("look at", path_, errno);
  return static_cast<std::uint64_t>(info.st_size);
}

Status File::truncate(std::uint64_t size) {
  const int error = retried([&] { return ::ftruncate(fd_, static_cast<off_t>(size)); });
  return status_of(error, "shorten", path_);
}

Status File::allocate(std::uint64_t size) {
  int error = 0;
  do {
    error = ::posix_fallocate(fd_, 0, static_cast<off_t>(size));
  } while (error == EINTR);
  return status_of(error, "take room on disk for", path_);
}

Status File::sync_data() {
  int error = detail::next_sync_fault();
  if (error == 0) error = retried([&] { return ::fdatasync(fd_); });
  return status_of(error, "sync", path_);
}

Status File::sync() {
  int error = detail::next_sync_fault();
  if (error == 0) error = retried([&] { return ::fsync(fd_); });
  return status_of(error, "sync", path_);
}

Result<std::uint64_t> free_bytes(const fs::path& folder) {
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) != 0) return system_error("look at", folder, errno);
  return static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize;
}

Result<std::vector<std::byte>> read_file(const fs::path& path) {
  Result<File> file = File::open_to_read(path);
  if (!file) return file.error();
  Result<std::uint64_t> size = file->size();
  if (!size) return size.error();
  std::vector<std::byte> bytes(*size);
  Result<std::size_t> count = file->read_at(0, bytes);
  if (!count) return count.error();
  bytes.resize(*count);
  return bytes;
}

Status sync_folder(const fs::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return system_error("open", folder, errno);
  int error = detail::next_sync_fault();
  if (error == 0) error = retried([&] { return ::fsync(fd); });
  (void)::close(fd);
  return status_of(error, "sync", folder);
}

Status make_folder(const fs::path& folder) {
  std::error_code error;
  if (fs::is_directory(folder, error)) return Done{};
  const fs::path parent = folder.parent_path();
  if (!parent.empty() && parent != folder) {
    if (Status made = make_folder(parent); !made) return made;
  }
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    return system_error("create the folder", folder, errno);
  }
  return sync_folder(parent.empty() ? fs::path(".") : parent);
}

fs::path unpublished(const fs::path& path) { return path.string() + ".new"; }

Status publish_file(const fs::path& path) {
  const fs::path from = unpublished(path);
  if (::rename(from.c_str(), path.c_str()) != 0) return system_error("rename", from, errno);
  return sync_folder(path.parent_path());
}

Status replace_file(const fs::path& path, journal::ByteView bytes) {
  Result<File> file = File::create(unpublished(path));
  if (!file) return file.error();
  if (Status written = file->write_at(0, bytes); !written) return written;
  if (Status synced = file->sync(); !synced) return synced;
  return publish_file(path);
}

Status remove_file(const fs::path& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) return system_error("remove", path, errno);
  return sync_folder(path.parent_path());
}

}  // namespace berth::store
