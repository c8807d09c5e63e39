// Agent: the local level on one machine. It carries out what the server decides and reports it.
//
// It speaks agent.proto and nothing else: it knows leases, models and GPUs of its own nodes, never
// tenants' rights, queues' orders or other agents. Everything it decides happens on one thread, its
// loop; disks and nvidia-smi are waited for on helper threads.
//
// Invariants: a report is kept until the server has acknowledged it. A lease that has been seen is
// not begun again, also not by a later agent on the same folder; one whose end was acknowledged the
// server does not send again. Ending the agent ends no task.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/devices.h"
#include "agent/task_user.h"
#include "base/result.h"
#include "base/time.h"
#include "berth/v1/agent.pb.h"

namespace berth::agent {

// A node that the agent speaks for: this machine, or one that is simulated.
struct NodeDescription {
  std::string name;
  std::string rack;            // empty: that of all nodes that name none
  std::int64_t cpu_milli = 0;  // thousandths of a core that tasks may have
  std::int64_t memory_mb = 0;
  std::string address = "127.0.0.1";  // by which other nodes reach it
};

struct AgentOptions {
  std::string node = "local";
  std::string cluster = "berth";
  // Holds the number of the incarnation and the records of the tasks. One agent at a time.
  std::filesystem::path folder;
  std::filesystem::path work_folder;  // holds the working folders of tasks; empty: `folder`/work
  // While the disk of the working folders has less room than this, those of ended tasks go.
  std::uint64_t work_reserve_bytes = 0;
  std::vector<NodeDescription> nodes;  // none: `node` alone, of which nothing is known
  std::vector<GpuDescription> gpus;
  // The berth binary: `launcher_program launcher` forks the shims of commands.
  std::string launcher_program;
  std::uint64_t command_files = 0;  // that a command may have open; 0: as many as the agent
  // As whom the commands of a tenant run; none: as the agent's own user. An error: they may not
  // run, and why. Called on the agent's threads; must not block.
  using UserOf = std::function<Result<std::optional<TaskUser>>(const std::string& tenant)>;
  UserOf user_of;            // empty: all as the agent's own user
  bool no_new_privs = true;  // for commands of other users
  // A control group for those of the tasks, which limit them (cgroup.h); empty: nothing limits
  // them.
  std::filesystem::path group_root;
  std::int64_t processes_max = 0;  // of a task, with its threads; 0: without limit
  std::uint64_t output_cap_bytes = std::uint64_t{16} << 20;  // of each stream of an attempt
  Duration output_ttl = minutes(24 * 60);  // for tasks that name no time of their own
  std::function<Time()> clock;             // by which outputs are kept; none: the wall clock
  Duration default_run_limit{};            // zero: none
  Duration default_stop_grace = seconds(10);
  Duration heartbeat = seconds(1);
  // What a task inherits of the agent's environment.
  std::vector<std::string> passthrough_env{"PATH", "HOME",   "USER", "LOGNAME", "SHELL",
                                           "LANG", "LC_ALL", "TZ",   "TMPDIR"};
  double time_scale = 1.0;  // of the simulated executor and of loads; 0: they take no time
};

class Agent {
 public:
  // Called on the agent's threads, one at a time. Must not block.
  using Send = std::function<void(berth::v1::AgentMessage&&)>;

  // Reads the folder, finds what still runs, then says Hello.
  static Result<std::unique_ptr<Agent>> start(AgentOptions options, Send send);

  Agent(const Agent&) = delete;
  Agent& operator=(const Agent&) = delete;
  ~Agent();

  // From any thread; never blocks.
  void receive(berth::v1::ServerMessage&& message);

  // Ends the agent's threads and leaves the tasks' processes running. After it returns nothing is
  // sent. A second call does nothing.
  void stop();

 private:
  struct Parts;
  explicit Agent(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::agent
