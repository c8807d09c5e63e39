// Primitives over queues: who leads, is a batch ready, and where does the queue wait. See state.h.
#include <algorithm>

#include "base/assert.h"
#include "core/state/state.h"

namespace berth::core {
namespace {

void unlink_led(State& state, QueueId id) {
  Queue& queue = state.queue(id);
  if (queue.leader_flow == UINT32_MAX) return;
  Tenant& tenant = state.tenant(state.flows.flow(queue.leader_flow).tenant);
  if (queue.led_prev != UINT32_MAX) {
    state.queues[queue.led_prev].led_next = queue.led_next;
  } else {
    tenant.first_led = queue.led_next;
  }
  if (queue.led_next != UINT32_MAX) state.queues[queue.led_next].led_prev = queue.led_prev;
  queue.led_prev = queue.led_next = UINT32_MAX;
}

void link_led(State& state, QueueId id) {
  Queue& queue = state.queue(id);
  if (queue.leader_flow == UINT32_MAX) return;
  Tenant& tenant = state.tenant(state.flows.flow(queue.leader_flow).tenant);
  queue.led_next = tenant.first_led;
  if (queue.led_next != UINT32_MAX) state.queues[queue.led_next].led_prev = id.value;
  tenant.first_led = id.value;
}

// Sifts stale keys down until the top of the flow heap is exact; it then leads.
void settle_leader(State& state, QueueId id, OrderKey& leader_key) {
  Queue& queue = state.queue(id);
  std::uint32_t leader = UINT32_MAX;
  std::uint32_t head = kNoSlot;
  while (!queue.flows.empty()) {
    const auto top = queue.flows.top();
    const Flow& flow = state.flows.flow(top.handle);
    head = flow.head.slot;
    const OrderKey exact = state.rule->flow_key(state, flow, flow.head);
    if (exact == top.key) {
      leader = top.handle;
      leader_key = exact;
      break;
    }
    queue.flows.put(state.flow_positions, top.handle, exact);
  }
  if (leader != queue.leader_flow) {
    unlink_led(state, id);
    queue.leader_flow = leader;
    link_led(state, id);
  }
  queue.leader_slot = leader == UINT32_MAX ? kNoSlot : head;
}

bool batch_is_full(const State& state, QueueId id) {
  const Queue& queue = state.queue(id);
  const std::uint32_t size = queue.spec.max_batch_size;
  return queue.startable >= size && fellows_of_leader(state, id) >= size;
}

// Whether a batch may start now as far as filling goes; arms the timer if it must wait.
bool batch_is_due(State& state, QueueId id) {
  Queue& queue = state.queue(id);
  state.timers.clear(TimerKind::fill, id.value);
  if (queue.wait.ns <= 0 || queue.draining || batch_is_full(state, id)) return true;
  if (state.flows.flow(queue.leader_flow).sharing == Sharing::none) return true;
  const Time oldest = oldest_eligible(state, id);
  if (oldest <= queue.flushed_at) return true;
  const Time due = oldest + queue.wait;
  if (due <= state.now) return true;
  state.timers.set(TimerKind::fill, id.value, id.value, due);
  return false;
}

// How many tasks must be startable for another copy of the model to pay: the backlog then outlasts
// two loads on the copies there are. Copies where nothing may start do not count.
std::uint32_t copy_pays_from(const Queue& queue, const Model& model) {
  if (model.resident_open == 0 || queue.wants_copy) return 0;
  const std::int64_t size = queue.spec.max_batch_size;
  const Duration each = predict_batch(queue, size, Duration{0}, kWholeGpu);
  if (each.ns <= 0) return UINT32_MAX;
  const Wide loads_worth = Wide{2} * predict_load(model).ns / each.ns;
  const Wide tasks = (loads_worth * model.resident_open + 1) * size;
  return static_cast<std::uint32_t>(std::min<Wide>(tasks, UINT32_MAX));
}

struct Seat {
  Bench bench = Bench::none;
  HeadShape shape;
  std::int64_t need = 0;
  bool operator==(const Seat&) const = default;
};

// Also says from how many startable tasks on the answer may be another.
Seat place_for(const State& state, const Queue& queue, std::uint32_t& wake_at) {
  wake_at = UINT32_MAX;
  if (!queue.ready) {
    wake_at = queue.spec.max_batch_size;
    return {};
  }
  const Head& head = state.flows.flow(queue.leader_flow).head;
  const HeadShape shape{head.share};
  if (!queue.spec.model) return {Bench::shape, shape, head.vram};
  if (queue.declined_at > 0) wake_at = 2 * queue.declined_at;
  const Model& model = state.model(queue.spec.model);
  const auto most = model.fit.most(Milli{head.share}, state.policy.gpu_load_threshold);
  if (most && most->value >= head.vram) return {Bench::hot, {}, 0};
  if (model.loading > 0) return {};
  // Resident where there is compute but too little VRAM: idle neighbours may have to go.
  const std::uint32_t pays_from = most ? 0 : copy_pays_from(queue, model);
  if (queue.declined_at == 0) wake_at = pays_from;
  if (queue.startable < wake_at) return {};
  wake_at = UINT32_MAX;
  return {Bench::cold, shape, model.spec.weights.value + head.vram};
}

void leave_bench(State& state, QueueId id) {
  Queue& queue = state.queue(id);
  switch (queue.bench) {
    case Bench::none:
      break;
    case Bench::hot:
      state.hot.erase(state.bench_positions, id.value);
      break;
    case Bench::shape:
      state.shapes[queue.bench_shape].erase(state.bench_positions, id.value, queue.bench_need);
      break;
    case Bench::cold:
      state.cold[queue.bench_shape].erase(state.bench_positions, id.value, queue.bench_need);
      break;
  }
  queue.bench = Bench::none;
}

void take_bench(State& state, QueueId id, const Seat& place) {
  Queue& queue = state.queue(id);
  queue.bench = place.bench;
  queue.bench_shape = place.shape;
  queue.bench_need = place.need;
  switch (place.bench) {
    case Bench::none:
      break;
    case Bench::hot:
      state.hot.put(state.bench_positions, id.value, queue.key);
      break;
    case Bench::shape:
      state.shapes[place.shape].insert(state.bench_positions, id.value, place.need, queue.key);
      break;
    case Bench::cold:
      state.cold[place.shape].insert(state.bench_positions, id.value, place.need, queue.key);
      break;
  }
}

// A queue whose copies are all busy considers another when that has lasted as long as a load.
void watch_copies(State& state, QueueId id) {
  Queue& queue = state.queue(id);
  const bool may_wait = queue.ready && queue.spec.model;
  if (!may_wait || state.model(queue.spec.model).loading > 0) return clear_copy(state, id);
  const bool is_stuck = queue.bench == Bench::none && queue.declined_at == 0;
  if (!is_stuck || queue.copy_at != Time::never()) return;
  queue.copy_at = state.now + predict_load(state.model(queue.spec.model));
  state.timers.set(TimerKind::copy, id.value, id.value, queue.copy_at);
}

Milli use_of(const Head& head) { return Milli{head.share * head.gpus}; }

// What the queue uses is part of whether its placed work may start, or of where it stands.
void refresh_placed(State& state, const Queue& queue) {
  const bool matters =
      queue.spec.max_gpus || queue.spec.min_gpus.value > 0 || state.rule->key_follows_queue;
  if (queue.placed_flows == 0 || !matters) return;
  for (const std::uint32_t flow : queue.members) {
    const bool is_placed = state.flows.flow(flow).shape != kNoSlot;
    if (is_placed && state.flows.flow(flow).live > 0) refresh_flow(state, flow);
  }
}

}  // namespace

bool queue_allows(const Queue& queue, Milli use) {
  return !queue.spec.max_gpus || queue.in_use + use <= *queue.spec.max_gpus;
}

std::uint32_t fellows_of_leader(const State& state, QueueId id) {
  const Queue& queue = state.queue(id);
  const Flow& leader = state.flows.flow(queue.leader_flow);
  if (leader.sharing == Sharing::all) return queue.startable - queue.startable_apart;
  if (leader.sharing == Sharing::none) return 1;
  std::uint32_t own = 0;
  for (std::uint8_t tier = 0; tier < kTiers; ++tier) {
    for (const bool commands : {false, true}) {
      const std::uint32_t found = state.flows.find({tier, leader.tenant, id, commands});
      if (found == kNoSlot) continue;
      const Flow& flow = state.flows.flow(found);
      if (flow.competes && flow.sharing == Sharing::tenant) own += flow.live;
    }
  }
  return own;
}

std::uint32_t next_batch_size(const State& state, QueueId id) {
  return std::min(fellows_of_leader(state, id), state.queue(id).spec.max_batch_size);
}

bool readiness_follows_leader(const Queue& queue) {
  return queue.spec.max_gpus.has_value() || (queue.startable_apart > 0 && queue.wait.ns > 0);
}

Time oldest_eligible(const State& state, QueueId id) {
  const Queue& queue = state.queue(id);
  return queue.oldest.empty() ? Time::never() : Time{queue.oldest.top().key.eligible_ns};
}

void clear_due(State& state, QueueId id) {
  Queue& queue = state.queue(id);
  if (queue.due == Time::never()) return;
  if (queue.overdue) state.overdue.erase({queue.due, id});
  state.timers.clear(TimerKind::patience, id.value);
  queue.due = Time::never();
  queue.overdue = false;
  // After failed loads nothing but the due instant would have asked again.
  if (queue.declined_at > 0 && queue.declined.code == ReasonCode::load_failed) {
    queue.declined_at = 0;
    state.declined.erase(id);
  }
}

void set_model(State& state, QueueId id, ModelId model) {
  Queue& queue = state.queue(id);
  const ModelId before = queue.spec.model;
  queue.next_model = ModelId::none();
  if (before == model) return;
  clear_copy(state, id);
  if (before) {
    Model& old = state.model(before);
    old.backlog -= queue.startable;
    std::erase(old.queues, id);
  }
  queue.spec.model = model;
  if (model) {
    Model& now = state.model(model);
    now.backlog += queue.startable;
    now.queues.insert(std::lower_bound(now.queues.begin(), now.queues.end(), id), id);
  }
  if (!state.rule->key_follows_queue || state.last_served != id) return;
  // The order may follow the model served last.
  if (before) refresh_queues_of(state, before);
  if (model) refresh_queues_of(state, model);
}

void count_gang(State& state, QueueId id, int sign) {
  Queue& queue = state.queue(id);
  queue.gangs += static_cast<std::uint32_t>(sign);
  if (queue.gangs > 0 || !queue.next_model) return;
  set_model(state, id, queue.next_model);
  refresh_queue(state, id);
}

void clear_copy(State& state, QueueId id) {
  Queue& queue = state.queue(id);
  if (queue.copy_at == Time::never()) return;
  state.timers.clear(TimerKind::copy, id.value);
  queue.copy_at = Time::never();
  queue.wants_copy = false;
}

void wake_declined(State& state) {
  QueueId best;
  QueueId best_failed;  // it may be woken for nothing, and keeps no other from its turn
  for (const QueueId id : state.declined) {
    if (Queue& queue = state.queue(id); queue.blocked) {
      OrderKey leader_key;
      settle_leader(state, id, leader_key);
      queue.key = state.rule->queue_key(state, queue, leader_key);
    }
    const bool has_failed = state.queue(id).declined.code == ReasonCode::load_failed;
    QueueId& first = has_failed ? best_failed : best;
    if (!first || state.queue(id).key < state.queue(first).key) first = id;
  }
  for (const QueueId woken : {best, best_failed}) {
    if (!woken) continue;
    state.queue(woken).declined_at = 0;
    state.declined.erase(woken);
    refresh_queue(state, woken);
  }
}

void note_passed_over(State& state, const OrderKey& key, QueueId served) {
  if (served) state.turn.erase(state.turn_positions, served.value);
  while (!state.turn.empty() && state.turn.top().key < key) {
    const QueueId passed{state.turn.top().handle};
    Queue& queue = state.queue(passed);
    if (queue.blocked) {
      OrderKey leader_key;
      settle_leader(state, passed, leader_key);
      queue.key = state.rule->queue_key(state, queue, leader_key);
    }
    if (state.turn.top().key < queue.key) {  // a lower bound: charged since
      state.turn.put(state.turn_positions, passed.value, queue.key);
      continue;
    }
    state.turn.erase(state.turn_positions, passed.value);
    queue.due = state.now + state.policy.patience;
    state.timers.set(TimerKind::patience, passed.value, passed.value, queue.due);
  }
}

void refresh_queue(State& state, QueueId id) {
  Queue& queue = state.queue(id);
  OrderKey leader_key;
  settle_leader(state, id, leader_key);
  const bool may_start = queue.leader_slot != kNoSlot && !queue.paused &&
                         queue_allows(queue, use_of(state.flows.flow(queue.leader_flow).head));
  const OrderKey old_key = queue.key;
  queue.ready = may_start && batch_is_due(state, id);
  if (!may_start) state.timers.clear(TimerKind::fill, id.value);
  if (queue.ready) {
    queue.key = state.rule->queue_key(state, queue, leader_key);
  } else {
    clear_due(state, id);
  }
  if (queue.declined_at > 0 && (!queue.ready || queue.startable >= 2 * queue.declined_at)) {
    queue.declined_at = 0;
    state.declined.erase(id);
  }

  const Seat place = place_for(state, queue, queue.wake_at);
  const bool moved = place != Seat{queue.bench, queue.bench_shape, queue.bench_need};
  if (moved || (queue.ready && queue.key != old_key)) {
    leave_bench(state, id);
    take_bench(state, id, place);
  }

  watch_copies(state, id);
  queue.blocked = queue.ready && place.bench == Bench::none && !queue.overdue &&
                  state.model(queue.spec.model).fit.empty() && !readiness_follows_leader(queue);
  const bool is_loading = queue.spec.model && state.model(queue.spec.model).loading > 0;
  if (queue.ready && queue.due == Time::never() && !is_loading) {
    state.turn.put(state.turn_positions, id.value, queue.key);
  } else {
    state.turn.erase(state.turn_positions, id.value);
  }
  refresh_placed(state, queue);
}

void refresh_queue_key(State& state, QueueId id) {
  Queue& queue = state.queue(id);
  if (queue.blocked) return;
  const std::uint32_t leader = queue.leader_flow;
  OrderKey leader_key;
  settle_leader(state, id, leader_key);
  if (queue.leader_flow != leader) return refresh_queue(state, id);
  if (!queue.ready) return;
  // The same head with a later key: only its place among others moves.
  queue.key = state.rule->queue_key(state, queue, leader_key);
  if (queue.bench == Bench::hot) {
    state.hot.put(state.bench_positions, id.value, queue.key);
  } else if (queue.bench != Bench::none) {
    const Seat place{queue.bench, queue.bench_shape, queue.bench_need};
    leave_bench(state, id);
    take_bench(state, id, place);
  }
}

void refresh_queues_of(State& state, ModelId model) {
  for (const QueueId queue : state.model(model).queues)
    refresh_queue(state, queue);
}

}  // namespace berth::core
