// Starting shims, watching them, and telling how their tasks ended.
#include "agent/processes.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/environment.h"
#include "agent/process_info.h"

extern char** environ;

namespace berth::agent {
namespace {

using berth::v1::TaskResult;

constexpr Duration kDefaultGrace = seconds(10);
// A node that cannot start anything must not eat a queue, nor spin.
constexpr Duration kPauseAfterFailure = seconds(1);
constexpr Duration kLookAgain = milliseconds(100);

struct Launch {
  std::uint64_t task_no;
  std::filesystem::path folder;
  Intent intent;
};

int signal_named(const std::string& name) {
  if (name == "INT") return SIGINT;
  if (name == "HUP") return SIGHUP;
  if (name == "QUIT") return SIGQUIT;
  if (name == "USR1") return SIGUSR1;
  if (name == "USR2") return SIGUSR2;
  return SIGTERM;
}

// In its own session from the first moment, so that a signal to the server's terminal or group does
// not reach it.
Result<pid_t> spawn_shim(const std::string& program, const std::filesystem::path& folder) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  const std::string complaints = (folder / "shim").string();
  ::posix_spawn_file_actions_addopen(&actions, 2, complaints.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                     0600);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);

  const std::string path = folder.string();
  const char* const argv[] = {program.c_str(), "shim", path.c_str(), nullptr};
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, &attributes,
                                  const_cast<char* const*>(argv), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return file_error("start the shim", program, error);
  return pid;
}

Result<pid_t> launch(const Launch& launch, const std::string& program) {
  if (const Status written = write_intent(launch.folder, launch.intent); !written) {
    return written.error();
  }
  return spawn_shim(program, launch.folder);
}

}  // namespace

Processes::~Processes() {
  for (const auto& [key, running] : running_) {
    if (running.pidfd) loop_.unwatch(running.pidfd.get());
  }
}

// ---- Starting
// ------------------------------------------------------------------------------------

void Processes::start(const berth::v1::Lease& lease, std::span<const int> tasks) {
  std::vector<Launch> launches;
  for (const int place : tasks) {
    const berth::v1::LeasedTask& task = lease.tasks(place);
    std::filesystem::path folder = store_.task_folder(lease.id(), task.task_no());
    running_[{lease.id(), task.task_no()}].folder = folder;
    launches.push_back({task.task_no(), std::move(folder), intent_of(lease, task)});
  }
  worker_.post([this, lease, launches = std::move(launches)] {
    const Status written = store_.write_lease(lease);
    for (const Launch& each : launches) {
      Result<pid_t> shim =
          written.ok() ? launch(each, options_.shim_program) : Result<pid_t>(written.error());
      loop_.post([this, key = Key{lease.id(), each.task_no}, shim] { spawned(key, shim); });
    }
  });
}

Intent Processes::intent_of(const berth::v1::Lease& lease,
                            const berth::v1::LeasedTask& task) const {
  const berth::v1::TaskSpec& spec = task.spec();
  Intent intent;
  intent.argv.assign(spec.command().argv().begin(), spec.command().argv().end());
  intent.environment =
      task_environment(lease, task, {options_.passthrough_env, visible_devices(lease)},
                       [](const char* name) -> const char* { return std::getenv(name); });
  intent.workdir = spec.workdir();
  intent.stop_signal = signal_named(spec.stop_signal());
  intent.stop_grace = spec.stop_grace_ms() > 0 ? milliseconds(spec.stop_grace_ms()) : kDefaultGrace;
  intent.run_limit = run_limit(task, options_.default_run_limit);
  intent.output_cap = options_.output_cap_bytes;
  return intent;
}

// Real GPUs by UUID, which stays right whatever else is hidden; simulated ones by their number.
std::string Processes::visible_devices(const berth::v1::Lease& lease) const {
  std::string devices;
  for (const std::string& uuid : lease.gpus()) {
    for (std::size_t number = 0; number < options_.gpus.size(); ++number) {
      if (options_.gpus[number].uuid != uuid) continue;
      if (!devices.empty()) devices += ',';
      devices += options_.gpus[number].simulated ? std::to_string(number) : uuid;
    }
  }
  return devices;
}

void Processes::spawned(Key key, const Result<pid_t>& shim) {
  const auto found = running_.find(key);
  if (found == running_.end()) return;
  if (!shim) return end_unstarted(key, shim.error().message);
  found->second.shim = identity_of(*shim);
  watch(key);
  if (found->second.stop_asked) ask_to_stop(found->second);
}

void Processes::adopt(std::uint64_t lease, std::uint64_t task_no) {
  const Key key{lease, task_no};
  Running& running = running_[key];
  running.folder = store_.task_folder(lease, task_no);
  const Result<ProcessIdentity> shim = read_claim(running.folder);
  if (!shim) return loop_.post([this, key] { settle(key); });
  running.shim = *shim;
  watch(key);
}

// ---- Watching
// ------------------------------------------------------------------------------------

void Processes::watch(Key key) {
  Running& running = running_.at(key);
  running.pidfd = Fd(static_cast<int>(::syscall(SYS_pidfd_open, running.shim.pid, 0)));
  // The pid may have been given to somebody else before it was opened.
  if (!berth::agent::is_running(running.shim)) {
    running.pidfd.reset();
    return loop_.post([this, key] { settle(key); });
  }
  if (!running.pidfd) return look_again_later(key);
  loop_.watch(running.pidfd.get(), [this, key] { settle(key); });
}

// Where the kernel gives no pidfd, or no more files can be opened.
void Processes::look_again_later(Key key) {
  loop_.after(kLookAgain, [this, key] {
    const auto found = running_.find(key);
    if (found == running_.end()) return;
    if (!berth::agent::is_running(found->second.shim)) return settle(key);
    look_again_later(key);
  });
}

// ---- Stopping
// ------------------------------------------------------------------------------------

void Processes::stop(std::uint64_t lease, std::uint64_t task_no) {
  const auto found = running_.find({lease, task_no});
  if (found == running_.end()) return;
  found->second.stop_asked = true;
  if (found->second.shim.pid > 0) ask_to_stop(found->second);
}

// A shim that has not claimed its task yet finds nothing to claim; one that has, stops it.
void Processes::ask_to_stop(const Running& running) {
  if (void_intent(running.folder)) return;
  if (running.pidfd) {
    ::syscall(SYS_pidfd_send_signal, running.pidfd.get(), SIGTERM, nullptr, 0U);
    return;
  }
  if (berth::agent::is_running(running.shim)) ::kill(running.shim.pid, SIGTERM);
}

// ---- Ending
// --------------------------------------------------------------------------------------

// The shim has ended. Its pid stays taken until it is reaped, so the session is looked at first.
void Processes::settle(Key key) {
  const auto found = running_.find(key);
  if (found == running_.end()) return;
  Running& running = found->second;
  const bool claimed = has_claim(running.folder);
  if (claimed && !has_exit(running.folder)) kill_session(running.shim);
  if (running.pidfd) loop_.unwatch(running.pidfd.get());
  if (running.shim.pid > 0) ::waitpid(running.shim.pid, nullptr, WNOHANG);
  if (claimed) return end(key, result_of_folder(running.folder));

  void_intent(running.folder);
  if (!running.stop_asked) {
    const Result<std::string> complaints = read_file(running.folder / "shim");
    return end_unstarted(key, "The shim ended before it began the task. " +
                                  (complaints.ok() ? *complaints : std::string()));
  }
  TaskResult result;
  result.set_message("Stopped on request before it began.");
  end(key, std::move(result));
}

void Processes::end(Key key, TaskResult&& result) {
  running_.erase(key);
  ended_(key.first, key.second, std::move(result));
}

void Processes::end_unstarted(Key key, const std::string& why) {
  void_intent(running_.at(key).folder);
  TaskResult result;
  result.set_failure(berth::v1::INFRASTRUCTURE);
  result.set_message(why);
  loop_.after(kPauseAfterFailure, [this, key, result]() mutable { end(key, std::move(result)); });
}

}  // namespace berth::agent
