// Removing what a command left, which may be anything: links to elsewhere, a hundred thousand
// levels, folders without rights.
//
// Every step names an entry of an open folder and follows no link. Few folders are open at a time:
// one that stands deeper is first moved to the top.
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files.h"
#include "agent/work_folders.h"

namespace berth::agent {
namespace {

constexpr int kDepthMax = 32;  // folders open at a time
constexpr std::size_t kNamesMax = 1024;

struct ListingClose {
  void operator()(DIR* listing) const { ::closedir(listing); }
};

// Some of them: there may be more than fit into memory.
std::vector<std::string> entries_of(int folder) {
  std::vector<std::string> names;
  const int copy = ::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return names;
  const std::unique_ptr<DIR, ListingClose> listing(::fdopendir(copy));
  if (!listing) {
    ::close(copy);
    return names;
  }
  const dirent* entry = nullptr;
  while (names.size() < kNamesMax && (entry = ::readdir(listing.get())) != nullptr) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

class Remover {
 public:
  Remover(int top, dev_t device, const std::atomic<bool>& stop)
      : top_(top), device_(device), stop_(stop) {}

  // True: something went away.
  bool empty(int folder, int depth) {
    bool any = false;
    while (remove_some(folder, depth)) {
      any = true;
    }
    return any;
  }

 private:
  bool remove_some(int folder, int depth) {
    bool any = false;
    for (const std::string& name : entries_of(folder)) {
      if (stop_) return false;
      struct stat info {};
      if (::fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
      any = (S_ISDIR(info.st_mode) ? remove_folder(folder, name, info.st_dev, depth)
                                   : ::unlinkat(folder, name.c_str(), 0) == 0) ||
            any;
    }
    return any;
  }

  bool remove_folder(int in, const std::string& name, dev_t device, int depth) {
    if (device != device_) return false;  // somebody mounted something there
    if (::unlinkat(in, name.c_str(), AT_REMOVEDIR) == 0) return true;
    if (depth == kDepthMax) return move_up(in, name);
    Fd folder = open(in, name);
    if (!folder) return false;
    const bool any = empty(folder.get(), depth + 1);
    return ::unlinkat(in, name.c_str(), AT_REMOVEDIR) == 0 || any;
  }

  // One that its owner closed to itself can be opened by its owner again.
  static Fd open(int in, const std::string& name) {
    constexpr int kFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    Fd folder(::openat(in, name.c_str(), kFlags));
    if (folder || errno != EACCES || ::geteuid() == 0) return folder;
    ::fchmodat(in, name.c_str(), 0700, 0);
    return Fd(::openat(in, name.c_str(), kFlags));
  }

  bool move_up(int in, const std::string& name) {
    while (true) {
      const std::string up = ".berth-" + std::to_string(next_++);
      if (::renameat2(in, name.c_str(), top_, up.c_str(), RENAME_NOREPLACE) == 0) return true;
      if (errno != EEXIST) return false;
    }
  }

  int top_;
  dev_t device_;
  const std::atomic<bool>& stop_;
  std::uint64_t next_ = 0;
};

}  // namespace

bool remove_tree(const std::string& path, const std::atomic<bool>& stop) {
  if (::unlink(path.c_str()) == 0) return true;  // no folder at all
  const Fd top(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!top || ::fstat(top.get(), &info) != 0) return errno == ENOENT;
  if (info.st_uid == ::geteuid()) ::fchmod(top.get(), 0700);
  Remover remover(top.get(), info.st_dev, stop);
  while (::rmdir(path.c_str()) != 0) {
    if (errno == ENOENT) return true;
    if (!remover.empty(top.get(), 0)) return false;
  }
  return true;
}

}  // namespace berth::agent
