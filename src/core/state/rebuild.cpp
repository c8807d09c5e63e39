// Every index from the tables alone. See state.h.
//
// Because all keys are totally ordered, the rebuilt indexes answer every question as the old ones
// did, whatever their history was.
#include <algorithm>
#include <tuple>

#include "base/assert.h"
#include "core/state/state.h"

namespace berth::core {
namespace {

void forget_flows(State& state) {
  for (std::uint32_t flow = 0; flow < state.flows.size(); ++flow) {
    const Flow& placed = state.flows.flow(flow);
    if (placed.shape != kNoSlot) state.shape_table.drop(placed.shape);
  }
  state.placed = PlacedWork{};
  for (Node& node : state.nodes)
    node.dirty = false;
  state.flows = FlowTable{};
  state.competing = {};
  state.competing_positions = {};
  state.flow_positions = HeapPositions{};
  state.oldest_positions = HeapPositions{};
  for (Tenant& tenant : state.tenants) {
    tenant.pending = 0;
    tenant.competing = {};
    tenant.heads_by_use = OrderedSet{};
    tenant.flows.clear();
    tenant.first_led = UINT32_MAX;
  }
  for (Model& model : state.models) {
    model.backlog = 0;
    model.gpus.clear();
    model.resident_open = 0;
    model.fit = empty_fit_index(state);
  }
}

void forget_queues(State& state) {
  state.turn_positions = HeapPositions{};
  state.bench_positions = HeapPositions{};
  state.turn = {};
  state.hot = {};
  state.shapes.clear();
  state.cold.clear();
  state.overdue.clear();
  state.declined.clear();
  state.holding.clear();
  for (Queue& queue : state.queues) {
    queue.pending = 0;
    queue.startable = 0;
    queue.startable_apart = 0;
    queue.pending_work_us = 0;
    queue.running = RunningSum{};
    queue.members.clear();
    queue.placed_flows = 0;
    queue.flows = {};
    queue.oldest = {};
    queue.leader_flow = queue.leader_slot = UINT32_MAX;
    queue.led_prev = queue.led_next = UINT32_MAX;
    queue.ready = false;
    queue.key = OrderKey{};
    queue.bench = Bench::none;
    queue.bench_shape = HeadShape{};
    queue.bench_need = 0;
  }
}

void forget_gpus(State& state) {
  state.usable = state.accepting = state.holdable = OrderedSet{};
  state.free_fit = empty_fit_index(state);
  state.reclaim_fit = empty_fit_index(state);
  for (Node& node : state.nodes)
    node.gpus.clear();
  for (std::uint32_t i = 0; i < state.gpus.size(); ++i) {
    Gpu& gpu = state.gpus[i];
    gpu.indexed = false;
    gpu.mig_entry.reset();
    node_for(state, gpu.spec.node).gpus.push_back(GpuId{i});
    set_usable(state, GpuId{i}, usable_part(state, gpu.spec.vram));
    for (const Residence& residence : gpu.residences) {
      Model& model = state.model(residence.model);
      model.gpus.push_back(GpuId{i});
      if (is_open(gpu) && !residence.loading) ++model.resident_open;
    }
  }
}

void count_leases(State& state) {
  state.running = RunningSum{};
  for (const Lease& lease : state.leases) {
    if (lease.id) count_running(state, lease, 1);
  }
}

void fill_flows(State& state) {
  std::vector<std::uint32_t> pending;
  for (std::uint32_t slot = 0; slot < state.tasks.slots(); ++slot) {
    if (!state.tasks.is_live(slot)) continue;
    state.tasks.row(slot).flow = kNoSlot;
    if (state.tasks.row(slot).state == TaskState::pending) pending.push_back(slot);
  }
  const auto comes_before = [&](std::uint32_t a, std::uint32_t b) {
    const TaskRow& left = state.tasks.row(a);
    const TaskRow& right = state.tasks.row(b);
    return std::tie(left.eligible, left.no) < std::tie(right.eligible, right.no);
  };
  // Mostly they are in order already: slots are given out as tasks come.
  if (!std::is_sorted(pending.begin(), pending.end(), comes_before)) {
    std::sort(pending.begin(), pending.end(), comes_before);
  }
  for (const std::uint32_t slot : pending)
    put_in_flow(state, slot);
  for (std::uint32_t flow = 0; flow < state.flows.size(); ++flow)
    restore_flow(state, flow);
}

void set_timers(State& state) {
  state.timers = Timers{};
  for (std::uint32_t slot = 0; slot < state.tasks.slots(); ++slot) {
    if (state.tasks.is_live(slot)) arm_task_timer(state, slot);
  }
  for (std::uint32_t slot = 0; slot < state.leases.size(); ++slot) {
    const Lease& lease = state.leases[slot];
    if (!lease.id) continue;
    state.timers.set(TimerKind::lease, slot, lease.id.value, next_charge_at(lease));
  }
  for (std::uint32_t i = 0; i < state.gpus.size(); ++i)
    arm_keep_alive(state, GpuId{i});
  if (state.rule->key_follows_usage) {
    for (std::uint32_t i = 0; i < state.tenants.size(); ++i)
      arm_usage_timer(state, TenantId{i});
  }
}

void restore_patience(State& state) {
  for (std::uint32_t i = 0; i < state.queues.size(); ++i) {
    const Queue& queue = state.queues[i];
    const QueueId id{i};
    if (queue.declined_at > 0) state.declined.insert(id);
    if (!queue.holds.empty()) state.holding.insert(id);
    if (!queue.wants_copy) state.timers.set(TimerKind::copy, i, i, queue.copy_at);
    if (queue.due == Time::never()) continue;
    if (queue.overdue) {
      state.overdue.insert({queue.due, id});
    } else {
      state.timers.set(TimerKind::patience, i, i, queue.due);
    }
  }
}

}  // namespace

void rebuild_indexes(State& state) {
  ASSERT(state.rule != nullptr);
  forget_flows(state);
  rebuild_tree(state);
  forget_queues(state);
  forget_gpus(state);
  set_timers(state);
  restore_patience(state);
  count_leases(state);
  fill_flows(state);
  for (std::uint32_t i = 0; i < state.gpus.size(); ++i)
    index_gpu(state, GpuId{i});
  if (state.shape_table.live() > 0) keep_cells(state);
  for (std::uint32_t i = 0; i < state.queues.size(); ++i)
    refresh_queue(state, QueueId{i});
  count_ranks(state);
  arm_preemption(state);
}

void rebuild_links(State& state) {
  std::vector<std::uint32_t> slots;
  for (std::uint32_t slot = 0; slot < state.tasks.slots(); ++slot) {
    if (state.tasks.is_live(slot) && state.tasks.find_extra(slot) != nullptr) slots.push_back(slot);
  }
  std::sort(slots.begin(), slots.end(), [&](std::uint32_t a, std::uint32_t b) {
    return state.tasks.row(a).no < state.tasks.row(b).no;
  });
  for (const std::uint32_t slot : slots) {
    const TaskNo no = state.tasks.row(slot).no;
    rejoin_group(state, slot);
    if (state.tasks.row(slot).unresolved == 0) continue;
    const std::vector<Dependency> depends_on = state.tasks.extra_of(slot).depends_on;
    for (const Dependency& dependency : depends_on) {
      if (dependency.kind == Dependency::Kind::signal) {
        Signal& signal = state.signals[SignalId{dependency.id}];
        if (!signal.resolved) signal.waiters.push_back(no);
      } else if (const std::uint32_t on = state.tasks.slot_of(TaskNo{dependency.id});
                 on != kNoSlot) {
        state.tasks.add_dependant(on, no);
      }
    }
  }
}

}  // namespace berth::core
