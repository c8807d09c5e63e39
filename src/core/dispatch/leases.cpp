// The life of a lease: start, further charges, end. See dispatch.h.
#include <algorithm>

#include "base/assert.h"
#include "core/dispatch/dispatch.h"
#include "core/model/price.h"

namespace berth::core {
namespace {

// Nothing of the task's attempt in this lease runs any more. By now the task may have ended, or be
// held or doomed.
void take_back(State& state, TaskNo task, std::uint32_t lease) {
  const std::uint32_t slot = state.tasks.slot_of(task);
  if (slot == kNoSlot) return;
  TaskRow& row = state.tasks.row(slot);
  if (row.lease != lease) return;
  row.lease = kNoSlot;
  if (row.held != ReasonCode::none || state.ripe.contains(task)) return;
  row.state = TaskState::pending;
  arm_task_timer(state, slot);
  enter_flow(state, slot);
}

std::uint32_t take_lease_slot(State& state) {
  if (state.free_leases.empty()) {
    state.leases.emplace_back();
    return static_cast<std::uint32_t>(state.leases.size() - 1);
  }
  const std::uint32_t slot = state.free_leases.back();
  state.free_leases.pop_back();
  return slot;
}

BatchPrice price_of_lease(const Lease& lease) { return {lease.rate, lease.load_us, lease.parts}; }

// The tasks leave their flows for the lease.
void move_tasks(State& state, std::uint32_t lease_slot, const BatchStarted& batch) {
  Lease& lease = state.leases[lease_slot];
  const auto count = static_cast<std::int64_t>(batch.tasks.size());
  const std::int64_t use = batch.share.value * static_cast<std::int64_t>(batch.gpus.size());
  lease.tasks.clear();
  lease.tasks.reserve(batch.tasks.size());
  lease.parts = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const StartedTask& started = batch.tasks[static_cast<std::size_t>(i)];
    const std::uint32_t slot = state.tasks.slot_of(started.task);
    ASSERT(slot != kNoSlot);
    TaskRow& row = state.tasks.row(slot);
    // Recorded by behaviour 4 and before: a stopped task could start beside its last attempt.
    if (row.state == TaskState::waiting && row.lease != kNoSlot) {
      take_back(state, started.task, row.lease);
    }
    ASSERT(row.state == TaskState::pending && row.queue == batch.queue);
    leave_flow(state, slot);
    row.state = TaskState::starting;
    row.lease = lease_slot;
    // Behaviour 6 and before gave the number of an attempt that did not count again.
    row.starts = std::max(row.starts + 1, started.attempt);
    ++row.attempts;
    row.started = true;
    if (row.expires != Time::never()) {
      row.expires = Time::never();
      state.timers.clear(TimerKind::task, slot);
    }
    count_queued(state, row, -1);
    LeaseTask task;
    task.task = started.task;
    task.slot = slot;
    task.tenant = row.tenant;
    task.part = started.part;
    lease.parts += started.part;
    task.charged_us = started.charge_us;
    task.use = Milli{use * (i + 1) / count - use * i / count};
    lease.tasks.push_back(task);
  }
  lease.live = static_cast<std::uint32_t>(count);
}

void take_slices(State& state, std::uint32_t lease_slot, const BatchStarted& batch) {
  for (const GpuId id : batch.gpus) {
    Gpu& gpu = state.gpu(id);
    gpu.shares += batch.share;
    gpu.leases.push_back(lease_slot);
    if (batch.instance) {
      take_instance(state, id, *batch.instance);
    } else {
      gpu.leased += batch.vram;
    }
    if (batch.model) {
      Residence* residence = find_residence(gpu, batch.model);
      ASSERT(residence != nullptr && !residence->loading);
      if (residence->leases++ == 0) gpu.weights_busy += residence->weights;
      residence->used = true;
      residence->owed = Duration{0};
    }
    ASSERT(free_vram(gpu).value >= 0);
    refresh_gpu(state, id);
  }
  if (batch.node) state.node(batch.node).leases.push_back(lease_slot);
  use_nodes(state, state.leases[lease_slot], 1);
  plan_start(state, state.leases[lease_slot]);
}

void give_slices(State& state, std::uint32_t lease_slot, GpuId id) {
  const Lease& lease = state.leases[lease_slot];
  Gpu& gpu = state.gpu(id);
  gpu.shares -= lease.share;
  std::erase(gpu.leases, lease_slot);
  if (lease.instance) return give_instance(state, id, *lease.instance);
  gpu.leased -= lease.vram;
  if (!lease.model) return;
  Residence* residence = find_residence(gpu, lease.model);
  if (residence == nullptr || residence->loading) return;  // the GPU was lost meanwhile
  if (--residence->leases == 0) {
    gpu.weights_busy -= residence->weights;
    residence->idle_since = state.now;
    const Time look = state.now + keep_alive_step(state.model(lease.model));
    if (look < state.timers.due_of(TimerKind::keep_alive, id.value)) {
      arm_keep_alive(state, id);
    }
  }
}

// What a lease means to one tenant, summed over its tasks.
void sum_up(std::vector<TenantShare>& sums, const LeaseTask& task, std::int64_t charge_us) {
  const auto known = std::find_if(
      sums.begin(), sums.end(), [&](const TenantShare& sum) { return sum.tenant == task.tenant; });
  TenantShare& sum =
      known != sums.end() ? *known : sums.emplace_back(TenantShare{task.tenant, 0, Milli{0}});
  sum.charge_us += charge_us;
  sum.use += task.use;
  sum.v_rate = task.v_rate;
}

// In the tree a tenant's effective weight moves with who is active; what is given back later must
// be worth what it was when it was taken.
void note_rate(const State& state, Lease& lease, TenantId tenant) {
  const std::int64_t rate = over_weight(state, tenant, kRateUnit);
  for (LeaseTask& task : lease.tasks) {
    if (task.tenant == tenant) task.v_rate = rate;
  }
}

// Each tenant once, in order of first appearance: what it is charged, and what it uses more
// (sign 1) or less (−1) from now on.
void settle_tenants(State& state, Lease& lease, int use_sign, auto charge_of) {
  std::vector<TenantShare>& sums = state.share_scratch;
  sums.clear();
  for (const LeaseTask& task : lease.tasks)
    sum_up(sums, task, charge_of(task));
  for (const TenantShare& sum : sums) {
    if (sum.charge_us > 0) {
      if (state.tenant(sum.tenant).in_tree) note_rate(state, lease, sum.tenant);
      charge(state, sum.tenant, sum.charge_us);
    } else if (sum.charge_us < 0) {
      refund(state, sum.tenant, -sum.charge_us, sum.v_rate);
    }
    if (use_sign != 0) change_in_use(state, sum.tenant, Milli{use_sign * sum.use.value});
  }
}

// Orders that follow the queue or model served last see that it is another.
void refresh_served(State& state, QueueId queue) {
  const ModelId model = state.queue(queue).spec.model;
  if (model) {
    refresh_queues_of(state, model);
  } else {
    refresh_queue(state, queue);
  }
}

}  // namespace

void start_batch(State& state, const BatchStarted& batch) {
  Queue& queue = state.queue(batch.queue);
  const std::uint32_t leader_slot = state.tasks.slot_of(batch.tasks.front().task);
  const TaskRow& leader = state.tasks.row(leader_slot);
  state.v_last_pick[leader.tier] = state.tenant(leader.tenant).v_us;
  if (leader.shape != kNoSlot) {
    const OrderKey key =
        state.rule->flow_key(state, state.flows.flow(leader.flow), head_from(leader, leader_slot));
    note_passed_over(state, state.rule->placed_key(state, queue, key), QueueId::none());
  } else {
    note_passed_over(state, queue.key, batch.queue);
    clear_due(state, batch.queue);
    clear_copy(state, batch.queue);
  }

  ASSERT(batch.lease.value == state.next_lease);
  ++state.next_lease;
  const std::uint32_t slot = take_lease_slot(state);
  Lease& lease = state.leases[slot];
  lease.id = batch.lease;
  lease.queue = batch.queue;
  lease.model = batch.model;
  lease.share = batch.share;
  lease.vram = batch.vram;
  lease.gpus = batch.gpus;
  lease.node = batch.node;
  lease.asked = static_cast<std::uint16_t>(batch.gpus.size());
  lease.cpu = batch.cpu;
  lease.memory = batch.memory;
  lease.instance = batch.instance;
  lease.running = false;
  lease.preempted = false;
  lease.started = state.now;
  lease.expected = batch.expected;
  lease.charged = first_quantum(batch.expected);
  lease.rate = batch.rate;
  lease.load_us = batch.load_us;
  state.lease_index.insert(batch.lease.value, slot);
  count_running(state, lease, 1);
  move_tasks(state, slot, batch);

  queue.in_use += Milli{batch.share.value * static_cast<std::int64_t>(batch.gpus.size())};
  queue.turn = state.next_turn++;
  ++queue.batches;
  const QueueId served_before = state.last_served;
  state.last_served = batch.queue;

  // The flows are consistent again before anyone looks at them, each refreshed once.
  std::vector<std::uint32_t>& flows = state.flow_scratch;
  flows.clear();
  for (const LeaseTask& task : lease.tasks) {
    const std::uint32_t flow = state.tasks.row(task.slot).flow;
    if (std::find(flows.begin(), flows.end(), flow) == flows.end()) flows.push_back(flow);
  }
  for (const std::uint32_t flow : flows)
    refresh_flow(state, flow);
  refresh_queue(state, batch.queue);
  if (state.rule->key_follows_queue) {
    if (served_before) refresh_served(state, served_before);
    refresh_served(state, batch.queue);
  }
  for (const std::uint32_t flow : flows)
    forget_if_idle(state, flow);
  release_keeps(state, batch.tasks.front().task);
  take_slices(state, slot, batch);
  settle_tenants(state, lease, 1, [](const LeaseTask& task) { return task.charged_us; });
  state.timers.set(TimerKind::lease, slot, lease.id.value, next_charge_at(lease));
}

Duration next_quantum(const Lease& lease) {
  // What was expected is never overshot: until it is late, it is counted on to end then.
  if (lease.charged < lease.expected) {
    return std::min(lease.expected - lease.charged, kLongestQuantum);
  }
  const std::int64_t least = milliseconds(1).ns;
  return Duration{std::clamp(lease.charged.ns, least, kLongestQuantum.ns)};
}

void charge_quantum(State& state, const LeaseCharged& charged) {
  const std::uint32_t slot = find_lease(state, charged.lease);
  ASSERT(slot != kNoSlot);
  Lease& lease = state.leases[slot];
  const Time end = planned_end(lease);
  lease.charged = lease.charged + charged.quantum;
  plan_move_end(state, lease, end);
  const BatchPrice price = price_of_lease(lease);
  settle_tenants(state, lease, 0, [&](const LeaseTask& task) {
    return share_of(price, lease.charged, task.part) - task.charged_us;
  });
  for (LeaseTask& task : lease.tasks)
    task.charged_us = share_of(price, lease.charged, task.part);
  state.timers.set(TimerKind::lease, slot, lease.id.value, next_charge_at(lease));
}

void close_lease(State& state, const LeaseClosed& closed) {
  const std::uint32_t slot = find_lease(state, closed.lease);
  ASSERT(slot != kNoSlot);
  Lease& lease = state.leases[slot];
  ASSERT(lease.live == 0);
  state.lease_index.erase(closed.lease.value);
  state.timers.clear(TimerKind::lease, slot);
  count_running(state, lease, -1);

  Queue& queue = state.queue(lease.queue);
  const auto count = static_cast<std::int64_t>(lease.tasks.size());
  const bool was_lost = closed.ran.ns == 0;
  if (!was_lost && lease.gpus.size() == 1) {
    const Milli speed = speed_on(state, queue, lease.gpus.front());
    queue.batch_time.add(count, Duration{scale(closed.ran.ns, speed.value, 1000)});
    if (lease.model) {
      Model& model = state.model(lease.model);
      model.computing_time = model.computing_time + closed.ran;
    }
  }

  const BatchPrice price = price_of_lease(lease);
  settle_tenants(state, lease, -1, [&](const LeaseTask& task) {
    const std::int64_t owed = was_lost ? 0 : share_of(price, closed.ran, task.part);
    return owed - task.charged_us;
  });
  queue.in_use -= Milli{lease.share.value * static_cast<std::int64_t>(lease.gpus.size())};
  plan_finish(state, lease);
  use_nodes(state, lease, -1);
  if (lease.node) std::erase(state.node(lease.node).leases, slot);
  for (const GpuId gpu : lease.gpus)
    give_slices(state, slot, gpu);
  refresh_queue(state, lease.queue);
  for (const GpuId gpu : lease.gpus)
    refresh_gpu(state, gpu);
  const bool frees_room = !lease.model || state.model(lease.model).backlog == 0;
  lease.id = LeaseId::none();
  for (const LeaseTask& task : lease.tasks) {
    if (task.stopping) take_back(state, task.task, slot);
  }
  state.free_leases.push_back(slot);
  if (frees_room) wake_declined(state);
}

void lose_slice(State& state, std::uint32_t slot, GpuId id) {
  Lease& lease = state.leases[slot];
  give_slices(state, slot, id);
  state.queue(lease.queue).in_use -= lease.share;
  use_nodes(state, lease, -1);
  plan_finish(state, lease, id);
  std::erase(lease.gpus, id);
  use_nodes(state, lease, 1);
  refresh_queue(state, lease.queue);
}

}  // namespace berth::core
