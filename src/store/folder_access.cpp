// See folder_access.h.
#include "store/folder_access.h"

#include <cerrno>
#include <optional>
#include <system_error>

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

// None: it is not there, or a link, which has no mode of its own.
std::optional<struct stat> look_at(const fs::path& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || S_ISLNK(info.st_mode)) return std::nullopt;
  return info;
}

// Root may serve a folder of another user, who can then do with it what he likes.
std::optional<std::string> stranger(const fs::path& path, const struct stat& info) {
  if (info.st_uid == ::geteuid() || info.st_uid == 0) return std::nullopt;
  return path.string() + " belongs to the user " + std::to_string(info.st_uid) +
         ", who can read and change it; run: chown " + std::to_string(::geteuid()) + " " +
         path.string();
}

std::string mode_text(const struct stat& info) {
  std::string text = "0000";
  for (int i = 3, bits = info.st_mode & 0777; i > 0; --i, bits >>= 3)
    text[static_cast<std::size_t>(i)] = static_cast<char>('0' + (bits & 7));
  return text;
}

Error writable(const fs::path& path, const struct stat& info) {
  return {"other users can change " + path.string() + " (its mode is " + mode_text(info) +
          "), so what it holds cannot be trusted; look at it, then run: chmod go-w " +
          path.string()};
}

std::string readable(const fs::path& path, const struct stat& info, const fs::path& close) {
  return "other users can read " + path.string() + " (its mode is " + mode_text(info) +
         "), and with it what tasks were given; run: chmod go-rwx " + close.string();
}

}  // namespace

Result<std::vector<std::string>> check_file_access(const fs::path& file) {
  std::vector<std::string> remarks;
  const auto info = look_at(file);
  if (!info) return remarks;
  if ((info->st_mode & kOthersWrite) != 0) return writable(file, *info);
  if (auto owner = stranger(file, *info)) remarks.push_back(std::move(*owner));
  if ((info->st_mode & kOthersRead) != 0) remarks.push_back(readable(file, *info, file));
  return remarks;
}

Result<std::vector<std::string>> check_access(const fs::path& data) {
  std::vector<std::string> remarks;
  const auto folder = look_at(data);
  if (!folder) return remarks;
  if ((folder->st_mode & kOthersWrite) != 0) return writable(data, *folder);
  if (auto owner = stranger(data, *folder)) remarks.push_back(std::move(*owner));
  // A running server reads its tokens again and again, and refuses a file that is open to others.
  const auto tokens = check_file_access(tokens_path(data));
  if (!tokens) return tokens.error();
  if ((folder->st_mode & kOthersEnter) == 0) return remarks;
  bool told = false;
  for (const fs::path& inside : {data, journal_folder(data), snapshot_folder(data)}) {
    std::error_code error;
    for (fs::directory_iterator at(inside, error); !error && at != fs::directory_iterator();
         at.increment(error)) {
      const auto info = look_at(at->path());
      if (!info) continue;
      if ((info->st_mode & kOthersWrite) != 0) return writable(at->path(), *info);
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
