// Processes: the executor of commands. Each task runs under a shim of its own (shim.h), a gang with
// all its ranks on this machine.
//
// The agent writes down what is to run, has the launcher fork the shim, watches it and reads what
// it left; output, limits and the command's children are the shim's. A shim that has been suspended
// is woken; one that is so again when its task should have ended long ago is killed with all that
// came from it, and the agent writes down the end in its place. One that is not suspended and is
// late keeps the last word, but all that came from it is killed. What a shim that was killed has
// left is ended before the end is told. Decides on the loop's thread, writes and sends on the
// worker's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "agent/agent.h"
#include "agent/files.h"
#include "agent/intent.h"
#include "agent/launcher.h"
#include "agent/lease_store.h"
#include "agent/loop.h"
#include "agent/worker.h"
#include "base/result.h"
#include "berth/v1/agent.pb.h"

namespace berth::agent {

class Processes {
 public:
  struct Tell {
    // It stands on disk that a command of the lease may begin. More than once for a lease.
    std::function<void(std::uint64_t lease)> begun;
    std::function<void(std::uint64_t lease, std::uint64_t task_no, berth::v1::TaskResult&& result,
                       const TaskTimes& times)>
        ended;
  };

  Processes(Loop& loop, Worker& worker, LeaseStore& store, const AgentOptions& options, Tell tell);
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;
  ~Processes();

  // `tasks` are places in lease.tasks.
  void start(const berth::v1::Lease& lease, std::span<const int> tasks);
  // A task that an earlier agent started and that still ran when it was found.
  void adopt(const berth::v1::Lease& lease, const berth::v1::LeasedTask& task);
  void stop(std::uint64_t lease, std::uint64_t task_no);

 private:
  using Key = Launcher::Key;
  // What the shim should be doing: it lets the task run, up to its limit; it stops it, within the
  // grace; or nothing any more, since the agent has killed it.
  enum class Stage : std::uint8_t { running, stopping, killed };
  struct Running {
    TaskFiles files;
    const Launcher::Process* launcher = nullptr;  // that was asked for its shim
    bool launched = false;
    Fd shim;                   // pidfd
    ProcessIdentity identity;  // of the shim, once somebody has looked after it
    bool stop_asked = false;
    RunLimit limit;
    Duration stop_grace{};
    Stage stage = Stage::running;
    EndCause cause = EndCause::stopped;  // why it is being stopped
    Time due = Time::never();            // when the stage should be over
  };

  void set_limits(Running& running, const berth::v1::LeasedTask& task) const;
  Result<std::optional<TaskUser>> user_of(const berth::v1::LeasedTask& task) const;
  Intent intent_of(const berth::v1::Lease& lease, const berth::v1::LeasedTask& task,
                   const TaskUser* user) const;
  std::vector<RankIntent> ranks_for(const berth::v1::Lease& lease) const;
  // A MIG instance has the name of its GPU and start; it takes no other name while GPUs are
  // simulated.
  std::string visible_devices(const berth::v1::Lease& lease) const;
  std::string device_of(const std::string& uuid) const;
  Result<Launcher::ProcessPtr> launch(const berth::v1::Lease& lease,
                                      const berth::v1::LeasedTask& task, const Intent& intent);
  void asked(Key key, const Result<Launcher::ProcessPtr>& launcher);
  void launched(Key key, Result<Fd>&& shim);
  void launcher_died(const Launcher::Process* launcher);
  void find_shim(Key key);
  void watch(Key key, Fd&& shim);
  void look_again_later(Key key);
  void ask_to_stop(Running& running);
  void begin_stopping(Running& running, EndCause cause);
  void look_after_all();
  void look_after(Running& running);
  void settle(Key key);
  void end(Key key, berth::v1::TaskResult&& result, const TaskTimes& times);
  void end_later(Key key, berth::v1::TaskResult&& result, const TaskTimes& times);
  void end_unstarted(Key key, const std::string& why);
  void refuse(Key key, const std::string& why);

  Loop& loop_;
  Worker& worker_;
  LeaseStore& store_;
  const AgentOptions& options_;
  Tell tell_;
  // By UUID, as CUDA_VISIBLE_DEVICES takes them: real GPUs by their UUID, which stays right
  // whatever else is hidden, simulated ones by their number on their node.
  std::map<std::string, std::string> devices_;
  std::map<Key, Running> running_;
  Launcher launcher_;
};

}  // namespace berth::agent
