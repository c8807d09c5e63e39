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

namespace berth::agent {
namespace {

using berth::v1::TaskResult;

// A node that cannot start anything must not eat a queue, nor spin.
constexpr Duration kPauseAfterFailure = seconds(1);
constexpr Duration kLookAgain = milliseconds(100);

struct Launch {
  berth::v1::LeasedTask task;
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

}  // namespace

Processes::Processes(Loop& loop, Worker& worker, LeaseStore& store, const AgentOptions& options,
                     Ended ended)
    : loop_(loop),
      worker_(worker),
      store_(store),
      options_(options),
      ended_(std::move(ended)),
      launcher_(
          loop, options.launcher_program, options.command_files,
          [this](Key key, Result<Fd> shim) { launched(key, std::move(shim)); },
          [this](const Launcher::Process* launcher) { launcher_died(launcher); }) {
  std::map<std::string_view, std::size_t> numbers;  // GPUs of a node
  for (const GpuDescription& gpu : options.gpus) {
    const std::size_t number = numbers[gpu.node]++;
    devices_.emplace(gpu.uuid, gpu.simulated ? std::to_string(number) : gpu.uuid);
  }
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
    running_[key].files = store_.files(lease.id(), task.task_no());
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
    intent.group = options_.group_root / std::filesystem::path(intent.files.stem).filename();
    intent.limits = {spec.cpus_milli(), spec.memory_mb(), options_.processes_max};
  }
  if (lease.gang().ranks_size() > 1) intent.ranks = ranks_for(lease);
  intent.workdir = spec.workdir();
  intent.stop_signal = signal_named(spec.stop_signal());
  intent.stop_grace =
      spec.stop_grace_ms() > 0 ? milliseconds(spec.stop_grace_ms()) : options_.default_stop_grace;
  intent.run_limit = run_limit(task, options_.default_run_limit);
  intent.output_cap = options_.output_cap_bytes;
  return intent;
}

std::vector<RankIntent> Processes::ranks_for(const berth::v1::Lease& lease) const {
  const bool by_node = options_.ranks_by_node.contains(lease.queue());
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
  found->second.launcher = launcher->get();
  if ((*launcher)->dead) find_shim(key);
}

void Processes::launched(Key key, Result<Fd>&& shim) {
  const auto found = running_.find(key);
  if (found == running_.end()) return;
  if (!shim) return end_unstarted(key, shim.error().message);
  watch(key, std::move(*shim));
  if (found->second.stop_asked) ask_to_stop(found->second);
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

void Processes::adopt(std::uint64_t lease, std::uint64_t task_no) {
  const Key key{lease, task_no};
  running_[key].files = store_.files(lease, task_no);
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
void Processes::ask_to_stop(const Running& running) {
  if (void_intent(running.files) || !running.shim) return;
  ::syscall(SYS_pidfd_send_signal, running.shim.get(), SIGTERM, nullptr, 0U);
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
    const bool lost_its_shim = *record && !(*record)->exit;
    if (lost_its_shim && !kill_session((*record)->shim()).ok()) return look_again_later(key);
    TaskResult result = result_of(*record);
    if (result.failure() == berth::v1::INFRASTRUCTURE) return end_later(key, std::move(result));
    return end(key, std::move(result));
  }
  if (!running.stop_asked) return end_unstarted(key, "The shim ended before it began the task.");
  TaskResult result;
  result.set_message("Stopped on request before it began.");
  end(key, std::move(result));
}

void Processes::end(Key key, TaskResult&& result) {
  running_.erase(key);
  ended_(key.first, key.second, std::move(result));
}

void Processes::end_unstarted(Key key, const std::string& why) {
  void_intent(running_.at(key).files);
  TaskResult result;
  result.set_failure(berth::v1::INFRASTRUCTURE);
  result.set_message(why);
  end_later(key, std::move(result));
}

// It never may run here; another try would end the same.
void Processes::refuse(Key key, const std::string& why) {
  TaskResult result;
  result.set_failure(berth::v1::ERROR);
  result.set_message(why);
  loop_.post([this, key, result = std::move(result)]() mutable { end(key, std::move(result)); });
}

void Processes::end_later(Key key, TaskResult&& result) {
  loop_.after(kPauseAfterFailure,
              [this, key, result = std::move(result)]() mutable { end(key, std::move(result)); });
}

}  // namespace berth::agent
