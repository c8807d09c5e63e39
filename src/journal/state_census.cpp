// Census: every field of the core's state by name, so that none is forgotten by a snapshot.
//
// A struct that grows does not compile here until its new field is named. Before naming it, decide:
// carried (then it belongs into state_records.h, the writer and the restorer) or derived (then
// rebuild_indexes or the restorer must make it anew). It is listed on that side below.
#include "core/state/state.h"

namespace berth::journal {
namespace {

// Each returns something of what it names; the naming is the point.

[[maybe_unused]] bool name_all(const core::Tenant& tenant) {
  const auto& [v_us, credit_us, ledger, in_use, subtree_use, queued, live, pending, competing,
               first_led, paused, in_tree, works, members, spec, token_nano, token_at, tokens_today,
               flows, children, heads_by_use, usage] = tenant;
  // Derived: in_use, subtree_use, queued, live, pending, competing, first_led,
  // in_tree, works, members, flows, children, heads_by_use.
  const auto& [bucket_us, sum_us, epoch] = usage;
  // Derived: sum_us.
  return paused && bucket_us.size() == core::kUsageBuckets;
}

[[maybe_unused]] bool name_all(const core::Queue& queue) {
  const auto& [spec, next_model, paused, draining, gangs, queued, pending, startable,
               startable_apart, pending_work_us, in_use, running, flushed_at, turn, batch_time,
               arrivals, wait, tightest_wait, due, overdue, declined_at, declined, holds, copy_at,
               wants_copy, batches, members, placed_flows, flows, oldest, leader_flow, leader_slot,
               led_prev, led_next, ready, blocked, wake_at, key, bench, bench_shape, bench_need] =
      queue;
  // Derived: gangs, queued, pending, startable, startable_apart, pending_work_us, in_use, running,
  // and all from members on.
  return paused;
}

[[maybe_unused]] bool name_all(const core::Model& model) {
  const auto& [spec, queues, fit, gpus, resident, resident_open, loading, backlog, load_times,
               failing_gpus, loads, evictions, resident_time, computing_time] = model;
  // Derived: queues, fit, gpus, resident, resident_open, loading, backlog,
  // failing_gpus.
  return loads == evictions;
}

[[maybe_unused]] bool name_all(const core::PackingKnowledge& known) {
  const auto& [mix, arrivals, typical, version, table] = known;
  return table.empty();
}

[[maybe_unused]] bool name_all(const core::Node& node) {
  const auto& [spec, up, gpus, cpu_used, memory_used, cpu_claimed, memory_claimed, leases, dirty] =
      node;
  // Derived: all but spec and up.
  return up;
}

[[maybe_unused]] bool name_all(const core::Gpu& gpu, const core::Residence& residence) {
  const auto& [spec, usable, up, draining, adopts, leased, weights, weights_busy, shares, reported,
               held_for, kept_for, leases, slices, cut, residences, pauses, indexed, free_entry,
               reclaim_entry, mig_entry] = gpu;
  // Derived: usable, leased, weights, weights_busy, shares, held_for, leases, slices, cut, indexed,
  // the entries.
  const auto& [model, load, model_weights, loading, used, users, since, idle_since, owed] =
      residence;
  // Derived: users (leases).
  return up && used;
}

[[maybe_unused]] bool name_all(const core::Lease& lease, const core::LeaseTask& lease_task) {
  const auto& [id, queue, model, share, vram, gpus, node, asked, cpu, memory, instance, tasks, live,
               running, preempted, started, expected, charged, rate, load_us, parts] = lease;
  // Derived: live.
  const auto& [task, slot, tenant, is_live, is_stopping, part, charged_us, use, v_rate] =
      lease_task;
  // Derived: slot.
  return running && is_live;
}

[[maybe_unused]] bool name_all(const core::TaskExtra& extra) {
  const auto& [group, at_once, has_turn, group_prev, group_next, depends_on, checkpoint_interval,
               restart_cost] = extra;
  // Derived: group_prev, group_next.
  return depends_on.empty();
}

[[maybe_unused]] bool name_all(const core::TaskRow& row) {
  const auto& [no, submitted, eligible, expires, expected_run, backoff, vram, tenant, queue, flow,
               lease, stamp, tokens, extra, unresolved, dependants, shape, starts, priority, share,
               gpus, tier, state, attempts, max_attempts, retry_on, losses, like_failures,
               last_failure, on_dependency_failure, held, command, started] = row;
  // Derived: flow, lease, stamp, extra, unresolved, dependants.
  return core::is_terminal(state);
}

[[maybe_unused]] bool name_all(const core::State& state) {
  const auto& [now, policy, rule, tasks, shape_table, packing, flows, tenants, queues, models,
               nodes, gpus, leases, free_leases, lease_index, next_lease, next_load, running,
               groups, cancelling, signals, ripe, early_waiters, first_today, v_last_pick,
               next_turn, last_served, starts_held, submitted_first, submitted, usable, accepting,
               holdable, free_fit, reclaim_fit, competing, competing_positions, flow_positions,
               oldest_positions, turn_positions, bench_positions, turn, hot, shapes, cold, placed,
               overdue, declined, holding, kept, claims, timers, share_scratch, flow_scratch,
               continue_at] = state;
  // Derived: rule, shape_table, claims (from the GPUs), flows, free_leases, lease_index, running,
  // groups, and the indexes from usable on, of the timers all but keep_alive. Empty between steps:
  // early_waiters, submitted, the scratch.
  return tenants.empty();
}

[[maybe_unused]] bool name_all(const core::Signal& signal) {
  const auto& [resolved, waiters] = signal;
  // Derived: waiters. Unresolved signals nobody waits for are dropped.
  return resolved;
}

}  // namespace
}  // namespace berth::journal
