// See folder_access.h.
#include "store/folder_access.h"

#include <array>
#include <cerrno>
#include <deque>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/file.h"
#include "store/layout.h"

namespace berth::store {
namespace fs = std::filesystem;
namespace {

constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
constexpr mode_t kOthersRead = S_IRGRP | S_IROTH;
constexpr mode_t kOthersEnter = S_IXGRP | S_IXOTH;
constexpr int kLinksMax = 40;  // as the kernel's

// Of what a link names. None: it is not there.
std::optional<struct stat> look_at(const fs::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return std::nullopt;
  return info;
}

bool is_trusted(uid_t owner) { return owner == 0 || owner == ::geteuid(); }

std::string whose(const fs::path& path, uid_t owner) {
  return path.string() + " belongs to the user " + std::to_string(owner);
}

// He can give himself every right to it.
std::string stranger(const fs::path& path, uid_t owner) {
  return whose(path, owner) + ", who can change it; look at it, then run: chown " +
         std::to_string(::geteuid()) + " " + path.string();
}

std::string mode_text(const struct stat& info) {
  std::string text = "0000";
  for (int i = 3, bits = info.st_mode & 0777; i > 0; --i, bits >>= 3)
    text[static_cast<std::size_t>(i)] = static_cast<char>('0' + (bits & 7));
  return text;
}

std::string writable(const fs::path& path, const struct stat& info) {
  return "other users can change " + path.string() + " (its mode is " + mode_text(info) +
         "), so what it holds cannot be trusted; look at it, then run: chmod go-w " + path.string();
}

std::string readable(const fs::path& path, const struct stat& info, const fs::path& close) {
  return "other users can read " + path.string() + " (its mode is " + mode_text(info) +
         "), and with it what tasks were given; run: chmod go-rwx " + close.string();
}

Error link_error(const fs::path& path) {
  return {path.string() +
          " is a link, and others may own what it names; put the file itself there"};
}

// Who owns the folder can replace the file, so its owner may own the file too.
Status judge_own(const fs::path& path, const struct stat& info) {
  if (!S_ISREG(info.st_mode)) return Error{path.string() + " is no file; remove it"};
  const auto folder = look_at(path.has_parent_path() ? path.parent_path() : ".");
  const bool is_of_folder = folder && folder->st_uid == info.st_uid;
  if (!is_trusted(info.st_uid) && !is_of_folder) return Error{stranger(path, info.st_uid)};
  if ((info.st_mode & kOthersWrite) != 0) return Error{writable(path, info)};
  return Done{};
}

// "": others cannot change what stands in the folder.
std::string flaw_in_folder(const fs::path& folder) {
  const auto info = look_at(folder);
  if (!info) return "";
  if (!is_trusted(info->st_uid)) return whose(folder, info->st_uid);
  const bool is_open = (info->st_mode & kOthersWrite) != 0;
  return is_open && (info->st_mode & S_ISVTX) == 0 ? "others may write to " + folder.string() : "";
}

}  // namespace

Result<std::optional<std::string>> read_own_file(const fs::path& path) {
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const int file = ::open(path.c_str(), kFlags);
  if (file < 0 && errno == ENOENT) return std::optional<std::string>();
  if (file < 0 && errno == ELOOP) return link_error(path);
  if (file < 0) return system_error("open", path, errno);
  const auto read = [&]() -> Result<std::optional<std::string>> {
    struct stat info {};
    if (::fstat(file, &info) != 0) return system_error("look at", path, errno);
    if (Status own = judge_own(path, info); !own) return own.error();
    std::string text;
    std::array<char, 16 * 1024> piece{};
    for (ssize_t got = 0; (got = ::read(file, piece.data(), piece.size())) != 0;) {
      if (got < 0) return system_error("read", path, errno);
      text.append(piece.data(), static_cast<std::size_t>(got));
    }
    return std::optional(std::move(text));
  };
  auto result = read();
  ::close(file);
  return result;
}

std::string flaw_in_path(const fs::path& path) {
  const fs::path whole = fs::absolute(path);
  std::deque<fs::path> ahead(whole.begin(), whole.end());
  fs::path at;  // without links
  for (int links = 0; !ahead.empty();) {
    const fs::path part = ahead.front();
    ahead.pop_front();
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      at = at.parent_path();
      continue;
    }
    if (part.is_absolute()) {
      at = part;
      continue;
    }
    if (std::string flaw = flaw_in_folder(at); !flaw.empty()) return flaw;
    const fs::path next = at / part;
    struct stat info {};
    if (::lstat(next.c_str(), &info) != 0) return "";
    if (!S_ISLNK(info.st_mode)) {
      at = next;
      continue;
    }
    if (!is_trusted(info.st_uid)) return "the link " + whose(next, info.st_uid);
    if (++links > kLinksMax) return next.string() + " is a link that leads nowhere";
    std::error_code error;
    const fs::path target = fs::read_symlink(next, error);
    ahead.insert(ahead.begin(), target.begin(), target.end());
  }
  return "";
}

std::string flaw_in_trust(const fs::path& path) {
  if (const std::string flaw = flaw_in_path(path); !flaw.empty()) {
    return "other users can put their own in the place of " + path.string() + ": " + flaw +
           "; move it to where only root and the server's user can, or close that to others "
           "(chown, chmod go-w)";
  }
  const auto info = look_at(path);
  if (!info) return "";
  if (!is_trusted(info->st_uid)) return stranger(path, info->st_uid);
  return (info->st_mode & kOthersWrite) != 0 ? writable(path, *info) : "";
}

std::string flaw_in_secret(const fs::path& path) {
  const auto info = look_at(path);
  if (!info || (info->st_mode & S_IROTH) == 0) return "";
  return "everybody can read " + path.string() + " (its mode is " + mode_text(*info) +
         "), which is a secret; run: chmod o-rwx " + path.string();
}

Result<std::vector<std::string>> check_access(const fs::path& data) {
  std::vector<std::string> remarks;
  const auto folder = look_at(data);
  if (!folder) return remarks;
  if ((folder->st_mode & kOthersWrite) != 0) return Error{writable(data, *folder)};
  // A running server reads its tokens again and again, and refuses a file that is open to others.
  struct stat tokens {};
  if (::lstat(tokens_path(data).c_str(), &tokens) == 0) {
    if (S_ISLNK(tokens.st_mode)) return link_error(tokens_path(data));
    if (Status own = judge_own(tokens_path(data), tokens); !own) return own.error();
  }
  if ((folder->st_mode & kOthersEnter) == 0) return remarks;
  bool told = false;
  for (const fs::path& inside : {data, journal_folder(data), snapshot_folder(data)}) {
    std::error_code error;
    for (fs::directory_iterator at(inside, error); !error && at != fs::directory_iterator();
         at.increment(error)) {
      const auto info = look_at(at->path());
      if (!info) continue;
      if ((info->st_mode & kOthersWrite) != 0) return Error{writable(at->path(), *info)};
      if (told || (info->st_mode & kOthersRead) == 0) continue;
      told = true;  // one is enough: closing the folder closes them all
      remarks.push_back(readable(at->path(), *info, data));
    }
    if (error && error != std::errc::no_such_file_or_directory) {
      return system_error("list", inside, error.value());
    }
  }
  return remarks;
}

}  // namespace berth::store
