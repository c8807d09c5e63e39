// Checks leader, readiness, bench, turn, patience and holds of the queues. See check.h.
#include <algorithm>
#include <map>
#include <set>

#include "core/state/check.h"

namespace berth::core {
namespace {

// What follows for a queue from its flows, its counters and the GPUs.
struct DerivedQueue {
  std::uint32_t leader = UINT32_MAX;
  OrderKey leader_key;
  Head head;
  Time oldest = Time::never();
  bool may_start = false;
  Time fills_at = Time::never();  // never: full, flushed, or waiting for nothing
};

// Whether as many tasks as a batch takes may share the leader's.
bool batch_is_full(const State& state, QueueId id, const DerivedQueue& derived,
                   const std::vector<DerivedFlow>& flows) {
  const TenantId leader = state.flows.flow(derived.leader).tenant;
  const auto is_lone = [&](const Flow& flow) {
    return flow.commands && !state.queue(id).spec.batch_commands;
  };
  if (is_lone(state.flows.flow(derived.leader))) return true;
  std::uint32_t fellows = 0;
  for (std::uint32_t i = 0; i < flows.size(); ++i) {
    const Flow& flow = state.flows.flow(i);
    if (flow.queue != id || !flows[i].startable || flow.shape != kNoSlot) continue;
    if (is_lone(flow)) continue;
    const bool shares = state.tenant(leader).spec.isolation == Isolation::none &&
                        state.tenant(flow.tenant).spec.isolation == Isolation::none;
    if (flow.tenant == leader || shares) fellows += flows[i].live;
  }
  return fellows >= state.queue(id).spec.max_batch_size;
}

DerivedQueue derive_queue(const State& state, QueueId id, const std::vector<DerivedFlow>& flows) {
  const Queue& queue = state.queue(id);
  DerivedQueue derived;
  for (std::uint32_t flow = 0; flow < flows.size(); ++flow) {
    const bool is_placed = state.flows.flow(flow).shape != kNoSlot;
    if (state.flows.flow(flow).queue != id || !flows[flow].startable || is_placed) continue;
    derived.oldest = std::min(derived.oldest, flows[flow].oldest);
    if (derived.leader != UINT32_MAX && derived.leader_key < flows[flow].key) continue;
    derived.leader = flow;
    derived.leader_key = flows[flow].key;
    derived.head = flows[flow].head;
  }
  if (derived.leader == UINT32_MAX) return derived;
  const std::int64_t use = queue.in_use.value + derived.head.share * derived.head.gpus;
  derived.may_start = !queue.paused && (!queue.spec.max_gpus || use <= queue.spec.max_gpus->value);
  const bool fills = queue.wait.ns > 0 && !queue.draining && derived.oldest > queue.flushed_at &&
                     !batch_is_full(state, id, derived, flows);
  if (fills) derived.fills_at = derived.oldest + queue.wait;
  return derived;
}

// Of a blocked queue the leader may be stale and its key a lower bound.
void check_leader(const State& state, QueueId id, const DerivedQueue& derived, Findings& findings) {
  const Queue& queue = state.queue(id);
  const bool knows_key = queue.ready && derived.leader != UINT32_MAX;
  const OrderKey key =
      knows_key ? state.rule->queue_key(state, queue, derived.leader_key) : OrderKey{};
  if (queue.blocked) {
    findings.must(!knows_key || queue.key <= key, "the key ", queue.key, " of the blocked queue ",
                  id, " is above the exact one ", key);
    return;
  }
  findings.same(queue.leader_flow, derived.leader, "leading flow of queue ", id);
  findings.same(queue.leader_slot, derived.head.slot, "leading slot of queue ", id);
  if (knows_key) findings.same(queue.key, key, "key of queue ", id);
  if (queue.flows.empty()) return;
  const auto& top = queue.flows.top();
  findings.must(top.handle == derived.leader && top.key == derived.leader_key,
                "the top of the flows of queue ", id, " is flow ", top.handle, " with ", top.key,
                ", derived flow ", derived.leader, " with ", derived.leader_key);
}

// Whether every GPU that holds the model is closed to any batch now.
bool no_gpu_takes(const State& state, ModelId model) {
  for (const Gpu& gpu : state.gpus) {
    if (!gpu.up || gpu.draining || gpu.held_for || gpu.kept_for) continue;
    if (gpu.spec.mig != mig::Geometry::none || gpu.slices.used != 0) continue;
    if (gpu.leased + gpu.weights > gpu.usable) continue;
    const Milli load = std::max(gpu.shares, gpu.reported);
    if (!gpu.leases.empty() && load >= state.policy.gpu_load_threshold) continue;
    for (const Residence& residence : gpu.residences) {
      if (residence.model == model && !residence.loading) return false;
    }
  }
  return true;
}

void check_readiness(const State& state, QueueId id, const DerivedQueue& derived,
                     Findings& findings) {
  const Queue& queue = state.queue(id);
  check_leader(state, id, derived, findings);
  if (!queue.spec.adaptive_wait) {
    findings.same(queue.wait, queue.spec.max_batch_wait, "batch wait of queue ", id);
  }
  findings.must(queue.wait.ns >= 0 && queue.wait <= queue.spec.max_batch_wait, "queue ", id,
                " waits ", queue.wait, " for batches, at most ", queue.spec.max_batch_wait);

  const Time timer = state.timers.due_of(TimerKind::fill, id.value);
  const bool fills = derived.may_start && derived.fills_at != Time::never();
  // A timer that is due may not have fired yet.
  const bool filling = fills && (derived.fills_at > state.now || timer == derived.fills_at);
  if (!queue.blocked) {
    findings.same(queue.ready, derived.may_start && !filling, "whether queue ", id, " is ready");
    findings.same(timer, filling ? derived.fills_at : Time::never(), "fill timer of queue ", id);
  }
  const bool is_blocked = queue.ready && queue.bench == Bench::none && !queue.overdue &&
                          queue.spec.model && no_gpu_takes(state, queue.spec.model) &&
                          !queue.spec.max_gpus &&
                          (queue.startable_apart == 0 || queue.wait.ns <= 0);
  findings.same(queue.blocked, is_blocked, "whether queue ", id, " is blocked");
}

bool head_fits_hot(const State& state, const Queue& queue, const Head& head) {
  const std::int64_t threshold = state.policy.gpu_load_threshold.value;
  for (const Gpu& gpu : state.gpus) {
    if (!gpu.up || gpu.draining || gpu.held_for || gpu.kept_for) continue;
    if (gpu.spec.mig != mig::Geometry::none || gpu.slices.used != 0) continue;
    const std::int64_t left = gpu.usable.value - gpu.leased.value - gpu.weights.value;
    const std::int64_t load = std::max(gpu.shares.value, gpu.reported.value);
    if (left < head.vram) continue;
    if (!gpu.leases.empty() && (load >= threshold || load + head.share > threshold)) continue;
    for (const Residence& residence : gpu.residences) {
      if (residence.model == queue.spec.model && !residence.loading) return true;
    }
  }
  return false;
}

// Whether the work that waits would keep the copies there are busy for longer than two loads.
bool wants_copy(const Queue& queue, const Model& model) {
  if (model.resident_open == 0 || queue.wants_copy) return true;
  const std::int64_t size = queue.spec.max_batch_size;
  const Duration each = predict_batch(queue, size, Duration{0}, kWholeGpu);
  if (each.ns <= 0) return false;
  const Wide loads_worth = Wide{2} * predict_load(model).ns / each.ns;
  return queue.startable >= (loads_worth * model.resident_open + 1) * size;
}

// Some GPU that holds the model would take the head's share, had it the VRAM.
bool only_lacks_vram(const State& state, const Queue& queue, const Head& head) {
  Head without_vram = head;
  without_vram.vram = 0;
  return head_fits_hot(state, queue, without_vram);
}

void check_bench(const State& state, QueueId id, const DerivedQueue& derived, Findings& findings) {
  const Queue& queue = state.queue(id);
  Bench bench = Bench::none;
  HeadShape shape;
  std::int64_t need = 0;
  const HeadShape of_head{derived.head.share};
  if (queue.ready && derived.leader != UINT32_MAX) {
    if (!queue.spec.model) {
      bench = Bench::shape;
      shape = of_head;
      need = derived.head.vram;
    } else {
      const Model& model = state.model(queue.spec.model);
      if (head_fits_hot(state, queue, derived.head)) {
        bench = Bench::hot;
      } else if (model.loading == 0 && queue.declined_at == 0 &&
                 (only_lacks_vram(state, queue, derived.head) || wants_copy(queue, model))) {
        bench = Bench::cold;
        shape = of_head;
        need = model.spec.weights.value + derived.head.vram;
      }
    }
  }
  findings.same(queue.bench, bench, "bench of queue ", id);
  if (queue.bench != bench || bench == Bench::none || bench == Bench::hot) return;
  findings.same(queue.bench_shape.share, shape.share, "share that queue ", id, " is benched with");
  findings.same(queue.bench_need, need, "need of queue ", id);
}

void check_need_index(const State& state, const NeedIndex& index, Bench bench, HeadShape shape,
                      std::set<QueueId>& found, Findings& findings) {
  std::map<std::int64_t, OrderKey> least;  // by need
  std::size_t size = 0;
  index.visit([&](std::int64_t need, const IndexedHeap<OrderKey>& heap) {
    check_heap(findings, heap, state.bench_positions, "a bench");
    size += heap.size();
    for (const auto& entry : heap.entries()) {
      const QueueId id{entry.handle};
      const Queue& queue = state.queue(id);
      findings.must(found.insert(id).second, "queue ", id, " is on two benches");
      findings.must(queue.bench == bench && queue.bench_shape == shape && queue.bench_need == need,
                    "queue ", id, " is indexed with a need of ", need, " and remembers ",
                    queue.bench_need, " on bench ", queue.bench);
      findings.same(entry.key, queue.key, "key of queue ", id, " on its bench");
      const auto [it, is_new] = least.try_emplace(need, entry.key);
      if (!is_new) it->second = std::min(it->second, entry.key);
    }
  });
  findings.same(index.empty(), size == 0, "whether a bench is empty");
  // The answers of the tree over the heaps.
  bool any = false;
  OrderKey best;
  for (const auto& [need, key] : least) {
    best = any ? std::min(best, key) : key;
    any = true;
    const auto answer = index.best(need);
    findings.must(answer && answer->key == best, "the best queue with a need up to ", need, " has ",
                  best, ", the bench answers ", answer ? answer->key : OrderKey{});
  }
  if (!least.empty()) {
    findings.must(!index.best(least.begin()->first - 1), "a bench answers for less than it needs");
  }
}

void check_benches(const State& state, Findings& findings) {
  std::set<QueueId> found;
  check_heap(findings, state.hot, state.bench_positions, "hot queues");
  for (const auto& entry : state.hot.entries()) {
    const QueueId id{entry.handle};
    found.insert(id);
    findings.same(state.queue(id).bench, Bench::hot, "bench of the hot queue ", id);
    findings.same(entry.key, state.queue(id).key, "key of the hot queue ", id);
  }
  for (const auto& [shape, index] : state.shapes) {
    check_need_index(state, index, Bench::shape, shape, found, findings);
  }
  for (const auto& [shape, index] : state.cold) {
    check_need_index(state, index, Bench::cold, shape, found, findings);
  }
  for (std::uint32_t i = 0; i < state.queues.size(); ++i) {
    findings.same(found.contains(QueueId{i}), state.queues[i].bench != Bench::none,
                  "whether queue ", i, " is on a bench");
  }
}

void check_turn(const State& state, Findings& findings) {
  check_heap(findings, state.turn, state.turn_positions, "turns");
  std::set<QueueId> found;
  for (const auto& entry : state.turn.entries()) {
    found.insert(QueueId{entry.handle});
    findings.must(entry.key <= state.queues[entry.handle].key, "the turn of queue ", entry.handle,
                  " has the key ", entry.key, ", above its own ", state.queues[entry.handle].key);
  }
  for (std::uint32_t i = 0; i < state.queues.size(); ++i) {
    const Queue& queue = state.queues[i];
    const bool loading = queue.spec.model && state.model(queue.spec.model).loading > 0;
    findings.same(found.contains(QueueId{i}), queue.ready && queue.due == Time::never() && !loading,
                  "whether queue ", i, " has a turn");
  }
}

void check_patience(const State& state, Findings& findings) {
  std::set<std::pair<Time, QueueId>> overdue;
  std::set<QueueId> declined;
  std::set<QueueId> holding;
  for (std::uint32_t i = 0; i < state.queues.size(); ++i) {
    const Queue& queue = state.queues[i];
    const bool due = queue.due != Time::never();
    findings.must(queue.ready || !due, "queue ", i, " is due at ", queue.due, " and not ready");
    findings.must(due || !queue.overdue, "queue ", i, " is overdue and never due");
    findings.must(queue.ready || queue.declined_at == 0, "queue ", i, " is declined and not ready");
    findings.must(!queue.overdue || queue.due <= state.now, "queue ", i, " is overdue before ",
                  queue.due);
    if (queue.overdue) overdue.insert({queue.due, QueueId{i}});
    if (queue.declined_at > 0) declined.insert(QueueId{i});
    if (!queue.holds.empty()) holding.insert(QueueId{i});
    findings.same(state.timers.due_of(TimerKind::patience, i),
                  queue.overdue ? Time::never() : queue.due, "patience timer of queue ", i);
    for (const GpuId gpu : queue.holds) {
      findings.same(state.gpu(gpu).held_for, QueueId{i}, "holder of GPU ", gpu);
    }
  }
  findings.must(state.overdue == overdue, "the overdue set has ", state.overdue.size(),
                ", derived ", overdue.size(), ", or others");
  findings.must(state.declined == declined, "the declined set has ", state.declined.size(),
                ", derived ", declined.size(), ", or others");
  findings.must(state.holding == holding, "the holding set has ", state.holding.size(),
                ", derived ", holding.size(), ", or others");
  for (std::uint32_t i = 0; i < state.gpus.size(); ++i) {
    const QueueId holder = state.gpus[i].held_for;
    if (!holder) continue;
    const auto& holds = state.queue(holder).holds;
    findings.must(std::count(holds.begin(), holds.end(), GpuId{i}) == 1, "GPU ", i,
                  " is held for queue ", holder, ", which does not list it once");
  }
}

void check_copies(const State& state, Findings& findings) {
  for (std::uint32_t i = 0; i < state.queues.size(); ++i) {
    const Queue& queue = state.queues[i];
    const bool waits = queue.copy_at != Time::never();
    findings.must(waits || !queue.wants_copy, "queue ", i, " wants a copy and never waited");
    findings.same(state.timers.due_of(TimerKind::copy, i),
                  queue.wants_copy ? Time::never() : queue.copy_at, "copy timer of queue ", i);
    const bool may_wait =
        queue.ready && queue.spec.model && state.model(queue.spec.model).loading == 0;
    findings.must(may_wait || !waits, "queue ", i, " waits for a copy until ", queue.copy_at);
    const bool is_stuck = may_wait && queue.bench == Bench::none && queue.declined_at == 0;
    if (!is_stuck || waits) continue;
    const Duration load = predict_load(state.model(queue.spec.model));
    findings.must(state.now + load == Time::never(), "queue ", i, " is stuck without an end");
  }
}

// The lists of queues by the tenant of their leader.
void check_led(const State& state, Findings& findings) {
  std::map<TenantId, std::set<std::uint32_t>> led;
  for (std::uint32_t i = 0; i < state.queues.size(); ++i) {
    const std::uint32_t flow = state.queues[i].leader_flow;
    if (flow < state.flows.size()) led[state.flows.flow(flow).tenant].insert(i);
  }
  for (std::uint32_t i = 0; i < state.tenants.size(); ++i) {
    std::set<std::uint32_t> listed;
    std::uint32_t before = UINT32_MAX;
    for (std::uint32_t at = state.tenants[i].first_led; at < state.queues.size();
         at = state.queues[at].led_next) {
      findings.same(state.queues[at].led_prev, before, "queue before ", at, " led by tenant ", i);
      if (!listed.insert(at).second) break;
      before = at;
    }
    findings.must(listed == led[TenantId{i}], "tenant ", i, " lists ", listed.size(),
                  " queues that it leads, derived ", led[TenantId{i}].size(), ", or others");
  }
}

}  // namespace

void check_queues(const State& state, const Derived& derived, Findings& findings) {
  for (std::uint32_t i = 0; i < state.queues.size(); ++i) {
    const DerivedQueue queue = derive_queue(state, QueueId{i}, derived.flows);
    check_readiness(state, QueueId{i}, queue, findings);
    check_bench(state, QueueId{i}, queue, findings);
  }
  check_benches(state, findings);
  check_turn(state, findings);
  check_patience(state, findings);
  check_copies(state, findings);
  check_led(state, findings);
}

}  // namespace berth::core
