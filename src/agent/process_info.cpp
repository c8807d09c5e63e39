// Reading /proc.
#include "agent/process_info.h"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <sstream>

#include <unistd.h>

#include "agent/files.h"
#include "agent/records.h"

namespace berth::agent {
namespace {

struct Stat {
  char state = 0;  // 0: there is no such process
  pid_t session = 0;
  std::uint64_t start_ticks = 0;
};

// Fields are counted after the name, which may hold anything: 3 is the state, 6 the session, 22 the
// start time.
Stat stat_of(pid_t pid) {
  const Result<std::string> text = read_file("/proc/" + std::to_string(pid) + "/stat");
  if (!text) return {};
  const std::size_t name_end = text->rfind(')');
  if (name_end == std::string::npos) return {};
  std::string_view rest = std::string_view(*text).substr(name_end + 2);
  Stat stat;
  for (int field = 3; field <= 22 && !rest.empty(); ++field) {
    const std::string_view word = rest.substr(0, rest.find(' '));
    if (field == 3) stat.state = word.front();
    if (field == 6) stat.session = static_cast<pid_t>(field_number(word));
    if (field == 22) stat.start_ticks = static_cast<std::uint64_t>(field_number(word));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  }
  return stat;
}

}  // namespace

std::string boot_id() {
  const Result<std::string> text = read_file("/proc/sys/kernel/random/boot_id");
  return text.ok() ? text->substr(0, text->find('\n')) : std::string();
}

std::uint64_t start_ticks_of(pid_t pid) { return stat_of(pid).start_ticks; }

bool is_running(const ProcessIdentity& identity) {
  if (identity.pid <= 0 || identity.boot_id != boot_id()) return false;
  const Stat stat = stat_of(identity.pid);
  return stat.state != 0 && stat.state != 'Z' && stat.state != 'X' &&
         stat.start_ticks == identity.start_ticks;
}

void kill_session(const ProcessIdentity& leader) {
  if (leader.pid <= 0 || leader.boot_id != boot_id()) return;
  const Stat now = stat_of(leader.pid);
  if (now.state != 0 && now.start_ticks != leader.start_ticks) return;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const auto pid = static_cast<pid_t>(field_number(entry.path().filename().string()));
    if (pid > 0 && pid != leader.pid && stat_of(pid).session == leader.pid) ::kill(pid, SIGKILL);
  }
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
