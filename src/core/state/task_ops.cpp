// Primitives over tasks and leases. See state.h.
#include <algorithm>

#include "base/assert.h"
#include "core/state/state.h"

namespace berth::core {

std::uint32_t find_lease(const State& state, LeaseId id) {
  return state.lease_index.find(id.value);
}

void count_running(State& state, const Lease& lease, int sign) {
  const auto end_us = static_cast<std::uint64_t>((lease.started + lease.expected).ns / 1000);
  for (RunningSum* sum : {&state.queue(lease.queue).running, &state.running}) {
    sum->leases += static_cast<std::uint32_t>(sign);
    sum->ends_us += sign > 0 ? end_us : -end_us;
  }
}

Duration running_work(const State& state, const RunningSum& running) {
  const auto now_us = static_cast<std::uint64_t>(state.now.ns / 1000);
  const auto left = static_cast<std::int64_t>(running.ends_us - now_us * running.leases);
  return Duration{scale(std::max<std::int64_t>(0, left), 1000, 1)};
}

Time next_charge_at(const Lease& lease) {
  const bool is_late = lease.charged >= lease.expected;
  return lease.started + lease.charged + (is_late ? kChargeGrace : Duration{0});
}

void arm_task_timer(State& state, std::uint32_t slot) {
  const TaskRow& row = state.tasks.row(slot);
  Time due = Time::never();
  if (row.state == TaskState::waiting || row.state == TaskState::pending) due = row.expires;
  const bool waits_for_time = row.state == TaskState::waiting && row.unresolved == 0 &&
                              row.lease == kNoSlot && row.held == ReasonCode::none &&
                              !state.ripe.contains(row.no);
  if (waits_for_time) due = std::min(due, row.eligible);
  state.timers.set(TimerKind::task, slot, row.no.value, due);
}

void note_unblocked(State& state, std::uint32_t slot) {
  const TaskRow& row = state.tasks.row(slot);
  ASSERT(row.state == TaskState::waiting);
  if (row.unresolved > 0 || row.held != ReasonCode::none || row.lease != kNoSlot) return;
  if (state.ripe.contains(row.no)) return;
  if (row.eligible <= state.now) state.ripe.try_emplace(row.no);
  arm_task_timer(state, slot);
}

}  // namespace berth::core
