// Starting shims, watching them, and telling how their tasks ended.
#include "agent/processes.h"

#include <csignal>
#include <cstdlib>
#include <vector>

#include <sys/syscall.h>
#include <unistd.h>

#include "agent/environment.h"
#include "agent/process_info.h"
#include "agent/ranks.h"
#include "agent/wall_clock.h"

namespace berth::agent {
namespace {

using berth::v1::TaskResult;

// A node that cannot start anything must not eat a queue, nor spin.
constexpr Duration kPauseAfterFailure = seconds(1);
constexpr Duration kLookAgain = milliseconds(100);
// How often each shim is looked at, and how much longer than the task's own time it may take.
constexpr Duration kLookAfter = seconds(2);
constexpr Duration kShimSlack = seconds(2);
// And how much longer still if it is not suspended: the machine may be slow.
constexpr Duration kSlowness = seconds(5);

struct Launch {
  berth::v1::LeasedTask task;
  Intent intent;
};

void send_signal(const Fd& process, int signal) {
  ::syscall(SYS_pidfd_send_signal, process.get(), signal, nullptr, 0U);
}

// How a task ended whose shim was killed, in the shim's words.
ExitRecord exit_for_shim(EndCause cause, const ProcessIdentity& shim) {
  ExitRecord exit{.cause = cause, .term_signal = SIGKILL};
  exit.message = "its shim had been suspended, and the agent killed both";
  exit.ran_ms = age_of(shim).ns / 1'000'000;
  exit.ended_unix_ms = unix_ms();
  exit.ended = since_boot();
  return exit;
}

int signal_named(const std::string& name) {
  if (name == "INT") return SIGINT;
  if (name == "HUP") return SIGHUP;
  if (name == "QUIT") return SIGQUIT;
  if (name == "USR1") return SIGUSR1;
  if (name == "USR2") return SIGUSR2;
  return SIGTERM;
}

}  // namespace

Processes::Processes(Loop& loop, Worker& worker, LeaseStore& store, const AgentOptions& options,
                     Tell tell)
    : loop_(loop),
      worker_(worker),
      store_(store),
      options_(options),
      tell_(std::move(tell)),
      launcher_(
          loop, options.launcher_program, options.command_files,
          [this](Key key, Result<Fd> shim) { launched(key, std::move(shim)); },
          [this](const Launcher::Process* launcher) { launcher_died(launcher); }) {
  std::map<std::string_view, std::size_t> numbers;  // GPUs of a node
  for (const GpuDescription& gpu : options.gpus) {
    const std::size_t number = numbers[gpu.node]++;
    devices_.emplace(gpu.uuid, gpu.simulated ? std::to_string(number) : gpu.uuid);
  }
  loop_.after(kLookAfter, [this] { look_after_all(); });
}

Processes::~Processes() {
  for (const auto& [key, running] : running_) {
    if (running.shim) loop_.unwatch(running.shim.get());
  }
}

// ---- Starting
// ------------------------------------------------------------------------------------

void Processes::start(const berth::v1::Lease& lease, std::span<const int> tasks) {
  berth::v1::Lease head = lease;
  head.clear_tasks();
  std::vector<Launch> launches;
  for (const int place : tasks) {
    const berth::v1::LeasedTask& task = lease.tasks(place);
    const Key key{lease.id(), task.task_no()};
    Running& running = running_[key];
    running.files = store_.files(lease.id(), task.task_no());
    set_limits(running, task);
    const Result<std::optional<TaskUser>> user = user_of(task);
    if (!user) {
      refuse(key, user.error().message);
      continue;
    }
    Intent intent = intent_of(lease, task, *user ? &**user : nullptr);
    launches.push_back({task, std::move(intent)});
  }
  worker_.post([this, head = std::move(head), launches = std::move(launches)] {
    for (const Launch& each : launches) {
      Result<Launcher::ProcessPtr> launcher = launch(head, each.task, each.intent);
      loop_.post([this, key = Key{head.id(), each.task.task_no()}, launcher = std::move(launcher)] {
        asked(key, launcher);
      });
    }
  });
}

Result<Launcher::ProcessPtr> Processes::launch(const berth::v1::Lease& lease,
                                               const berth::v1::LeasedTask& task,
                                               const Intent& intent) {
  std::optional<FolderOwner> owner;
  if (intent.user) owner = FolderOwner{intent.user->uid, intent.user->gid};
  if (const Status written = store_.write_intent(lease, task, owner); !written) {
    return written.error();
  }
  return launcher_.launch({lease.id(), task.task_no()}, intent);
}

Result<std::optional<TaskUser>> Processes::user_of(const berth::v1::LeasedTask& task) const {
  if (!options_.user_of) return std::optional<TaskUser>();
  return options_.user_of(task.tenant());
}

void Processes::set_limits(Running& running, const berth::v1::LeasedTask& task) const {
  const std::int64_t grace_ms = task.spec().stop_grace_ms();
  running.stop_grace = grace_ms > 0 ? milliseconds(grace_ms) : options_.default_stop_grace;
  running.limit = run_limit(task, options_.default_run_limit);
}

Intent Processes::intent_of(const berth::v1::Lease& lease, const berth::v1::LeasedTask& task,
                            const TaskUser* user) const {
  const berth::v1::TaskSpec& spec = task.spec();
  Intent intent;
  intent.files = store_.files(lease.id(), task.task_no());
  intent.argv.assign(spec.command().argv().begin(), spec.command().argv().end());
  intent.environment =
      task_environment(lease, task, {options_.passthrough_env, visible_devices(lease), user},
                       [](const char* name) -> const char* { return std::getenv(name); });
  if (user != nullptr) {
    intent.user = IntentUser{user->name, user->uid, user->gid, user->groups, options_.no_new_privs};
  }
  if (!options_.group_root.empty()) {
    intent.group = store_.group(lease.id(), task.task_no());
    intent.limits = {spec.cpus_milli(), spec.memory_mb(), options_.processes_max};
  }
  if (lease.gang().ranks_size() > 1) intent.ranks = ranks_for(lease);
  intent.workdir = spec.workdir();
  intent.stop_signal = signal_named(spec.stop_signal());
  Running limits;
  set_limits(limits, task);
  intent.stop_grace = limits.stop_grace;
  intent.run_limit = limits.limit.length;
  intent.limit_is_deadline = limits.limit.is_deadline;
  intent.output_cap = options_.output_cap_bytes;
  return intent;
}

std::vector<RankIntent> Processes::ranks_for(const berth::v1::Lease& lease) const {
  const bool by_node = lease.gang().ranks_by_node();
  const std::uint32_t given = lease.gang().master_port();
  return ranks_of(lease.gang(), by_node ? RankRule::by_node : RankRule::by_gpu,
                  given != 0 ? given : find_free_port(),
                  [this](const std::string& uuid) { return device_of(uuid); });
}

std::string Processes::visible_devices(const berth::v1::Lease& lease) const {
  if (lease.has_instance() && lease.gpus_size() == 1) {
    return "MIG-" + lease.gpus(0) + "/" + std::to_string(lease.instance().start()) + "/0";
  }
  std::string devices;
  for (const std::string& uuid : lease.gpus()) {
    devices += (devices.empty() ? "" : ",") + device_of(uuid);
  }
  return devices;
}

std::string Processes::device_of(const std::string& uuid) const {
  const auto found = devices_.find(uuid);
  return found == devices_.end() ? "" : found->second;
}

// The answer may have come before this.
void Processes::asked(Key key, const Result<Launcher::ProcessPtr>& launcher) {
  const auto found = running_.find(key);
  if (found == running_.end() || found->second.launched) return;
  if (!launcher) return end_unstarted(key, launcher.error().message);
  tell_.begun(key.first);
  found->second.launcher = launcher->get();
  if ((*launcher)->dead) find_shim(key);
}

void Processes::launched(Key key, Result<Fd>&& shim) {
  const auto found = running_.find(key);
  if (found == running_.end()) return;
  if (!shim) return end_unstarted(key, shim.error().message);
  tell_.begun(key.first);
  Running& running = found->second;
  if (running.limit.length.ns > 0) running.due = Loop::now() + running.limit.length + kShimSlack;
  watch(key, std::move(*shim));
  if (running.stop_asked) ask_to_stop(running);
}

void Processes::launcher_died(const Launcher::Process* launcher) {
  std::vector<Key> unanswered;
  for (const auto& [key, running] : running_) {
    if (running.launcher == launcher && !running.launched) unanswered.push_back(key);
  }
  for (const Key& key : unanswered) {
    find_shim(key);
  }
}

void Processes::adopt(const berth::v1::Lease& lease, const berth::v1::LeasedTask& task) {
  const Key key{lease.id(), task.task_no()};
  Running& running = running_[key];
  running.files = store_.files(key.first, key.second);
  set_limits(running, task);
  find_shim(key);
}

// ---- Watching
// ------------------------------------------------------------------------------------

// The shim of a task that nobody has told about, by its claim. One that has not claimed never will.
void Processes::find_shim(Key key) {
  Running& running = running_.at(key);
  running.launched = true;
  if (void_intent(running.files)) {
    return end_unstarted(key, "No shim of the task was there to begin it.");
  }
  const Result<std::optional<TaskRecord>> record = read_record(running.files.claimed());
  if (!record) return look_again_later(key);
  const ProcessIdentity identity = *record ? (*record)->shim() : ProcessIdentity{};
  Fd shim(identity.pid > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, identity.pid, 0)) : -1);
  // The pid may have been given to somebody else before it was opened.
  const Result<bool> runs = is_running(identity);
  if (!runs) return look_again_later(key);
  if (!*runs) return loop_.post([this, key] { settle(key); });
  if (running.limit.length.ns > 0 && running.stage == Stage::running) {
    running.due = Loop::now() + running.limit.length - age_of(identity) + kShimSlack;
  }
  watch(key, std::move(shim));
  if (running.stop_asked) ask_to_stop(running);
}

void Processes::watch(Key key, Fd&& shim) {
  Running& running = running_.at(key);
  running.launched = true;
  running.shim = std::move(shim);
  if (!running.shim) return look_again_later(key);
  loop_.watch(running.shim.get(), [this, key] { settle(key); });
}

// When no more files can be opened: until they can, nothing is known of the task and nothing is
// said. A shim that has not claimed by then is not waited for.
void Processes::look_again_later(Key key) {
  loop_.after(kLookAgain, [this, key] {
    if (running_.contains(key)) find_shim(key);
  });
}

// ---- Stopping
// ------------------------------------------------------------------------------------

void Processes::stop(std::uint64_t lease, std::uint64_t task_no) {
  const auto found = running_.find({lease, task_no});
  if (found == running_.end()) return;
  found->second.stop_asked = true;
  if (found->second.launched) ask_to_stop(found->second);
}

// A shim that has not claimed its task yet finds nothing to claim; one that has, stops it. One that
// cannot be watched yet is asked when it can.
void Processes::ask_to_stop(Running& running) {
  if (void_intent(running.files) || !running.shim) return;
  send_signal(running.shim, SIGTERM);
  if (running.stage == Stage::running) begin_stopping(running, EndCause::stopped);
}

// From here on the shim has the grace of its task, and wakes if it has been suspended.
void Processes::begin_stopping(Running& running, EndCause cause) {
  running.stage = Stage::stopping;
  running.cause = cause;
  running.due = Loop::now() + running.stop_grace + kShimSlack;
  send_signal(running.shim, SIGCONT);
}

void Processes::look_after_all() {
  for (auto& [key, running] : running_) {
    if (running.shim) look_after(running);
  }
  launcher_.look_after();
  loop_.after(kLookAfter, [this] { look_after_all(); });
}

// A shim that is not suspended has the last word of whether anybody is left. But it waits for its
// command until that has begun, and somebody may have suspended the command before: so when time is
// up all that came from it is killed, and then it goes on. One that cannot be looked at is looked
// at the next time.
void Processes::look_after(Running& running) {
  const bool is_due = Loop::now() >= running.due;
  if (is_due && running.stage == Stage::running) {
    return begin_stopping(running,
                          running.limit.is_deadline ? EndCause::deadline : EndCause::timed_out);
  }
  if (running.identity.pid == 0) {
    const Result<std::optional<TaskRecord>> record = read_record(running.files.claimed());
    if (!record || !*record) return;
    running.identity = (*record)->shim();
  }
  const Result<bool> stopped = is_stopped(running.identity);
  if (!stopped) return;
  const bool is_over = is_due && running.stage == Stage::stopping;
  if (*stopped && !is_over) return send_signal(running.shim, SIGCONT);
  if (*stopped) {
    if (kill_family(running.identity).ok()) running.stage = Stage::killed;
  } else if (is_over && Loop::now() >= running.due + kSlowness) {
    (void)kill_descendants(running.identity);  // the next look does the rest
  }
}

// ---- Ending
// --------------------------------------------------------------------------------------

// The shim has ended.
void Processes::settle(Key key) {
  const auto found = running_.find(key);
  if (found == running_.end()) return;
  Running& running = found->second;
  if (running.shim) loop_.unwatch(running.shim.get());
  running.shim.reset();
  if (!void_intent(running.files) && has_claim(running.files)) {
    const Result<std::optional<TaskRecord>> record = read_record(running.files.claimed());
    if (!record) return look_again_later(key);
    std::optional<TaskRecord> left = *record;
    if (left && !left->exit) {
      const Result<bool> gone =
          store_.end_leftovers(key.first, key.second, left->shim(), launcher_.pid());
      if (!gone || !*gone) return look_again_later(key);
      if (running.stage == Stage::killed) {
        left->exit = exit_for_shim(running.cause, left->shim());
        if (!write_exit_for_shim(running.files, *left->exit).ok()) return look_again_later(key);
      }
    }
    TaskResult result = result_of(left);
    const TaskTimes times = times_of(left);
    const bool is_ours = result.failure() == berth::v1::INFRASTRUCTURE;
    return is_ours ? end_later(key, std::move(result), times) : end(key, std::move(result), times);
  }
  if (!running.stop_asked) return end_unstarted(key, "The shim ended before it began the task.");
  TaskResult result;
  result.set_message("Stopped on request before it began.");
  end(key, std::move(result), {{}, {}});
}

void Processes::end(Key key, TaskResult&& result, const TaskTimes& times) {
  running_.erase(key);
  tell_.ended(key.first, key.second, std::move(result), times);
}

void Processes::end_unstarted(Key key, const std::string& why) {
  void_intent(running_.at(key).files);
  TaskResult result;
  result.set_failure(berth::v1::INFRASTRUCTURE);
  result.set_message(why);
  end_later(key, std::move(result), {{}, {}});
}

// It never may run here; another try would end the same.
void Processes::refuse(Key key, const std::string& why) {
  TaskResult result;
  result.set_failure(berth::v1::ERROR);
  result.set_message(why);
  loop_.post([this, key, result = std::move(result)]() mutable {
    end(key, std::move(result), {{}, {}});
  });
}

void Processes::end_later(Key key, TaskResult&& result, const TaskTimes& times) {
  loop_.after(kPauseAfterFailure, [this, key, result = std::move(result), times]() mutable {
    end(key, std::move(result), times);
  });
}

}  // namespace berth::agent
