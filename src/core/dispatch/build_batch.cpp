// Choosing the tasks of a batch. See dispatch.h.
#include <algorithm>

#include "base/assert.h"
#include "core/dispatch/charges.h"
#include "core/dispatch/dispatch.h"
#include "core/state/flow_cursor.h"

namespace berth::core {
namespace {

// Most batches need no more room than this, and get it at once.
constexpr std::size_t kTasksReserved = 64;
constexpr std::size_t kGiversReserved = 16;

// The batch as it grows: what is in it and what still fits.
class Draft {
 public:
  // `room`: the VRAM that each of its GPUs has for it.
  Draft(const State& state, std::uint32_t leader, Mib room)
      : state_(state),
        leader_(state.tasks.row(leader)),
        limit_(state.queue(leader_.queue).spec.max_batch_size),
        room_(room),
        sharing_(sharing_of(state, leader_.tenant, leader_.queue, leader_.command)) {
    if (sharing_ == Sharing::none) limit_ = 1;
    slots_.reserve(std::min(limit_, kTasksReserved));
  }

  bool full() const { return slots_.size() >= limit_; }
  const std::vector<std::uint32_t>& slots() const { return slots_; }
  Mib vram() const { return vram_; }

  bool takes_flow(const Flow& flow) const {
    if (flow.tenant != leader_.tenant) return sharing_ == Sharing::all && flow.sharing == sharing_;
    return flow.sharing == sharing_;
  }

  bool take(std::uint32_t slot) {
    const TaskRow& row = state_.tasks.row(slot);
    if (full() || row.vram > room_.value - vram_.value) return false;
    if (row.share > leader_.share || row.gpus != leader_.gpus) return false;
    // Its part of the batch may be more than its own share, never more than the batch's.
    const Milli use{leader_.share * leader_.gpus};
    if (!slots_.empty() && !tenant_allows(state_, row.tenant, use)) return false;
    slots_.push_back(slot);
    vram_ += Mib{row.vram};
    return true;
  }

 private:
  const State& state_;
  const TaskRow& leader_;
  std::size_t limit_ = 1;
  Mib room_;
  Mib vram_;
  Sharing sharing_ = Sharing::all;
  std::vector<std::uint32_t> slots_;
};

// A flow that gives tasks to the batch, and where its next one stands in the order.
struct Giver {
  const Flow* flow;
  FlowCursor cursor;
  OrderKey key;
  std::int64_t given_v = 0;  // what its tenant's counter will have risen by, about
};

// About what one task of a full batch is charged, before weighting.
std::int64_t charge_per_task(const State& state, const Queue& queue,
                             const std::vector<GpuId>& gpus) {
  const TaskRow& leader = state.tasks.row(queue.leader_slot);
  const std::int64_t size = queue.spec.max_batch_size;
  const Duration expected =
      predict_batch(queue, size, leader.expected_run, speed_on(state, queue, gpus.front()));
  const std::int64_t rate = charge_rate(state, gpus, Milli{leader.share}, Mib{leader.vram});
  return cost_us(rate, expected) / size;
}

// The flow's next task takes its place in the order, as if those before it had been charged.
void put_back(const State& state, Giver& giver, std::int64_t charge_us) {
  const std::uint32_t slot = giver.cursor.slot();
  giver.key = state.rule->flow_key(state, *giver.flow, head_from(state.tasks.row(slot), slot));
  if (!state.rule->value_is_v) return;
  giver.given_v += over_weight(state, giver.flow->tenant, charge_us);
  giver.key.value = saturating_add(giver.key.value, giver.given_v);
}

// Always the task that is next in the order, over all flows of the queue that may share the batch.
void fill(const State& state, const Queue& queue, const std::vector<GpuId>& gpus, Draft& draft) {
  FlowOrder order(state, queue);
  auto next = order.next();
  std::vector<Giver> givers;
  givers.reserve(kGiversReserved);
  std::int64_t charge_us = -1;
  while (!draft.full()) {
    const auto best = std::min_element(
        givers.begin(), givers.end(), [](const Giver& a, const Giver& b) { return a.key < b.key; });
    if (next && (best == givers.end() || next->key < best->key)) {
      const Flow& flow = state.flows.flow(next->flow);
      if (draft.takes_flow(flow)) givers.push_back({&flow, FlowCursor(state, flow), next->key});
      next = order.next();
      continue;
    }
    if (best == givers.end()) return;
    // A flow keeps its order: when its next task does not fit, it is done.
    const bool taken = draft.take(best->cursor.slot());
    if (taken) best->cursor.advance();
    if (!taken || best->cursor.slot() == kNoSlot) {
      givers.erase(best);
    } else if (givers.size() > 1 || next) {
      if (charge_us < 0) charge_us = charge_per_task(state, queue, gpus);
      put_back(state, *best, charge_us);
    }
  }
}

constexpr std::uint64_t kLooksMax = 20'000;  // flows compared to find a place in a queue

Milli slowest_of(const State& state, const Queue& queue, const std::vector<GpuId>& gpus) {
  if (gpus.empty()) return kWholeGpu;
  Milli slowest = speed_on(state, queue, gpus.front());
  for (std::size_t i = 1; i < gpus.size(); ++i)
    slowest = std::min(slowest, speed_on(state, queue, gpus[i]));
  return slowest;
}

// Placed work starts alone. But where its shape is plain, it takes along what waits in its queue
// for a batch: it leads that batch by a claim, or the packing changed while the others waited.
std::vector<std::uint32_t> fellows_of(const State& state, std::uint32_t slot, const Place& place) {
  const TaskRow& row = state.tasks.row(slot);
  const Queue& queue = state.queue(row.queue);
  const bool may_share =
      place.gpus.size() == 1 && !place.instance && is_plain(shape_of(state, row));
  if (!may_share || queue.spec.max_batch_size == 1 || queue.flows.empty()) return {slot};
  Draft draft(state, slot, reclaimable_vram(state.gpu(place.gpus.front())));
  draft.take(slot);
  fill(state, queue, place.gpus, draft);
  return draft.slots();
}

void add_tasks(const State& state, const std::vector<std::uint32_t>& slots, BatchStarted& batch) {
  const Queue& queue = state.queue(batch.queue);
  Duration longest{0};
  batch.tasks.reserve(slots.size());
  for (const std::uint32_t slot : slots) {
    const TaskRow& row = state.tasks.row(slot);
    longest = std::max(longest, row.expected_run);
    batch.tasks.push_back({row.no, row.starts + 1U});
  }
  batch.expected = predict_batch(queue, static_cast<std::int64_t>(slots.size()), longest,
                                 slowest_of(state, queue, batch.gpus));
  put_price(state, batch, [&](std::size_t i) { return state.tasks.row(slots[i]).vram; });
}

}  // namespace

// As `fill` takes them, without end.
std::optional<std::uint64_t> tasks_before(const State& state, std::uint32_t slot) {
  const Queue& queue = state.queue(state.tasks.row(slot).queue);
  if (queue.leader_slot == kNoSlot || state.accepting.empty()) return std::nullopt;
  const GpuId gpu{static_cast<std::uint32_t>(*state.accepting.last())};
  const std::int64_t charge_us = charge_per_task(state, queue, {gpu});
  FlowOrder order(state, queue);
  auto next = order.next();
  std::vector<Giver> givers;
  std::uint64_t looks = 0;
  for (std::uint64_t before = 0; looks < kLooksMax; looks += 1 + givers.size()) {
    const auto best = std::min_element(
        givers.begin(), givers.end(), [](const Giver& a, const Giver& b) { return a.key < b.key; });
    if (next && (best == givers.end() || next->key < best->key)) {
      const Flow& flow = state.flows.flow(next->flow);
      givers.push_back({&flow, FlowCursor(state, flow), next->key});
      next = order.next();
      continue;
    }
    if (best == givers.end()) return std::nullopt;
    if (best->cursor.slot() == slot) return before;
    ++before;
    best->cursor.advance();
    if (best->cursor.slot() == kNoSlot) {
      givers.erase(best);
    } else {
      put_back(state, *best, charge_us);
    }
  }
  return std::nullopt;
}

BatchStarted build_placed(const State& state, std::uint32_t slot, const Place& place) {
  const TaskRow& row = state.tasks.row(slot);
  BatchStarted batch;
  batch.lease = LeaseId{state.next_lease};
  batch.queue = row.queue;
  batch.share = Milli{row.share};
  batch.vram = Mib{row.vram};
  batch.gpus = place.gpus;
  batch.instance = place.instance;
  if (place.instance) {
    batch.vram = mig::slot_class(place.instance->geometry, place.instance->profile)->memory;
  }
  if (place.gpus.empty()) batch.node = place.node;
  const Shape shape = shape_of(state, row);
  batch.cpu = shape.cpu;
  batch.memory = shape.memory;
  const std::vector<std::uint32_t> slots = fellows_of(state, slot, place);
  for (std::size_t i = 1; i < slots.size(); ++i)
    batch.vram += Mib{state.tasks.row(slots[i]).vram};
  add_tasks(state, slots, batch);
  return batch;
}

BatchNeed whole_batch(const State& state, QueueId id, GpuId gpu) {
  const Queue& queue = state.queue(id);
  Draft draft(state, queue.leader_slot, Mib{INT64_MAX});
  fill(state, queue, {gpu}, draft);
  return {static_cast<std::uint32_t>(draft.slots().size()), draft.vram()};
}

BatchStarted build_batch(const State& state, QueueId id, const std::vector<GpuId>& gpus) {
  const Queue& queue = state.queue(id);
  Mib room = free_vram(state.gpu(gpus.front()));
  for (const GpuId gpu : gpus)
    room = std::min(room, free_vram(state.gpu(gpu)));
  Draft draft(state, queue.leader_slot, room);
  fill(state, queue, gpus, draft);
  ASSERT(!draft.slots().empty() && draft.slots().front() == queue.leader_slot);

  BatchStarted batch;
  batch.lease = LeaseId{state.next_lease};
  batch.queue = id;
  batch.model = queue.spec.model;
  batch.share = Milli{state.tasks.row(queue.leader_slot).share};
  batch.vram = draft.vram();
  batch.gpus = gpus;
  add_tasks(state, draft.slots(), batch);
  return batch;
}

}  // namespace berth::core
