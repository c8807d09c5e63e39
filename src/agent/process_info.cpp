// Reading /proc.
#include "agent/process_info.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include <unistd.h>

#include "agent/files.h"
#include "agent/records.h"
#include "agent/wall_clock.h"

namespace berth::agent {
namespace {

constexpr int kLooksMax = 50;

struct Stat {
  char state = 0;  // 0: there is no such process, or not for us
  pid_t parent = 0;
  pid_t session = 0;
  std::uint64_t start_ticks = 0;
};

// Fields are counted after the name, which may hold anything: 3 is the state, 4 the parent, 6 the
// session, 22 the start time.
Result<Stat> stat_of(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  const Result<std::optional<std::string>> text = read_file_if_there(path);
  Stat stat;
  if (!text && ::access(path.c_str(), R_OK) != 0) return stat;  // hidden: another user's
  if (!text) return text.error();
  const std::size_t name_end = *text ? (*text)->rfind(')') : std::string::npos;
  if (name_end == std::string::npos) return stat;
  std::string_view rest = std::string_view(**text).substr(name_end + 2);
  for (int field = 3; field <= 22 && !rest.empty(); ++field) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    if (field == 3) stat.state = word.front();
    if (field == 4) stat.parent = static_cast<pid_t>(field_number(word));
    if (field == 6) stat.session = static_cast<pid_t>(field_number(word));
    if (field == 22) stat.start_ticks = static_cast<std::uint64_t>(field_number(word));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  }
  return stat;
}

// Those that have not ended.
Result<std::map<pid_t, Stat>> all_processes() {
  std::map<pid_t, Stat> all;
  std::error_code error;
  std::filesystem::directory_iterator entries("/proc", error);
  if (error) return file_error("list", "/proc", error.value());
  for (const auto& entry : entries) {
    const auto pid = static_cast<pid_t>(field_number(entry.path().filename().string()));
    if (pid <= 0) continue;
    const Result<Stat> stat = stat_of(pid);
    if (!stat) return stat.error();
    if (stat->state != 0 && stat->state != 'Z' && stat->state != 'X') all.emplace(pid, *stat);
  }
  return all;
}

// Without the leader.
Result<std::set<pid_t>> members_of_session(pid_t leader) {
  const Result<std::map<pid_t, Stat>> all = all_processes();
  if (!all) return all.error();
  std::set<pid_t> members;
  for (const auto& [pid, stat] : *all) {
    if (pid != leader && stat.session == leader) members.insert(pid);
  }
  return members;
}

// Children, their children and so on, without itself.
Result<std::set<pid_t>> descendants_of(pid_t ancestor) {
  const Result<std::map<pid_t, Stat>> all = all_processes();
  if (!all) return all.error();
  std::multimap<pid_t, pid_t> children;
  for (const auto& [pid, stat] : *all)
    children.emplace(stat.parent, pid);
  std::set<pid_t> found;
  std::vector<pid_t> open{ancestor};
  while (!open.empty()) {
    const pid_t parent = open.back();
    open.pop_back();
    const auto [first, last] = children.equal_range(parent);
    for (auto child = first; child != last; ++child) {
      if (found.insert(child->second).second) open.push_back(child->second);
    }
  }
  return found;
}

// One that forks while the list is made can be on it without its child. One that has been killed
// forks no more, so the looks end when there is nobody new.
template <class List>
Status kill_all_of(const ProcessIdentity& leader, List list) {
  std::set<pid_t> killed;
  for (int look = 0; look < kLooksMax; ++look) {
    const Result<Stat> now = stat_of(leader.pid);
    if (!now) return now.error();
    if (now->state != 0 && now->start_ticks != leader.start_ticks) return Done{};
    const Result<std::set<pid_t>> members = list(leader.pid);
    if (!members) return members.error();
    bool is_anyone_new = false;
    for (const pid_t pid : *members) {
      if (!killed.insert(pid).second) continue;
      is_anyone_new = true;
      ::kill(pid, SIGKILL);
    }
    if (!is_anyone_new) return Done{};
  }
  return Error{"Processes were begun faster than they could be killed."};
}

}  // namespace

const std::string& boot_id() {
  static const std::string id = [] {
    const Result<std::string> text = read_file("/proc/sys/kernel/random/boot_id");
    return text.ok() ? text->substr(0, text->find('\n')) : std::string();
  }();
  return id;
}

std::uint64_t start_ticks_of(pid_t pid) {
  const Result<Stat> stat = stat_of(pid);
  return stat.ok() ? stat->start_ticks : 0;
}

Result<bool> is_running(const ProcessIdentity& identity) {
  if (identity.pid <= 0 || identity.boot_id != boot_id()) return false;
  const Result<Stat> stat = stat_of(identity.pid);
  if (!stat) return stat.error();
  return stat->state != 0 && stat->state != 'Z' && stat->state != 'X' &&
         stat->start_ticks == identity.start_ticks;
}

Result<bool> is_stopped(const ProcessIdentity& identity) {
  const Result<Stat> stat = stat_of(identity.pid);
  if (!stat) return stat.error();
  return stat->start_ticks == identity.start_ticks && (stat->state == 'T' || stat->state == 't');
}

Duration age_of(const ProcessIdentity& identity) {
  const std::int64_t tick_ns = 1'000'000'000 / std::max(1L, ::sysconf(_SC_CLK_TCK));
  const Time began{static_cast<std::int64_t>(identity.start_ticks) * tick_ns};
  return std::max(since_boot() - began, Duration{0});
}

Status kill_family(const ProcessIdentity& shim) {
  if (shim.pid <= 0 || shim.boot_id != boot_id()) return Done{};
  if (const Status killed = kill_all_of(shim, descendants_of); !killed) return killed;
  const Result<bool> runs = is_running(shim);
  if (!runs) return runs.error();
  if (*runs) ::kill(shim.pid, SIGKILL);
  return Done{};
}

Status kill_session(const ProcessIdentity& leader) {
  if (leader.pid <= 0 || leader.boot_id != boot_id()) return Done{};
  return kill_all_of(leader, members_of_session);
}

std::vector<pid_t> own_children() {
  std::vector<pid_t> children;
  const std::string own = std::to_string(::getpid());
  const Result<std::string> text = read_file("/proc/" + own + "/task/" + own + "/children");
  if (!text) return children;
  std::istringstream words(*text);
  for (pid_t pid = 0; words >> pid;) {
    children.push_back(pid);
  }
  return children;
}

std::int64_t kernel_oom_kills() {
  const Result<std::string> text = read_file("/proc/vmstat");
  if (!text) return 0;
  const std::size_t found = text->find("\noom_kill ");
  if (found == std::string::npos) return 0;
  const std::size_t begin = found + 10;
  return field_number(std::string_view(*text).substr(begin, text->find('\n', begin) - begin));
}

}  // namespace berth::agent
