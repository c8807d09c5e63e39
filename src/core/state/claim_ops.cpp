// Claims: GPUs, CPUs and memory that nobody but one waiting task gets, while what runs there is
// being stopped. See preemption/preemption.h.
#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "core/state/state.h"

namespace berth::core {
namespace {

void claim_nodes(State& state, TaskNo task, const std::vector<GpuId>& gpus, std::int64_t sign) {
  const Shape shape = shape_of(state, state.tasks.row(state.tasks.slot_of(task)));
  for (const NodeCount& part : count_by_node(state, gpus, NodeId::none())) {
    Node& node = state.node(part.node);
    node.cpu_claimed += Milli{sign * node_part(shape.cpu.value, part.gpus, shape.gpus)};
    node.memory_claimed += Mib{sign * node_part(shape.memory.value, part.gpus, shape.gpus)};
    note_node(state, part.node);
    if (sign < 0) note_mig_node(state, part.node);
  }
}

// What the task will use counts for its tenant and queue from the claim on.
void claim_use(State& state, const TaskRow& row, std::int64_t sign) {
  const Milli use{sign * row.share * row.gpus};
  change_in_use(state, row.tenant, use);
  state.queue(row.queue).in_use += use;
  refresh_queue(state, row.queue);
}

bool may_preempt(const State& state) {
  const PlacedWork& placed = state.placed;
  if (!state.policy.preemption || !placed.ranks_differ() || state.starts_held) return false;
  const bool batches_wait = std::any_of(state.shapes.begin(), state.shapes.end(),
                                        [](const auto& bench) { return !bench.second.empty(); });
  return batches_wait || !placed.ranked.empty();
}

// From now on it is placed work: that is how one task waits for one GPU.
void make_placed(State& state, TaskNo task) {
  const std::uint32_t slot = state.tasks.slot_of(task);
  TaskRow& row = state.tasks.row(slot);
  const std::uint32_t flow = row.flow;
  leave_flow(state, slot);
  refresh_flow(state, flow);
  refresh_queue(state, row.queue);
  keep_cells(state);
  row.shape = state.shape_table.take(shape_of(state, row));
  row.flow = kNoSlot;
  count_gang(state, row.queue, 1);
  enter_flow(state, slot);
}

}  // namespace

void claim_gpus(State& state, TaskNo task, const std::vector<GpuId>& gpus) {
  ASSERT(!state.claims.contains(task));
  if (state.tasks.row(state.tasks.slot_of(task)).shape == kNoSlot) make_placed(state, task);
  for (const GpuId gpu : gpus) {
    if (state.gpu(gpu).kept_for) release_keep(state, gpu);
    keep_gpu(state, gpu, task);
  }
  // GPUs that were kept for it and are not among those that it claims serve nobody.
  const std::vector<GpuId> kept = state.kept.at(task);
  for (const GpuId gpu : kept) {
    if (std::find(gpus.begin(), gpus.end(), gpu) == gpus.end()) release_keep(state, gpu);
  }
  enter_claim(state, task, gpus);
  claim_use(state, state.tasks.row(state.tasks.slot_of(task)), 1);
}

void enter_claim(State& state, TaskNo task, const std::vector<GpuId>& gpus) {
  state.claims.emplace(task, gpus);
  claim_nodes(state, task, gpus, 1);
  state.placed.stale = true;
}

void drop_claim(State& state, TaskNo task) {
  const auto claim = state.claims.find(task);
  if (claim == state.claims.end()) return;
  const std::vector<GpuId> gpus = claim->second;
  state.claims.erase(claim);
  claim_nodes(state, task, gpus, -1);
  claim_use(state, state.tasks.row(state.tasks.slot_of(task)), -1);
  state.placed.stale = true;
}

void drop_claims_on(State& state, NodeId node) {
  std::vector<TaskNo> tasks;
  for (const auto& [task, gpus] : state.claims) {
    const bool is_there = std::any_of(gpus.begin(), gpus.end(),
                                      [&](GpuId gpu) { return state.gpu(gpu).spec.node == node; });
    if (is_there) tasks.push_back(task);
  }
  for (const TaskNo task : tasks)
    release_keeps(state, task);
}

void drop_unfit_claims(State& state) {
  std::vector<TaskNo> tasks;
  for (const auto& [task, gpus] : state.claims) {
    const TaskRow& row = state.tasks.row(state.tasks.slot_of(task));
    const bool fits = std::all_of(gpus.begin(), gpus.end(), [&](GpuId gpu) {
      return state.gpu(gpu).usable.value >= row.vram;
    });
    if (!fits) tasks.push_back(task);
  }
  for (const TaskNo task : tasks)
    release_keeps(state, task);
}

bool claim_stands(const State& state, TaskNo task) {
  const TaskRow& row = state.tasks.row(state.tasks.slot_of(task));
  // What it uses is counted already.
  const Queue& queue = state.queue(row.queue);
  return row.state == TaskState::pending && !queue.paused && queue_allows(queue, Milli{0}) &&
         tenant_allows(state, row.tenant, Milli{0});
}

bool is_claimed(const State& state, const Gpu& gpu) {
  return gpu.kept_for && state.claims.contains(gpu.kept_for);
}

bool is_claim_free(const State& state, TaskNo task, const std::vector<GpuId>& gpus) {
  const TaskRow& row = state.tasks.row(state.tasks.slot_of(task));
  const auto has_room = [&](const Gpu& gpu) {
    if (row.share == kWholeGpu.value) return gpu.leases.empty() && gpu.weights_busy.value == 0;
    return compute_allows(state, gpu, Milli{row.share}) &&
           gpu.leased + gpu.weights_busy + Mib{row.vram} <= gpu.usable;
  };
  return std::all_of(gpus.begin(), gpus.end(), [&](GpuId id) {
    const Gpu& gpu = state.gpu(id);
    const Node& node = state.node(gpu.spec.node);
    return has_room(gpu) && node.cpu_used + node.cpu_claimed <= node.spec.cpu &&
           node.memory_used + node.memory_claimed <= node.spec.memory;
  });
}

bool is_time_to_preempt(const State& state) {
  const PlacedWork& placed = state.placed;
  if (!may_preempt(state) || state.now.ns % kPreemptionStep.ns != 0) return false;
  return placed.preemption_stale || placed.arrivals_stale || placed.no_plan_before <= state.now;
}

bool is_known_without_plan(const State& state, const std::vector<TaskNo>& waiting) {
  const PlacedWork& placed = state.placed;
  return !placed.preemption_stale && placed.no_plan_before > state.now &&
         placed.no_plan_for == waiting;
}

void note_no_plan(State& state, std::vector<TaskNo> waiting, Time again) {
  PlacedWork& placed = state.placed;
  placed.preemption_stale = placed.arrivals_stale = false;
  placed.no_plan_for = std::move(waiting);
  placed.no_plan_before = again;
  // Who loses least changes with time, and with it what a guarantee lets go.
  if (placed.guarantees > 0) {
    placed.no_plan_before = std::min(again, state.now + kPreemptionStep);
  }
}

void arm_preemption(State& state) {
  const PlacedWork& placed = state.placed;
  if (!may_preempt(state)) return state.timers.clear(TimerKind::preemption, 0);
  const std::int64_t step = kPreemptionStep.ns;
  Time due{(state.now.ns / step + 1) * step};
  const bool is_new = placed.preemption_stale || placed.arrivals_stale;
  if (!is_new && placed.no_plan_before > due) {
    due = placed.no_plan_before == Time::never()
              ? Time::never()
              : Time{(placed.no_plan_before.ns + step - 1) / step * step};
  }
  state.timers.set(TimerKind::preemption, 0, 0, due);
}

void count_ranks(State& state) {
  state.placed.guarantees = 0;
  state.placed.low_tier_tasks = 0;
  for (const Tenant& tenant : state.tenants)
    state.placed.guarantees += tenant.spec.guaranteed_gpus.value > 0 ? 1 : 0;
  for (std::uint32_t slot = 0; slot < state.tasks.slots(); ++slot) {
    const bool is_low = state.tasks.is_live(slot) && state.tasks.row(slot).tier > 0;
    state.placed.low_tier_tasks += is_low ? 1 : 0;
  }
}

}  // namespace berth::core
