// See work_folders.h.
#include "agent/work_folders.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "agent/files.h"
#include "agent/records.h"

namespace berth::agent {
namespace {

constexpr std::string_view kEnding = ".work";
constexpr std::string_view kSpareFolderName = "spare.";
constexpr std::string_view kGoneName = "gone.";
constexpr std::size_t kSpareFoldersMax = 4096;
constexpr mode_t kRootMode = 0711;

// The number behind `start`; nothing: the name begins otherwise.
std::optional<std::uint64_t> number_after(std::string_view name, std::string_view start) {
  if (!name.starts_with(start)) return std::nullopt;
  name.remove_prefix(start.size());
  const auto number = parse_number(name.substr(0, name.find('.')));
  if (!number) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

bool is_own_and_new(const std::string& folder) {
  struct stat info {};
  if (::lstat(folder.c_str(), &info) != 0 || info.st_mode != (S_IFDIR | 0700)) return false;
  if (info.st_uid != ::geteuid()) return false;
  std::error_code error;
  return std::filesystem::is_empty(folder, error) && !error;
}

// Something in the folder that no agent put there; "": nothing.
std::string foreign_in(const std::string& root) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(root, error)) {
    const std::string name = entry.path().filename().string();
    const bool is_known = name == "lock" || name == "lost+found" || name.ends_with(kEnding) ||
                          number_after(name, kGoneName).has_value();
    if (!is_known) return name;
  }
  return "";
}

}  // namespace

// Somebody else may have put something there first, as anybody can in /var/tmp.
Status WorkFolders::prepare() const {
  const std::filesystem::path path(root_);
  if (Status made = make_folder(path.parent_path()); !made) return made;
  if (::mkdir(root_.c_str(), 0700) != 0 && errno != EEXIST) {
    return file_error("create", path, errno);
  }
  const Fd root(::open(root_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!root) return file_error("open the tasks' folder", path, errno);
  struct stat info {};
  if (::fstat(root.get(), &info) != 0) return file_error("look at", path, errno);
  if (info.st_uid != ::geteuid()) {
    return Error{"The tasks' folder " + root_ + " belongs to another user (uid " +
                 std::to_string(info.st_uid) +
                 "), who could change what tasks find in it; remove it, or set tasks.folder to "
                 "another one."};
  }
  if (const std::string foreign = foreign_in(root_); !foreign.empty()) {
    return Error{"The tasks' folder " + root_ + " holds other things, such as \"" + foreign +
                 "\"; set tasks.folder to an empty folder, or one that is not there yet."};
  }
  if (::fchmod(root.get(), kRootMode) != 0) return file_error("close to others", path, errno);
  return Done{};
}

WorkFolders::~WorkFolders() { *stop_ = true; }

std::vector<std::string> WorkFolders::find() {
  std::vector<std::string> names;
  std::vector<std::string> gone;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(root_, error)) {
    const std::string name = entry.path().filename().string();
    const auto spare = number_after(name, kSpareFolderName);
    const auto left = number_after(name, kGoneName);
    if (spare) next_number_ = std::max(next_number_, *spare + 1);
    if (left) next_number_ = std::max(next_number_, *left + 1);
    if (spare && is_own_and_new(entry.path())) {
      spares_.push_back(entry.path());
    } else if (spare || left) {
      gone.push_back(entry.path());
    } else if (name.ends_with(kEnding)) {
      names.push_back(name.substr(0, name.size() - kEnding.size()));
    }
  }
  for (std::string& path : gone) {
    sweep(std::move(path));
  }
  return names;
}

Status WorkFolders::make(const std::string& name, const std::optional<FolderOwner>& owner) {
  const std::string path = path_of(name);
  if (!owner && !spares_.empty()) {
    const std::string spare = std::move(spares_.back());
    spares_.pop_back();
    if (::rename(spare.c_str(), path.c_str()) == 0) return Done{};
  }
  if (::mkdir(path.c_str(), 0700) != 0) {
    if (errno != EEXIST) return file_error("create", path, errno);
    discard_path(path);
    if (::mkdir(path.c_str(), 0700) != 0) return file_error("create", path, errno);
  }
  if (!owner) return Done{};
  if (::lchown(path.c_str(), owner->uid, owner->gid) == 0) return Done{};
  const Error failed = file_error("give to its user", path, errno);
  ::rmdir(path.c_str());
  return failed;
}

bool WorkFolders::pass_on(const std::string& from, const std::string& to,
                          const std::optional<FolderOwner>& owner) const {
  struct stat info {};
  if (::lstat(path_of(from).c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return false;
  if (info.st_uid != (owner ? owner->uid : ::geteuid())) return false;
  return ::rename(path_of(from).c_str(), path_of(to).c_str()) == 0;
}

void WorkFolders::tidy(const std::string& name) {
  const std::string path = path_of(name);
  if (spares_.size() < kSpareFoldersMax && is_own_and_new(path)) {
    std::string spare = stem_of(std::string(kSpareFolderName) + std::to_string(next_number_++) +
                                std::string(kEnding));
    if (::rename(path.c_str(), spare.c_str()) == 0) return spares_.push_back(std::move(spare));
  }
  ::rmdir(path.c_str());
}

bool WorkFolders::has(const std::string& name) const {
  struct stat info {};
  return ::lstat(path_of(name).c_str(), &info) == 0;
}

std::uint64_t WorkFolders::free_bytes() const {
  struct statvfs info {};
  if (::statvfs(root_.c_str(), &info) != 0) return UINT64_MAX;
  return static_cast<std::uint64_t>(info.f_bavail) * info.f_frsize;
}

void WorkFolders::discard_path(const std::string& path) {
  if (::rmdir(path.c_str()) == 0 || errno == ENOENT) return;
  std::string gone = stem_of(std::string(kGoneName) + std::to_string(next_number_++));
  if (::rename(path.c_str(), gone.c_str()) == 0) sweep(std::move(gone));
}

void WorkFolders::sweep(std::string path) {
  if (!sweeper_) sweeper_ = std::make_unique<Worker>();
  ++*sweeping_;
  sweeper_->post([path = std::move(path), stop = stop_, sweeping = sweeping_] {
    remove_tree(path, *stop);
    --*sweeping;
  });
}

}  // namespace berth::agent
