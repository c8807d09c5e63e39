// The agent's side of the launcher.
#include "agent/launcher.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/launcher_messages.h"

extern char** environ;

namespace berth::agent {
namespace {

constexpr int kAnswersPerTurn = 64;  // then others have their turn
constexpr int kSilentLooksMax = 3;
constexpr int kEndWithinMs = 2000;

// The agent's own, and: no shim is to look for symbols again that its launcher has not used.
std::vector<char*> launcher_environment() {
  static char bind_now[] = "LD_BIND_NOW=1";
  std::vector<char*> entries{bind_now};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    entries.push_back(*entry);
  }
  entries.push_back(nullptr);
  return entries;
}

// In its own session, and with none of the server's files: it must not keep them open.
Result<pid_t> spawn_launcher(const std::string& program, int socket) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
  ::posix_spawn_file_actions_adddup2(&actions, socket, kLauncherSocket);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, kLauncherSocket + 1);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  const char* const argv[] = {"berth", "launcher", nullptr};
  const std::vector<char*> environment = launcher_environment();
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, &attributes,
                                  const_cast<char* const*>(argv), environment.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return file_error("start the launcher of commands,", program, error);
  return pid;
}

// Before it has forked anybody: all its shims and their commands inherit it.
void limit_files(pid_t launcher, std::uint64_t files) {
  rlimit limit{};
  if (::prlimit(launcher, RLIMIT_NOFILE, nullptr, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(files, limit.rlim_max);
  ::prlimit(launcher, RLIMIT_NOFILE, &limit, nullptr);
}

Status send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) {
      return Error{std::string("The launcher of commands has ended: ") + std::strerror(errno) +
                   "."};
    }
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return Done{};
}

}  // namespace

// The process ends when it finds its socket closed, unless somebody keeps it suspended.
Launcher::Process::~Process() {
  socket.reset();
  ::kill(pid, SIGCONT);
  for (int waited_ms = 0; waited_ms < kEndWithinMs; ++waited_ms) {
    if (::waitpid(pid, nullptr, WNOHANG) != 0) return;
    ::usleep(1000);
  }
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

Launcher::~Launcher() {
  if (watched_) loop_.unwatch(watched_->socket.get());
}

Result<Launcher::ProcessPtr> Launcher::launch(Key key, const Intent& intent) {
  if (!current_ || current_->dead) {
    Result<ProcessPtr> started = start();
    if (!started) return started.error();
    current_ = std::move(*started);
    loop_.post([this, process = current_] {
      if (watched_) loop_.unwatch(watched_->socket.get());
      watched_ = process;
      loop_.watch(process->socket.get(), [this, process] { read_answers(process); });
    });
  }
  ++current_->asked;
  if (const Status sent = send_all(current_->socket.get(), frame(key, intent)); !sent) {
    return sent.error();
  }
  return current_;
}

Result<Launcher::ProcessPtr> Launcher::start() const {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return file_error("make a socket for", program_, errno);
  }
  Fd ours(ends[0]);
  const Fd theirs(ends[1]);
  const Result<pid_t> pid = spawn_launcher(program_, theirs.get());
  if (!pid) return pid.error();
  if (command_files_ != 0) limit_files(*pid, command_files_);
  return std::make_shared<Process>(*pid, std::move(ours));
}

// The pid is its own: it is buried with the Process.
void Launcher::look_after() {
  if (!watched_) return;
  Process& process = *watched_;
  const bool is_silent =
      process.asked != process.answered && process.answered == process.answered_before;
  process.answered_before = process.answered;
  process.silent_looks = is_silent ? process.silent_looks + 1 : 0;
  if (!is_silent) return;
  ::kill(process.pid, process.silent_looks < kSilentLooksMax ? SIGCONT : SIGKILL);
}

void Launcher::read_answers(const ProcessPtr& process) {
  for (int answers = 0; answers < kAnswersPerTurn; ++answers) {
    Result<std::optional<LaunchAnswer>> answer = receive_answer(process->socket.get());
    if (!answer) {
      process->dead = true;
      loop_.unwatch(process->socket.get());
      if (watched_ == process) watched_.reset();
      return died_(process.get());
    }
    if (!*answer) return;
    ++process->answered;
    LaunchAnswer& got = **answer;
    if (got.error == 0) {
      launched_(got.key, std::move(got.shim));
    } else {
      launched_(got.key, Error{std::string("Could not fork: ") + std::strerror(got.error) + "."});
    }
  }
}

}  // namespace berth::agent
