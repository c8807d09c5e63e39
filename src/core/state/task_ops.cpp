// Primitives over tasks, groups and leases. See state.h.
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
                              row.held == ReasonCode::none && !state.ripe.contains(row.no);
  if (waits_for_time) due = std::min(due, row.eligible);
  state.timers.set(TimerKind::task, slot, row.no.value, due);
}

void note_unblocked(State& state, std::uint32_t slot) {
  const TaskRow& row = state.tasks.row(slot);
  ASSERT(row.state == TaskState::waiting);
  if (row.unresolved > 0 || row.held != ReasonCode::none) return;
  if (state.ripe.contains(row.no)) return;
  if (row.eligible <= state.now) state.ripe.try_emplace(row.no);
  arm_task_timer(state, slot);
}

void join_group(State& state, std::uint32_t slot, GroupId id) {
  TaskExtra& extra = state.tasks.extra_of(slot);
  extra.group = id;
  const auto [it, is_new] = state.groups.try_emplace(id, Group{slot, slot});
  if (is_new) return;
  Group& group = it->second;
  extra.group_prev = group.last;
  state.tasks.extra_of(group.last).group_next = slot;
  group.last = slot;
}

void leave_group(State& state, std::uint32_t slot) {
  if (state.tasks.row(slot).extra == kNoSlot) return;
  TaskExtra& extra = state.tasks.extra_of(slot);
  if (!extra.group) return;
  const auto it = state.groups.find(extra.group);
  Group& group = it->second;
  std::uint32_t& next_of_prev =
      extra.group_prev == kNoSlot ? group.first : state.tasks.extra_of(extra.group_prev).group_next;
  std::uint32_t& prev_of_next =
      extra.group_next == kNoSlot ? group.last : state.tasks.extra_of(extra.group_next).group_prev;
  next_of_prev = extra.group_next;
  prev_of_next = extra.group_prev;
  const bool is_empty = group.first == kNoSlot;
  const auto cancelling = state.cancelling.find(extra.group);
  const bool is_done = cancelling != state.cancelling.end() &&
                       (is_empty || state.tasks.row(group.first).no >= cancelling->second);
  if (is_done) state.cancelling.erase(cancelling);
  if (is_empty) state.groups.erase(it);
  extra.group = GroupId::none();
  extra.group_prev = extra.group_next = kNoSlot;
}

void begin_cancel(State& state, GroupId group) {
  if (!state.groups.contains(group)) return;
  state.cancelling.insert_or_assign(group, state.tasks.next());
}

}  // namespace berth::core
