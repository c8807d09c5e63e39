// See folder_lock.h.
#include "store/folder_lock.h"

#include <cerrno>
#include <charconv>
#include <string>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "store/file.h"

namespace berth::store {
namespace fs = std::filesystem;
namespace {

fs::path lock_path(const fs::path& folder) { return folder / "lock"; }

int pid_written_in(int fd) {
  char text[16] = {};
  const ssize_t count = ::pread(fd, text, sizeof text, 0);
  int pid = 0;
  if (count > 0) (void)std::from_chars(text, text + count, pid);
  return pid;
}

// A server that was killed while it started a task leaves the lock to the child for the moment
// between fork and exec. So a lock whose owner is dead is waited for, a little.
bool lock_or_wait(int fd) {
  constexpr int kTries = 200;
  constexpr timespec kPause{0, 10'000'000};
  for (int i = 0; i < kTries; ++i) {
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0) return true;
    const int pid = pid_written_in(fd);
    const bool owner_lives = pid == 0 || ::kill(pid, 0) == 0 || errno != ESRCH;
    if (owner_lives) break;
    ::nanosleep(&kPause, nullptr);
  }
  return false;
}

}  // namespace

Result<FolderLock> FolderLock::take(const fs::path& folder) {
  const fs::path path = lock_path(folder);
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return system_error("open", path, errno);
  FolderLock lock(fd);
  if (!lock_or_wait(fd)) {
    return Error{"the folder " + folder.string() + " is in use by the server with pid " +
                 std::to_string(pid_written_in(fd)) + "; stop it, or choose another data folder"};
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(fd, 0) != 0 ||
      ::pwrite(fd, pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return system_error("write", path, errno);
  }
  return lock;
}

int FolderLock::holder(const fs::path& folder) {
  const int fd = ::open(lock_path(folder).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const FolderLock closes(fd);
  const bool held = ::flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  return held ? pid_written_in(fd) : 0;
}

FolderLock::FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

FolderLock& FolderLock::operator=(FolderLock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) (void)::close(fd_);
}

}  // namespace berth::store
