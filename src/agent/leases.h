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
#include "agent/wall_clock.h"
#include "base/time.h"
#include "berth/v1/agent.pb.h"

namespace berth::agent {

// When a task ended, since the boot, and how long it ran.
struct TaskTimes {
  Duration ran{};
  Time ended = since_boot();  // zero: it never began; never: not known, it was on another boot
};

// How long an attempt may run, and what it runs past then.
struct RunLimit {
  Duration length{};  // zero: without limit
  bool is_deadline = false;
};
RunLimit run_limit(const berth::v1::LeasedTask& task, Duration otherwise);
// Of one that ran past it, without saying how it ended then.
berth::v1::FailureKind failure_at(const RunLimit& limit);

// Runs the commands of tasks. Each task that is started is given back once, by Leases::task_ended.
struct CommandRunner {
  // `tasks` are places in lease.tasks.
  std::function<void(const berth::v1::Lease& lease, std::span<const int> tasks)> start;
  std::function<void(std::uint64_t lease, std::uint64_t task_no)> stop;
};

struct LeaseRules {
  Duration default_run_limit{};
  double time_scale = 1.0;
};

// A lease of an earlier incarnation. Tasks that are in none of the lists are running.
struct FoundLease {
  struct Ended {
    std::uint64_t task_no = 0;
    berth::v1::TaskResult result;
    TaskTimes times;
  };
  berth::v1::Lease lease;
  std::vector<Ended> ended;
  std::vector<std::uint64_t> not_started;  // and never will be
};

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

  // From the CommandRunner. It stands on disk that a command of the lease may begin: until then
  // nothing is told to have started, so that what an agent does not find there never did.
  void commands_begun(std::uint64_t lease);
  void task_ended(std::uint64_t lease, std::uint64_t task_no, berth::v1::TaskResult&& result,
                  const TaskTimes& times);
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
    bool told_started = false;
    TaskTimes times{{}, {}};  // of the last and the longest of its tasks that have ended
  };
  struct Ending {
    int task;  // its place
    berth::v1::TaskResult result;
    TaskTimes times = {};
  };

  Held* find(std::uint64_t lease);
  bool find_gpus_of(Held& held) const;
  void say_prepared(const Held& held, bool ok);
  void refuse(Held& held, const std::string& why);
  void stop_tasks(Held& held, std::span<const int> tasks);
  void queue(std::uint64_t lease);
  void begin(Held& held);
  void tell_started(Held& held);
  void begin_simulated(Held& held, std::span<const int> tasks);
  void end_simulated(std::uint64_t lease, Duration ran);
  void end_at_limit(std::uint64_t lease, int task, const RunLimit& limit);
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
