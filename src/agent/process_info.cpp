// Reading /proc.
#include "agent/process_info.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/files.h"
#include "agent/records.h"
#include "agent/wall_clock.h"

namespace berth::agent {
namespace {

constexpr int kLooksMax = 50;
constexpr int kLastLooksMax = 20;
constexpr useconds_t kDyingUs = 1000;

struct Stat {
  char state = 0;  // 0: there is no such process, or not for us
  pid_t parent = 0;
  pid_t session = 0;
  std::int64_t threads = 0;
  std::uint64_t start_ticks = 0;
};

// Fields are counted after the name, which may hold anything: 3 is the state, 4 the parent, 6 the
// session, 20 the number of threads, 22 the start time.
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
    if (field == 20) stat.threads = field_number(word);
    if (field == 22) stat.start_ticks = static_cast<std::uint64_t>(field_number(word));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
  }
  return stat;
}

using Members = std::map<pid_t, Stat>;

// Also one whose first thread has ended and others have not: its state is that of the first.
bool is_alive(const Stat& stat) {
  return stat.state != 0 && ((stat.state != 'Z' && stat.state != 'X') || stat.threads > 1);
}

// Those that have not ended.
Result<Members> all_processes() {
  Members all;
  std::error_code error;
  std::filesystem::directory_iterator entries("/proc", error);
  if (error) return file_error("list", "/proc", error.value());
  for (const auto& entry : entries) {
    const auto pid = static_cast<pid_t>(field_number(entry.path().filename().string()));
    if (pid <= 0) continue;
    const Result<Stat> stat = stat_of(pid);
    if (!stat) return stat.error();
    if (is_alive(*stat)) all.emplace(pid, *stat);
  }
  return all;
}

// The pid has been given to somebody else since, which proves that nobody has the session of the
// one before.
Result<bool> is_anothers_now(const ProcessIdentity& identity) {
  const Result<Stat> now = stat_of(identity.pid);
  if (!now) return now.error();
  return now->state != 0 && now->start_ticks != identity.start_ticks;
}

// The roots' children, their children and so on, without the roots.
std::set<pid_t> below(const Members& all, std::vector<pid_t> roots) {
  std::multimap<pid_t, pid_t> children;
  for (const auto& [pid, stat] : all)
    children.emplace(stat.parent, pid);
  std::set<pid_t> found;
  while (!roots.empty()) {
    const pid_t parent = roots.back();
    roots.pop_back();
    const auto [first, last] = children.equal_range(parent);
    for (auto child = first; child != last; ++child) {
      if (found.insert(child->second).second) roots.push_back(child->second);
    }
  }
  return found;
}

Members pick(const Members& all, const std::set<pid_t>& pids) {
  Members picked;
  for (const pid_t pid : pids) {
    if (const auto found = all.find(pid); found != all.end()) picked.insert(*found);
  }
  return picked;
}

Result<Members> descendants_of(const ProcessIdentity& ancestor) {
  const Result<bool> is_gone = is_anothers_now(ancestor);
  if (!is_gone) return is_gone.error();
  if (*is_gone) return Members{};
  const Result<Members> all = all_processes();
  if (!all) return all.error();
  return pick(*all, below(*all, {ancestor.pid}));
}

// ---- Who was a shim's
// ----------------------------------------------------------------------------

bool is_shortage_of_files(int error) {
  return error == EMFILE || error == ENFILE || error == ENOMEM;
}

// As the process was started with. Nothing: it is not for us, or there is no such process.
Result<std::string> initial_environment_at(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && is_shortage_of_files(errno)) return file_error("open", path, errno);
  std::string text;
  std::array<char, 16384> buffer;
  ssize_t got = 0;
  while (file && (got = ::read(file.get(), buffer.data(), buffer.size())) > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

Result<std::string> initial_environment_of(pid_t pid, const Stat& stat) {
  const std::string process = "/proc/" + std::to_string(pid);
  Result<std::string> found = initial_environment_at(process + "/environ");
  if (!found || stat.state != 'Z') return found;
  std::error_code error;
  for (const auto& thread : std::filesystem::directory_iterator(process + "/task", error)) {
    found = initial_environment_at(thread.path().string() + "/environ");
    if (!found || !found->empty()) return found;
  }
  return found;
}

bool has_entry(const std::string& environment, const std::string& entry) {
  const std::string whole = entry + '\0';
  return environment.starts_with(whole) || environment.find('\0' + whole) != std::string::npos;
}

struct FileId {
  dev_t device = 0;
  ino_t number = 0;
  bool operator==(const FileId&) const = default;
};

// The program that the process runs; zeros: not known.
FileId program_of(pid_t pid) {
  struct stat info {};
  if (::stat(("/proc/" + std::to_string(pid) + "/exe").c_str(), &info) != 0) return {};
  return {info.st_dev, info.st_ino};
}

// A child of the launcher that it forked, not one it inherited: of our user, our program, and by
// the name of a shim, or of the launcher until it has its own.
Result<bool> is_shim_of(pid_t launcher, pid_t child) {
  const std::string path = "/proc/" + std::to_string(child) + "/status";
  const Result<std::optional<std::string>> status = read_file_if_there(path);
  if (!status) return status.error();
  if (!*status) return true;  // it has ended
  const bool is_named = (*status)->starts_with("Name:\tberth-shim\n") ||
                        (*status)->starts_with("Name:\tberth-launcher\n");
  const bool is_ours =
      (*status)->find("\nUid:\t" + std::to_string(::geteuid()) + "\t") != std::string::npos;
  return is_named && is_ours && program_of(child) == program_of(launcher);
}

Result<Members> leftovers_of(const Family& family) {
  const Result<bool> has_no_session = is_anothers_now(family.shim);
  if (!has_no_session) return has_no_session.error();
  const Result<Members> all = all_processes();
  if (!all) return all.error();
  const std::string mark = shim_mark(family.shim);
  const std::string lease = "BERTH_LEASE=" + std::to_string(family.lease);
  std::vector<pid_t> roots;
  for (const auto& [pid, stat] : *all) {
    if (pid == family.shim.pid || stat.start_ticks < family.shim.start_ticks) continue;
    bool is_its = !*has_no_session && stat.session == family.shim.pid;
    if (!is_its && family.launcher > 0 && stat.parent == family.launcher) {
      const Result<bool> is_shim = is_shim_of(family.launcher, pid);
      if (!is_shim) return is_shim.error();
      is_its = !*is_shim;
    }
    if (!is_its) {
      const Result<std::string> environment = initial_environment_of(pid, stat);
      if (!environment) return environment.error();
      is_its = has_entry(*environment, mark) && has_entry(*environment, lease);
    }
    if (is_its) roots.push_back(pid);
  }
  std::set<pid_t> found = below(*all, roots);
  found.insert(roots.begin(), roots.end());
  return pick(*all, found);
}

// ---- Killing
// -------------------------------------------------------------------------------------

// By a pidfd: a pid that has been given to somebody else since the look is left alone.
Status kill_if_same(pid_t pid, const Stat& seen) {
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  if (!process && is_shortage_of_files(errno)) return file_error("open", "a process", errno);
  const Result<Stat> now = stat_of(pid);
  if (!now) return now.error();
  if (!process || now->start_ticks != seen.start_ticks) return Done{};
  ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0U);
  return Done{};
}

// What is dying loses its environment before it is gone, and with it the mark by which a list finds
// it. So whoever was killed is looked at until it is gone, with all its threads.
Result<bool> are_gone(const Members& killed) {
  for (const auto& [pid, seen] : killed) {
    const Result<Stat> now = stat_of(pid);
    if (!now) return now.error();
    if (now->start_ticks == seen.start_ticks && is_alive(*now)) return false;
  }
  return true;
}

enum class Killed : std::uint8_t { nobody_is_left, they_die, new_ones_came };

// One that forks while the list is made can be on it without its child. One that has been killed
// forks no more, so the looks end when there is nobody new. `killed`: also by earlier looks.
template <class List>
Result<Killed> kill_all_of(List list, Members& killed) {
  for (int look = 0; look < kLooksMax; ++look) {
    const Result<Members> members = list();
    if (!members) return members.error();
    bool is_anyone_new = false;
    for (const auto& [pid, stat] : *members) {
      const auto [known, is_new] = killed.emplace(pid, stat);
      if (!is_new && known->second.start_ticks == stat.start_ticks) continue;
      known->second = stat;
      is_anyone_new = true;
      if (const Status sent = kill_if_same(pid, stat); !sent) return sent.error();
    }
    if (is_anyone_new) continue;
    const Result<bool> gone = are_gone(killed);
    if (!gone) return gone.error();
    return members->empty() && *gone ? Killed::nobody_is_left : Killed::they_die;
  }
  return Killed::new_ones_came;
}

}  // namespace

const std::string& boot_id() {
  static const std::string kId = [] {
    const Result<std::string> text = read_file("/proc/sys/kernel/random/boot_id");
    return text.ok() ? text->substr(0, text->find('\n')) : std::string();
  }();
  return kId;
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

Status kill_descendants(const ProcessIdentity& shim) {
  if (shim.pid <= 0 || shim.boot_id != boot_id()) return Done{};
  Members all;
  const Result<Killed> killed = kill_all_of([&] { return descendants_of(shim); }, all);
  if (!killed) return killed.error();
  if (*killed != Killed::new_ones_came) return Done{};
  return Error{"Processes were begun faster than they could be killed."};
}

Status kill_family(const ProcessIdentity& shim) {
  if (Status killed = kill_descendants(shim); !killed) return killed;
  const Result<bool> runs = is_running(shim);
  if (!runs) return runs.error();
  if (*runs) ::kill(shim.pid, SIGKILL);
  return Done{};
}

std::string shim_mark(const ProcessIdentity& shim) {
  return "BERTH_SHIM=" + std::to_string(shim.pid) + "." + std::to_string(shim.start_ticks);
}

Result<bool> end_leftovers(const Family& family) {
  if (family.shim.pid <= 0 || family.shim.boot_id != boot_id()) return true;
  Members all;
  for (int look = 0; look < kLastLooksMax; ++look) {
    const Result<Killed> killed = kill_all_of([&] { return leftovers_of(family); }, all);
    if (!killed) return killed.error();
    if (*killed == Killed::nobody_is_left) return true;
    if (*killed == Killed::new_ones_came) return false;
    ::usleep(kDyingUs);
  }
  return false;
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
