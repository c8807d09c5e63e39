// The stages of a lease: waiting, running, ended.
#include "agent/leases.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "agent/simulated.h"
#include "base/assert.h"

namespace berth::agent {
namespace {

using berth::v1::FailureKind;
using berth::v1::TaskResult;

TaskResult failed(FailureKind kind, std::string message) {
  TaskResult result;
  result.set_failure(kind);
  result.set_message(std::move(message));
  return result;
}

// The server asked for it and knows why, so no kind of failure is named.
TaskResult stopped() { return failed(berth::v1::FAILURE_KIND_UNSPECIFIED, "Stopped on request."); }

}  // namespace

RunLimit run_limit(const berth::v1::LeasedTask& task, Duration otherwise) {
  RunLimit limit{otherwise};
  if (task.spec().run_limit_ms() > 0) limit.length = milliseconds(task.spec().run_limit_ms());
  if (task.run_limit_ms() > 0) limit.length = milliseconds(task.run_limit_ms());
  const Duration deadline = milliseconds(task.deadline_ms());
  if (deadline.ns > 0 && (limit.length.ns <= 0 || deadline <= limit.length)) {
    limit = {deadline, true};
  }
  return limit;
}

FailureKind failure_at(const RunLimit& limit) {
  return limit.is_deadline ? berth::v1::DEADLINE : berth::v1::TIMEOUT;
}

Leases::Leases(Loop& loop, GpuTable& gpus, GpuStreams& streams, Reports& reports, Send send,
               LeaseRules rules, CommandRunner runner)
    : loop_(loop),
      gpus_(gpus),
      streams_(streams),
      reports_(reports),
      send_(std::move(send)),
      rules_(rules),
      runner_(std::move(runner)) {}

Leases::Held* Leases::find(std::uint64_t lease) {
  const auto found = held_.find(lease);
  return found == held_.end() ? nullptr : &found->second;
}

bool Leases::is_open(std::uint64_t lease, std::uint64_t task_no) const {
  const auto found = held_.find(lease);
  if (found == held_.end()) return false;
  const Held& held = found->second;
  for (int task = 0; task < held.lease.tasks_size(); ++task) {
    if (held.lease.tasks(task).task_no() != task_no) continue;
    return held.tasks[static_cast<std::size_t>(task)] != TaskStage::ended;
  }
  return false;
}

// ---- Waiting
// -------------------------------------------------------------------------------------

void Leases::accept(berth::v1::Lease&& lease) {
  const std::uint64_t id = lease.id();
  if (ended_.contains(id)) return;
  const auto [place, is_new] = held_.try_emplace(id);
  if (!is_new) return;
  Held& held = place->second;
  held.lease = std::move(lease);
  held.open = static_cast<std::size_t>(held.lease.tasks_size());
  held.tasks.resize(held.open, TaskStage::open);
  const bool known = find_gpus_of(held);

  if (held.lease.gang().id() != 0) say_prepared(held, known);
  if (!known) {
    refuse(held, "A GPU of the lease is not on this node.");
  } else if (held.open == 0) {
    refuse(held, "");
  } else if (held.lease.gang().id() != 0) {
    return;  // until start_gang
  } else if (held.lease.start_after_ms() > 0) {
    loop_.after(milliseconds(held.lease.start_after_ms()), [this, id] { queue(id); });
  } else {
    queue(id);
  }
}

void Leases::say_prepared(const Held& held, bool ok) {
  berth::v1::AgentMessage message;
  berth::v1::Prepared& prepared = *message.mutable_prepared();
  prepared.set_gang(held.lease.gang().id());
  prepared.set_generation(held.lease.gang().generation());
  prepared.set_ok(ok);
  if (!ok) prepared.set_message("A GPU of the lease is not on this node.");
  send_(std::move(message));
}

void Leases::refuse(Held& held, const std::string& why) {
  std::vector<Ending> endings;
  for (int task = 0; task < held.lease.tasks_size(); ++task) {
    endings.push_back({task, failed(berth::v1::ERROR, why)});
  }
  end_tasks(held, std::move(endings));
}

bool Leases::find_gpus_of(Held& held) const {
  for (const std::string& uuid : held.lease.gpus()) {
    const std::uint32_t gpu = gpus_.find(uuid);
    if (gpu == GpuTable::kAbsent) return false;
    held.gpus.push_back(gpu);
  }
  return true;
}

void Leases::start_gang(std::uint64_t gang, std::uint32_t generation) {
  std::vector<std::uint64_t> started;
  for (const auto& [id, held] : held_) {
    const berth::v1::Gang& its = held.lease.gang();
    if (held.stage == Stage::waiting && its.id() == gang && its.generation() == generation) {
      started.push_back(id);
    }
  }
  std::sort(started.begin(), started.end());
  for (const std::uint64_t id : started) {
    queue(id);
  }
}

void Leases::queue(std::uint64_t lease) {
  Held* held = find(lease);
  if (held == nullptr) return;  // stopped while it waited
  if (streams_.clear(held->gpus)) return begin(*held);
  streams_.push(held->gpus, [this, lease] {
    Held* first = find(lease);
    if (first != nullptr && first->stage == Stage::waiting) begin(*first);
    return true;
  });
}

// ---- Running
// -------------------------------------------------------------------------------------

BatchUse Leases::use_of(const Held& held) const {
  return {held.lease.model(), held.lease.share_milli(), held.lease.vram_mb()};
}

void Leases::begin(Held& held) {
  held.stage = Stage::running;
  gpus_.begin_batch(held.gpus, use_of(held), Loop::now());

  std::vector<int> commands;
  std::vector<int> simulated;
  std::vector<Ending> refused;
  for (int task = 0; task < held.lease.tasks_size(); ++task) {
    const auto place = static_cast<std::size_t>(task);
    if (held.tasks[place] == TaskStage::ended) continue;  // stopped while it waited
    std::string refusal;
    if (runs_as_command(held.lease, held.lease.tasks(task), refusal)) {
      held.tasks[place] = TaskStage::command;
      commands.push_back(task);
    } else if (refusal.empty()) {
      simulated.push_back(task);
    } else {
      refused.push_back({task, failed(berth::v1::ERROR, std::move(refusal))});
    }
  }
  const std::uint64_t lease = held.lease.id();
  if (commands.empty() || !simulated.empty()) tell_started(held);
  if (!commands.empty()) runner_.start(held.lease, commands);
  if (!refused.empty()) end_tasks(held, std::move(refused));
  Held* left = simulated.empty() ? nullptr : find(lease);
  if (left != nullptr) begin_simulated(*left, simulated);
}

void Leases::tell_started(Held& held) {
  if (std::exchange(held.told_started, true)) return;
  berth::v1::Report report;
  report.mutable_lease_started()->set_lease(held.lease.id());
  reports_.add(std::move(report));
}

void Leases::commands_begun(std::uint64_t lease) {
  if (Held* held = find(lease)) tell_started(*held);
}

bool Leases::runs_as_command(const berth::v1::Lease& lease, const berth::v1::LeasedTask& task,
                             std::string& refusal) const {
  if (!task.has_spec()) {
    refusal = "The server did not say what the task is; look for errors of its journal.";
    return false;
  }
  const bool has_command = task.spec().command().argv_size() > 0;
  const std::string& executor = lease.runtime();
  if (executor.empty()) return has_command;
  if (executor == "simulated") return false;
  if (executor == "process" && has_command) return true;
  if (executor == "process") {
    refusal = "The queue \"" + lease.queue() +
              "\" runs commands (executor \"process\") and this task has none; submit it with a "
              "command, or give the queue the executor \"simulated\".";
  } else {
    refusal = "The executor \"" + executor + "\" of the queue \"" + lease.queue() +
              "\" is not known here; there are \"simulated\" and \"process\".";
  }
  return false;
}

void Leases::begin_simulated(Held& held, std::span<const int> tasks) {
  const std::uint64_t lease = held.lease.id();
  const std::uint32_t speed = gpus_.slowest_milli(held.gpus, held.lease.work_class());
  const Duration duration = simulated_duration(held.lease, speed, rules_.time_scale);
  if (duration.ns <= 0) return end_simulated(lease, duration);
  for (const int task : tasks) {
    const RunLimit limit = run_limit(held.lease.tasks(task), rules_.default_run_limit);
    if (limit.length.ns > 0 && limit.length < duration) {
      loop_.after(limit.length, [this, lease, task, limit] { end_at_limit(lease, task, limit); });
    }
  }
  loop_.after(duration, [this, lease, duration] { end_simulated(lease, duration); });
}

void Leases::end_at_limit(std::uint64_t lease, int task, const RunLimit& limit) {
  Held* held = find(lease);
  if (held == nullptr || held->tasks[static_cast<std::size_t>(task)] != TaskStage::open) return;
  const std::string length = std::to_string(limit.length.ns / 1'000'000) + " ms.";
  TaskResult result = failed(failure_at(limit),
                             limit.is_deadline ? "Its deadline passed when it had run for " + length
                                               : "Ran past its limit of " + length);
  result.set_simulated(true);
  std::vector<Ending> endings;
  endings.push_back({task, std::move(result)});
  end_tasks(*held, std::move(endings));
}

void Leases::end_simulated(std::uint64_t lease, Duration ran) {
  Held* held = find(lease);
  if (held == nullptr) return;
  TaskResult result;
  result.set_completed(true);
  result.set_simulated(true);
  result.set_result(simulated_result(
      held->lease, held->gpus.empty() ? "" : gpus_[held->gpus.front()].description.name, ran));
  std::vector<Ending> endings;
  endings.reserve(held->open);
  for (std::size_t place = 0; place < held->tasks.size(); ++place) {
    if (held->tasks[place] == TaskStage::open) {
      endings.push_back({static_cast<int>(place), result});
    }
  }
  end_tasks(*held, std::move(endings));
}

// ---- Ending
// --------------------------------------------------------------------------------------

void Leases::stop(const berth::v1::StopTask& message) {
  Held* held = find(message.lease());
  if (held == nullptr) return;
  std::vector<int> all;
  for (int task = 0; task < held->lease.tasks_size(); ++task) {
    if (held->lease.tasks(task).task_no() == message.task_no())
      return stop_tasks(*held, {&task, 1});
    all.push_back(task);
  }
  if (message.task_no() == 0) stop_tasks(*held, all);
}

void Leases::stop_all(std::uint64_t lease) {
  Held* held = find(lease);
  if (held == nullptr) return;
  std::vector<int> all(held->tasks.size());
  std::iota(all.begin(), all.end(), 0);
  stop_tasks(*held, all);
}

void Leases::stop_tasks(Held& held, std::span<const int> tasks) {
  const std::uint64_t lease = held.lease.id();
  std::vector<Ending> endings;
  std::vector<std::uint64_t> commands;
  for (const int task : tasks) {
    const TaskStage stage = held.tasks[static_cast<std::size_t>(task)];
    if (stage == TaskStage::open) endings.push_back({task, stopped()});
    if (stage == TaskStage::command) commands.push_back(held.lease.tasks(task).task_no());
  }
  if (!endings.empty()) end_tasks(held, std::move(endings));
  for (const std::uint64_t no : commands) {
    runner_.stop(lease, no);
  }
}

void Leases::stop_all_that_stop_on_disconnect() {
  std::vector<std::uint64_t> stopping;
  for (const auto& [id, held] : held_) {
    if (held.lease.on_disconnect() == "stop") stopping.push_back(id);
  }
  std::sort(stopping.begin(), stopping.end());
  for (const std::uint64_t id : stopping) {
    stop_all(id);
  }
}

void Leases::task_ended(std::uint64_t lease, std::uint64_t task_no, TaskResult&& result,
                        const TaskTimes& times) {
  Held* held = find(lease);
  if (held == nullptr) return;
  for (int task = 0; task < held->lease.tasks_size(); ++task) {
    if (held->lease.tasks(task).task_no() != task_no) continue;
    if (held->tasks[static_cast<std::size_t>(task)] == TaskStage::ended) return;
    std::vector<Ending> endings;
    endings.push_back({task, std::move(result), times});
    return end_tasks(*held, std::move(endings));
  }
}

// Those that end together with the last one stand in LeaseEnded; others are told one by one.
void Leases::end_tasks(Held& held, std::vector<Ending>&& endings) {
  for (const Ending& ending : endings) {
    TaskStage& stage = held.tasks[static_cast<std::size_t>(ending.task)];
    ASSERT(stage != TaskStage::ended);
    stage = TaskStage::ended;
    held.times.ran = std::max(held.times.ran, ending.times.ran);
    held.times.ended = std::max(held.times.ended, ending.times.ended);
  }
  held.open -= endings.size();
  if (held.open > 0) {
    for (Ending& ending : endings) {
      report_task_ended(held, std::move(ending));
    }
    return;
  }
  report_lease_ended(held, std::move(endings));
  if (held.stage == Stage::running) gpus_.end_batch(held.gpus, use_of(held), Loop::now());
  const std::uint64_t lease = held.lease.id();
  ended_.insert(lease);
  held_.erase(lease);
  streams_.advance();
}

void Leases::report_task_ended(const Held& held, Ending&& ending) {
  berth::v1::Report report;
  berth::v1::TaskEnded& body = *report.mutable_task_ended();
  body.set_lease(held.lease.id());
  body.mutable_outcome()->set_task_no(held.lease.tasks(ending.task).task_no());
  *body.mutable_outcome()->mutable_result() = std::move(ending.result);
  const bool is_known = ending.times.ended != Time{};
  reports_.add(std::move(report), is_known ? ending.times.ended : Time::never());
}

void Leases::report_lease_ended(const Held& held, std::vector<Ending>&& endings) {
  berth::v1::Report report;
  berth::v1::LeaseEnded& body = *report.mutable_lease_ended();
  body.set_lease(held.lease.id());
  body.mutable_outcomes()->Reserve(static_cast<int>(endings.size()));
  for (Ending& ending : endings) {
    berth::v1::TaskOutcome& outcome = *body.add_outcomes();
    outcome.set_task_no(held.lease.tasks(ending.task).task_no());
    *outcome.mutable_result() = std::move(ending.result);
  }
  const bool is_known = held.times.ended != Time::never() && held.times.ended != Time{};
  if (!is_known) body.set_ran_ms(held.times.ran.ns / 1'000'000);
  reports_.add(std::move(report), is_known ? held.times.ended : Time::never());
}

void Leases::forget(const berth::v1::Report& report) {
  if (report.has_lease_ended()) ended_.erase(report.lease_ended().lease());
}

// ---- After a restart
// -----------------------------------------------------------------------------

void Leases::adopt(FoundLease&& found) {
  const std::uint64_t id = found.lease.id();
  const auto [place, is_new] = held_.try_emplace(id);
  if (!is_new) return;
  Held& held = place->second;
  held.lease = std::move(found.lease);
  held.open = static_cast<std::size_t>(held.lease.tasks_size());
  held.tasks.resize(held.open, TaskStage::command);
  held.stage = Stage::running;
  held.told_started = true;                    // the inventory says so
  if (!find_gpus_of(held)) held.gpus.clear();  // the GPUs have changed; the tasks still run
  gpus_.begin_batch(held.gpus, use_of(held), Loop::now());

  std::map<std::uint64_t, int> places;
  for (int task = 0; task < held.lease.tasks_size(); ++task) {
    places.emplace(held.lease.tasks(task).task_no(), task);
  }
  std::vector<Ending> endings;
  for (const std::uint64_t no : found.not_started) {
    endings.push_back(
        {places.at(no),
         failed(berth::v1::INFRASTRUCTURE, "The agent was restarted before the task began."),
         {{}, {}}});
  }
  for (FoundLease::Ended& ended : found.ended) {
    endings.push_back({places.at(ended.task_no), std::move(ended.result), ended.times});
  }
  end_tasks(held, std::move(endings));
}

}  // namespace berth::agent
