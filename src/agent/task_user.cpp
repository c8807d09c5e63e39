// See task_user.h.
#include "agent/task_user.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <sstream>
#include <utility>

#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <unistd.h>

#include "agent/files.h"

namespace berth::agent {
namespace {

constexpr std::size_t kEntryMax = 64 * 1024;
constexpr int kGroupsMax = 65'536;  // of one user, by the kernel

// To become the user, to end what runs as it, to give it a folder and to take that away again.
constexpr std::array<std::pair<int, const char*>, 5> kNeeded{{
    {CAP_SETUID, "CAP_SETUID"},
    {CAP_SETGID, "CAP_SETGID"},
    {CAP_KILL, "CAP_KILL"},
    {CAP_CHOWN, "CAP_CHOWN"},
    {CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE"},
}};

std::vector<gid_t> groups_of(const passwd& entry) {
  std::vector<gid_t> groups(64);
  auto count = static_cast<int>(groups.size());
  while (::getgrouplist(entry.pw_name, entry.pw_gid, groups.data(), &count) < 0) {
    if (groups.size() >= kGroupsMax) return {entry.pw_gid};
    groups.resize(groups.size() * 2);
    count = static_cast<int>(groups.size());
  }
  groups.resize(static_cast<std::size_t>(count));
  return groups;
}

std::uint64_t effective_capabilities() {
  const Result<std::string> status = read_file("/proc/self/status");
  if (!status) return 0;
  std::istringstream words(*status);
  for (std::string word; words >> word;) {
    std::uint64_t mask = 0;
    if (word == "CapEff:" && words >> std::hex >> mask) return mask;
  }
  return 0;
}

}  // namespace

Result<TaskUser> find_user(const std::string& name) {
  std::vector<char> buffer(kEntryMax);
  passwd entry{};
  passwd* found = nullptr;
  const int error = ::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr && error != 0) {
    return Error{"The user \"" + name + "\" could not be looked up: " + std::strerror(error) + "."};
  }
  if (found == nullptr) return Error{"This machine has no user \"" + name + "\"."};
  return TaskUser{entry.pw_name,    entry.pw_uid, entry.pw_gid,
                  groups_of(entry), entry.pw_dir, entry.pw_shell};
}

std::string user_name(uid_t uid) {
  std::vector<char> buffer(kEntryMax);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return std::to_string(uid);
  }
  return entry.pw_name;
}

std::string missing_capabilities() {
  const std::uint64_t have = effective_capabilities();
  std::string missing;
  for (const auto& [bit, name] : kNeeded) {
    if ((have >> bit & 1U) == 0) missing += (missing.empty() ? "" : ", ") + std::string(name);
  }
  return missing;
}

}  // namespace berth::agent
