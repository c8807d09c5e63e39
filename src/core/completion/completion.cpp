// See completion.h.
#include "core/completion/completion.h"

#include <algorithm>

#include "base/assert.h"

namespace berth::core {
namespace {

constexpr int kBackoffDoublingsMax = 20;

Action failed(const TaskRow& row, ReasonCode code, std::int64_t need, std::int64_t have,
              std::uint64_t subject) {
  return TaskFinished{row.no, TaskState::failed, {code, need, have, subject, Time::never()}};
}

Time retry_at(const State& state, const TaskRow& row) {
  const int doublings = std::clamp(row.attempts - 1, 0, kBackoffDoublingsMax);
  const Wide wait = static_cast<Wide>(row.backoff.ns) << doublings;
  const Wide longest = minutes(24 * 60).ns;
  return state.now + Duration{static_cast<std::int64_t>(std::min(wait, longest))};
}

LeaseTask& attempt_in(Lease& lease, TaskNo no) {
  const auto it = std::find_if(lease.tasks.begin(), lease.tasks.end(),
                               [&](const LeaseTask& task) { return task.task == no; });
  ASSERT(it != lease.tasks.end());
  return *it;
}

// The task leaves the lease that runs it; the lease itself ends by its own report. Returns the
// attempt that the task leaves there.
const LeaseTask& leave_lease(State& state, const TaskRow& row) {
  Lease& lease = state.leases[row.lease];
  LeaseTask& attempt = attempt_in(lease, row.no);
  ASSERT(attempt.live);
  attempt.live = false;
  --lease.live;
  return attempt;
}

void tell_dependants(State& state, std::uint32_t slot, bool completed) {
  const TaskNo ended = state.tasks.row(slot).no;
  for (const TaskNo no : state.tasks.take_dependants(slot)) {
    const std::uint32_t dependant = state.tasks.slot_of(no);
    if (dependant == kNoSlot) continue;  // it ended before
    TaskRow& row = state.tasks.row(dependant);
    ASSERT(row.state == TaskState::waiting && row.unresolved > 0);
    --row.unresolved;
    if (!completed && row.on_dependency_failure == OnDependencyFailure::fail) {
      state.ripe.insert_or_assign(
          no, Reason{ReasonCode::dependency_failed, 0, 0, ended.value, Time::never()});
      arm_task_timer(state, dependant);
    } else {
      note_unblocked(state, dependant);
    }
  }
}

}  // namespace

Action judge_failure(const State& state, const TaskRow& row, Failure failure) {
  if (failure == Failure::infrastructure) return judge_loss(state, row, GpuId::none());
  if (failure == Failure::not_started) {
    const Reason reason{ReasonCode::not_started, 0, 0, Reason::kNoSubject, Time::never()};
    return TaskDeferred{row.no, reason, row.eligible, failure};
  }
  if (failure == Failure::deadline) {
    const Reason reason{ReasonCode::deadline_passed, 0, 0, row.no.value, Time::never()};
    return TaskFinished{row.no, TaskState::expired, reason};
  }
  if ((row.retry_on & mask_of(failure)) == 0) {
    return failed(row, ReasonCode::not_retried, 0, 0, row.no.value);
  }
  if (row.attempts >= row.max_attempts) {
    return failed(row, ReasonCode::attempts_spent, row.attempts, row.max_attempts, row.no.value);
  }
  const std::uint32_t alike = row.last_failure == failure ? row.like_failures + 1U : 1U;
  if (state.policy.poison_after > 0 && alike >= state.policy.poison_after) {
    return TaskDeferred{
        row.no,
        {ReasonCode::poison_held, alike, state.policy.poison_after, row.no.value, Time::never()},
        Time::never(),
        failure};
  }
  const Time at = retry_at(state, row);
  return TaskDeferred{
      row.no, {ReasonCode::waits_for_time, 0, 0, Reason::kNoSubject, at}, at, failure};
}

Action judge_loss(const State& state, const TaskRow& row, GpuId gpu) {
  const std::uint64_t subject = gpu ? gpu.value : Reason::kNoSubject;
  if ((row.retry_on & kLossEndsIt) != 0) {
    return failed(row, ReasonCode::infrastructure_lost, row.losses + 1, 0, subject);
  }
  if (row.losses + 1U > state.policy.max_infrastructure_losses) {
    return failed(row, ReasonCode::infrastructure_lost, row.losses + 1,
                  state.policy.max_infrastructure_losses, subject);
  }
  return TaskDeferred{row.no,
                      {ReasonCode::gpu_lost, 0, 0, subject, Time::never()},
                      row.eligible,
                      Failure::infrastructure};
}

void finish_task(State& state, const TaskFinished& finished) {
  const std::uint32_t slot = state.tasks.slot_of(finished.task);
  ASSERT(slot != kNoSlot);
  TaskRow& row = state.tasks.row(slot);
  ASSERT(may_step(row.state, finished.state));
  Tenant& tenant = state.tenant(row.tenant);
  const QueueId queue = row.queue;
  const std::uint32_t flow = row.flow;
  const bool was_pending = row.state == TaskState::pending;
  const bool is_gang = row.gpus > 1 || row.shape != kNoSlot;
  if (row.state == TaskState::starting || row.state == TaskState::running) {
    leave_lease(state, row);
  } else {
    count_queued(state, row, -1);
    state.timers.clear(TimerKind::task, slot);
    state.ripe.erase(row.no);
    if (was_pending) leave_flow(state, slot);
  }
  --tenant.live;
  if (row.tier > 0) --state.placed.low_tier_tasks;
  leave_group(state, slot);
  tell_dependants(state, slot, finished.state == TaskState::completed);
  if (row.shape != kNoSlot) {
    release_keeps(state, row.no);
    state.shape_table.drop(row.shape);
  }
  state.tasks.end(slot, finished.state);
  if (was_pending) {
    refresh_flow(state, flow);
    refresh_queue(state, queue);
    forget_if_idle(state, flow);
  }
  if (is_gang) count_gang(state, queue, -1);
}

void begin_stop(State& state, const StopTask& stop) {
  attempt_in(state.leases[find_lease(state, stop.lease)], stop.task).stopping = true;
}

void defer_task(State& state, const TaskDeferred& deferred) {
  const std::uint32_t slot = state.tasks.slot_of(deferred.task);
  ASSERT(slot != kNoSlot);
  TaskRow& row = state.tasks.row(slot);
  if (row.state == TaskState::pending) {
    leave_flow(state, slot);
    refresh_flow(state, row.flow);
    refresh_queue(state, row.queue);
    forget_if_idle(state, row.flow);
  } else if (row.state != TaskState::waiting) {
    const bool is_stopping = leave_lease(state, row).stopping;
    if (deferred.reason.code == ReasonCode::preempted) state.leases[row.lease].preempted = true;
    if (!is_stopping) row.lease = kNoSlot;
    count_queued(state, row, 1);
  }
  row.state = TaskState::waiting;
  if (const auto ripe = state.ripe.find(row.no); ripe != state.ripe.end() && !ripe->second) {
    state.ripe.erase(ripe);  // a doomed task stays doomed
  }
  row.eligible = deferred.eligible_at;
  switch (deferred.reason.code) {
    case ReasonCode::preempted:
    case ReasonCode::gpu_lost:
    case ReasonCode::not_started:
      // Back to its old place, as soon as nothing of it runs; the attempt did not count,
      // but keeps its number.
      if (deferred.reason.code == ReasonCode::gpu_lost) ++row.losses;
      --row.attempts;
      if (row.lease != kNoSlot) break;
      row.state = TaskState::pending;
      enter_flow(state, slot);
      return;
    case ReasonCode::task_held:
      row.held = ReasonCode::task_held;
      give_up_turn(state, slot);
      break;
    case ReasonCode::poison_held:
      row.held = ReasonCode::poison_held;
      give_up_turn(state, slot);
      [[fallthrough]];
    default:
      row.like_failures = deferred.failure == row.last_failure
                              ? static_cast<std::uint8_t>(row.like_failures + 1)
                              : std::uint8_t{1};
      row.last_failure = deferred.failure;
      break;
  }
  arm_task_timer(state, slot);
}

void make_ready(State& state, TaskNo task) {
  const std::uint32_t slot = state.tasks.slot_of(task);
  ASSERT(slot != kNoSlot);
  TaskRow& row = state.tasks.row(slot);
  ASSERT(row.state == TaskState::waiting && row.unresolved == 0);
  state.ripe.erase(task);
  row.eligible = state.now;
  row.state = TaskState::pending;
  arm_task_timer(state, slot);
  enter_flow(state, slot);
}

void resolve_signal(State& state, SignalId id) {
  Signal& signal = state.signals[id];
  if (signal.resolved) return;
  signal.resolved = true;
  for (const TaskNo waiter : signal.waiters) {
    const std::uint32_t slot = state.tasks.slot_of(waiter);
    if (slot == kNoSlot) continue;
    ASSERT(state.tasks.row(slot).unresolved > 0);
    --state.tasks.row(slot).unresolved;
    note_unblocked(state, slot);
  }
  signal.waiters.clear();
}

void release_task(State& state, TaskNo task) {
  const std::uint32_t slot = state.tasks.slot_of(task);
  if (slot == kNoSlot) return;
  TaskRow& row = state.tasks.row(slot);
  if (row.held == ReasonCode::none) return;
  row.held = ReasonCode::none;
  row.like_failures = 0;
  if (row.eligible == Time::never()) row.eligible = state.now;
  ask_for_turn(state, slot);
  note_unblocked(state, slot);
}

void start_running(State& state, LeaseId id) {
  const std::uint32_t slot = find_lease(state, id);
  if (slot == kNoSlot || state.leases[slot].running) return;
  state.leases[slot].running = true;
  for (const LeaseTask& task : state.leases[slot].tasks) {
    if (task.live) state.tasks.row(task.slot).state = TaskState::running;
  }
}

}  // namespace berth::core
