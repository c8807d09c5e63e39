// Primitives over tasks, groups and leases. See state.h.
#include <algorithm>

#include "base/assert.h"
#include "core/state/state.h"

namespace berth::core {

std::uint32_t find_lease(const State& state, LeaseId id) {
  return state.lease_index.find(id.value);
}

void count_running(State& state, const Lease& lease, int sign) {
  Queue& queue = state.queue(lease.queue);
  queue.running += static_cast<std::uint32_t>(sign);
  queue.running_ends_us += sign * ((lease.started + lease.expected).ns / 1000);
}

Duration running_work(const State& state, const Queue& queue) {
  const std::int64_t now_us = state.now.ns / 1000;
  const std::int64_t left = queue.running_ends_us - now_us * std::int64_t{queue.running};
  return microseconds(std::max<std::int64_t>(0, left));
}

Time next_charge_at(const Lease& lease) {
  const bool is_late = lease.charged >= lease.expected;
  return lease.started + lease.charged + (is_late ? kChargeGrace : Duration{0});
}

void arm_task_timer(State& state, std::uint32_t slot) {
  const TaskRow& row = state.tasks.row(slot);
  Time due = Time::never();
  if (row.state == TaskState::waiting || row.state == TaskState::pending) due = row.expires;
  const bool waits_for_time =
      row.state == TaskState::waiting && row.unresolved == 0 && row.held == ReasonCode::none &&
      !state.ripe.contains(row.no);
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

void join_group(State& state, std::uint32_t slot, GroupId group) {
  TaskExtra& extra = state.tasks.extra_of(slot);
  extra.group = group;
  const auto [it, is_new] = state.groups.try_emplace(group, slot);
  if (is_new) return;
  extra.group_next = it->second;
  state.tasks.extra_of(it->second).group_prev = slot;
  it->second = slot;
}

void leave_group(State& state, std::uint32_t slot) {
  if (state.tasks.row(slot).extra == kNoSlot) return;
  TaskExtra& extra = state.tasks.extra_of(slot);
  if (!extra.group) return;
  if (extra.group_next != kNoSlot) {
    state.tasks.extra_of(extra.group_next).group_prev = extra.group_prev;
  }
  if (extra.group_prev != kNoSlot) {
    state.tasks.extra_of(extra.group_prev).group_next = extra.group_next;
  } else if (extra.group_next != kNoSlot) {
    state.groups[extra.group] = extra.group_next;
  } else {
    state.groups.erase(extra.group);
  }
  extra.group = GroupId::none();
  extra.group_prev = extra.group_next = kNoSlot;
}

}  // namespace berth::core
