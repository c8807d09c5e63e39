// Checks that everything that must happen at an instant has its timer, and nothing else. See
// check.h.
#include <algorithm>
#include <map>

#include "core/state/check.h"

namespace berth::core {
namespace {

struct Due {
  Time due;
  std::uint64_t id = 0;
};
using Expected = std::map<std::uint32_t, Due>;  // by handle

void check_kind(const State& state, TimerKind kind, std::string_view name, const Expected& expected,
                Findings& findings) {
  const auto& heap = state.timers.heap_of(kind);
  check_heap(findings, heap, state.timers.positions_of(kind), name);
  for (const auto& entry : heap.entries()) {
    const auto it = expected.find(entry.handle);
    if (it == expected.end()) {
      findings.say(name, " of ", entry.handle, " is set to ", entry.key.due, " for nothing");
      continue;
    }
    findings.same(entry.key.id, it->second.id, name, ": id of ", entry.handle);
  }
  for (const auto& [handle, due] : expected) {
    findings.same(state.timers.due_of(kind, handle), due.due, name, " of ", handle);
  }
}

Expected task_timers(const State& state, const std::vector<std::uint32_t>& live) {
  Expected expected;
  for (const std::uint32_t slot : live) {
    const TaskRow& row = state.tasks.row(slot);
    Time due = Time::never();
    if (row.state == TaskState::waiting || row.state == TaskState::pending) due = row.expires;
    if (row.state == TaskState::waiting && row.unresolved == 0 && row.held == ReasonCode::none &&
        row.lease == kNoSlot && !state.ripe.contains(row.no)) {
      due = std::min(due, row.eligible);
    }
    if (due != Time::never()) expected[slot] = {due, row.no.value};
  }
  return expected;
}

Expected lease_timers(const State& state) {
  Expected expected;
  for (std::uint32_t slot = 0; slot < state.leases.size(); ++slot) {
    const Lease& lease = state.leases[slot];
    if (!lease.id) continue;
    const Duration grace = lease.charged >= lease.expected ? kChargeGrace : Duration{0};
    expected[slot] = {lease.started + lease.charged + grace, lease.id.value};
  }
  return expected;
}

Expected usage_timers(const State& state) {
  Expected expected;
  if (!state.rule->key_follows_usage) return expected;
  const std::int64_t width = std::max<std::int64_t>(
      1, state.policy.usage_window.ns / static_cast<std::int64_t>(kUsageBuckets));
  for (std::uint32_t i = 0; i < state.tenants.size(); ++i) {
    const UsageWindow& usage = state.tenants[i].usage;
    if (usage.sum_us > 0) expected[i] = {Time{(usage.epoch + 1) * width}, i};
  }
  return expected;
}

Expected tier_timers(const State& state, const std::vector<DerivedFlow>& flows) {
  Expected expected;
  for (std::uint32_t id = 0; id < flows.size(); ++id) {
    const Flow& flow = state.flows.flow(id);
    if (flow.tier == 0 || flow.crossed || flows[id].head.slot == kNoSlot) continue;
    const Time due = flows[id].head.eligible + state.policy.tier_patience;
    const std::uint64_t plain = std::uint64_t{flow.queue.value} << 34 |
                                std::uint64_t{flow.tenant.value} << 3 | (flow.commands ? 4U : 0U) |
                                flow.tier;
    const std::uint64_t placed = std::uint64_t{1} << 63 | flows[id].head.no.value;
    const std::uint64_t key = flow.shape == kNoSlot ? plain : placed;
    if (due != Time::never()) expected[id] = {due, key};
  }
  return expected;
}

// May come early, never late.
void check_keep_alive(const State& state, Findings& findings) {
  const auto& heap = state.timers.heap_of(TimerKind::keep_alive);
  check_heap(findings, heap, state.timers.positions_of(TimerKind::keep_alive), "keep-alive timer");
  for (std::uint32_t i = 0; i < state.gpus.size(); ++i) {
    Time latest = Time::never();
    const Time due = state.timers.due_of(TimerKind::keep_alive, i);
    for (const Residence& residence : state.gpus[i].residences) {
      if (residence.loading || residence.leases > 0) continue;
      const Duration step = keep_alive_step(state.model(residence.model));
      if (step == Duration::forever()) continue;
      Time look = residence.idle_since + step;
      while (look <= state.now && look != due)
        look = look + step;  // due: about to fire
      latest = std::min(latest, look);
    }
    findings.must(due <= latest, "keep-alive timer of GPU ", i, " is ", due, ", derived at most ",
                  latest);
  }
}

}  // namespace

void check_timers(const State& state, const Derived& derived, Findings& findings) {
  check_kind(state, TimerKind::task, "task timer", task_timers(state, derived.live), findings);
  check_kind(state, TimerKind::lease, "lease timer", lease_timers(state), findings);
  check_kind(state, TimerKind::usage, "usage timer", usage_timers(state), findings);
  check_kind(state, TimerKind::tier, "tier timer", tier_timers(state, derived.flows), findings);
  check_keep_alive(state, findings);
  // What the timers of queues must be is checked with the queues; here only that they are heaps.
  check_heap(findings, state.timers.heap_of(TimerKind::fill),
             state.timers.positions_of(TimerKind::fill), "fill timer");
  check_heap(findings, state.timers.heap_of(TimerKind::patience),
             state.timers.positions_of(TimerKind::patience), "patience timer");
  check_heap(findings, state.timers.heap_of(TimerKind::copy),
             state.timers.positions_of(TimerKind::copy), "copy timer");
  findings.must(state.continue_at == Time::never() || state.continue_at <= state.now,
                "work is left at ", state.continue_at, ", after now, ", state.now);
}

}  // namespace berth::core
