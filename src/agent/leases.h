// Leases: the life of each lease on this node, from its message to its last report.
//
// A lease waits for its gang, its delay and its place in the streams of its GPUs; then its tasks
// run, each by its executor: simulated here, commands by a CommandRunner. Which tasks may run, and
// in which order, is the server's. One thread.
//
// Invariants: each task of a lease ends exactly once; LeaseEnded is the last report of a lease and
// names every task that no TaskEnded has named; a lease that has been seen is never begun again.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "agent/gpu_streams.h"
#include "agent/gpu_table.h"
#include "agent/loop.h"
#include "agent/reports.h"
#include "base/time.h"
#include "berth/v1/agent.pb.h"

namespace berth::agent {

// Runs the commands of tasks. Each task that is started is given back once, by Leases::task_ended.
struct CommandRunner {
  // `tasks` are places in lease.tasks.
  std::function<void(const berth::v1::Lease& lease, std::span<const int> tasks)> start;
  std::function<void(std::uint64_t lease, std::uint64_t task_no)> stop;
};

struct LeaseRules {
  std::map<std::string, std::string> executors;  // as AgentOptions has them
  Duration default_run_limit{};
  double time_scale = 1.0;
};

// A lease of an earlier incarnation. Tasks that are in none of the lists are running.
struct FoundLease {
  berth::v1::Lease lease;
  std::vector<berth::v1::TaskOutcome> ended;
  std::vector<std::uint64_t> not_started;  // and never will be
};

// How long an attempt of this task may run; zero: without limit.
Duration run_limit(const berth::v1::LeasedTask& task, Duration otherwise);

class Leases {
 public:
  using Send = Reports::Send;

  Leases(Loop& loop, GpuTable& gpus, GpuStreams& streams, Reports& reports, Send send,
         LeaseRules rules, CommandRunner runner);

  void accept(berth::v1::Lease&& lease);
  void start_gang(std::uint64_t gang, std::uint32_t generation);
  // What is not here, or no longer, is left alone. Task 0 is the task of that number if the lease
  // has it, else all of them: tasks are numbered from 0.
  void stop(const berth::v1::StopTask& message);
  void stop_all(std::uint64_t lease);
  void stop_all_that_stop_on_disconnect();
  void adopt(FoundLease&& found);

  // From the CommandRunner.
  void task_ended(std::uint64_t lease, std::uint64_t task_no, berth::v1::TaskResult&& result);
  // The server has made this report durable.
  void forget(const berth::v1::Report& report);

  std::size_t live() const { return held_.size(); }
  // The lease is here and this task of it has not ended.
  bool is_open(std::uint64_t lease, std::uint64_t task_no) const;

 private:
  enum class Stage : std::uint8_t { waiting, running };
  enum class TaskStage : std::uint8_t { open, command, ended };
  struct Held {
    berth::v1::Lease lease;
    std::vector<std::uint32_t> gpus;
    std::vector<TaskStage> tasks;  // in the order of lease.tasks
    std::size_t open = 0;          // tasks that have not ended
    Stage stage = Stage::waiting;
  };
  struct Ending {
    int task;  // its place
    berth::v1::TaskResult result;
  };

  Held* find(std::uint64_t lease);
  bool find_gpus_of(Held& held) const;
  void say_prepared(const Held& held, bool ok);
  void refuse(Held& held, const std::string& why);
  void stop_tasks(Held& held, std::span<const int> tasks);
  void queue(std::uint64_t lease);
  void begin(Held& held);
  void begin_simulated(Held& held, std::span<const int> tasks);
  void end_simulated(std::uint64_t lease, Duration ran);
  void end_at_limit(std::uint64_t lease, int task, Duration limit);
  void end_tasks(Held& held, std::vector<Ending>&& endings);
  void report_task_ended(const Held& held, Ending&& ending);
  void report_lease_ended(const Held& held, std::vector<Ending>&& endings);
  BatchUse use_of(const Held& held) const;
  // False: simulated, unless `refusal` says why the task cannot run at all.
  bool runs_as_command(const berth::v1::Lease& lease, const berth::v1::LeasedTask& task,
                       std::string& refusal) const;

  Loop& loop_;
  GpuTable& gpus_;
  GpuStreams& streams_;
  Reports& reports_;
  Send send_;
  LeaseRules rules_;
  CommandRunner runner_;
  std::unordered_map<std::uint64_t, Held> held_;
  std::unordered_set<std::uint64_t> ended_;  // whose end is not acknowledged yet
};

}  // namespace berth::agent
