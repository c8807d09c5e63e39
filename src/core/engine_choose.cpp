// The order of decision: who is next for a free GPU, and what is done for them. Reads only, so that
// explain asks the same code what would happen next.
//
//   0 holds that their queues have no use for are released
//   1 an overdue queue is served: started, loaded, or given a hold
//   2 the best queue that can start (hot) against the best that idle models keep out, and against
//     the best that needs a load (cold)
//   3 placed work competes with what can start by the same keys
//   4 the batch is built, placed and charged
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "core/dispatch/dispatch.h"
#include "core/engine_internal.h"
#include "core/placement/placement.h"
#include "core/residency/residency.h"

namespace berth::core {
namespace {

constexpr std::size_t kOverdueLookedAt = 64;

using Candidate = std::optional<NeedIndex::Best>;

QueueId queue_of(const NeedIndex::Best& best) { return QueueId{best.handle}; }

void keep_better(Candidate& best, const Candidate& other) {
  if (other && (!best || other->key < best->key)) best = other;
}

// The best of these queues whose head finds room among what the GPUs of the index have.
Candidate best_with_room(const State& state, const std::map<HeadShape, NeedIndex>& benches,
                         const FitIndex& fit) {
  Candidate best;
  for (const auto& [shape, queues] : benches) {
    if (queues.empty()) continue;
    const auto most = fit.most(Milli{shape.share}, state.policy.gpu_load_threshold);
    if (most) keep_better(best, queues.best(most->value));
  }
  return best;
}

// The best queue that can start now, with or without a model.
Candidate best_startable(const State& state) {
  Candidate best = best_with_room(state, state.shapes, state.free_fit);
  if (!state.hot.empty()) {
    keep_better(best, NeedIndex::Best{state.hot.top().handle, state.hot.top().key});
  }
  return best;
}

// Starts placed work; idle models that have its VRAM go first.
void start_placed(const State& state, const NextStart& next, Actions& out) {
  BatchStarted batch = build_placed(state, next.slot, next.place);
  for (const GpuId id : next.place.gpus) {
    const Gpu& gpu = state.gpu(id);
    Mib free = free_vram(gpu);
    for (const Residence& residence : gpu.residences) {
      if (free >= batch.vram) break;
      if (residence.loading || residence.leases > 0) continue;
      out.push_back(EvictModel{id, residence.model, residence.load});
      free += residence.weights;
    }
  }
  out.push_back(std::move(batch));
}

// The best queue that needs a load for which some GPU might have room.
Candidate best_cold(const State& state) {
  return best_with_room(state, state.cold, state.reclaim_fit);
}

// The best queue without a model that could start if idle models made room.
Candidate best_kept_out(const State& state) {
  return best_with_room(state, state.shapes, state.reclaim_fit);
}

void carry_out(const State& state, const RoomPlan& plan, Actions& out) {
  for (const auto& [gpu, model] : plan.evictions)
    out.push_back(EvictModel{gpu, model, find_residence(state.gpu(gpu), model)->load});
}

// Starts the queue's next batch where all of it fits, if anywhere; idle models that cut it short go
// first where that pays. Only a batch that leaves out somebody is looked at as a whole.
bool start(const State& state, QueueId queue, Actions& out) {
  const Placement placement = place_head(state, queue);
  if (!placement) return false;
  const GpuId gpu = placement.gpus.front();
  BatchStarted batch = build_batch(state, queue, placement.gpus);
  if (batch.tasks.size() < next_batch_size(state, queue)) {
    const BatchNeed whole = whole_batch(state, queue, gpu);
    if (whole.vram > free_vram(state.gpu(gpu))) {
      if (const GpuId roomier = roomier_gpu(state, queue, whole.vram)) {
        out.push_back(build_batch(state, queue, {roomier}));
        return true;
      }
      const auto now = static_cast<std::int64_t>(batch.tasks.size());
      const LargerBatch larger{now, whole.tasks, whole.vram};
      if (const RoomPlan plan = plan_larger_batch(state, queue, gpu, larger)) {
        carry_out(state, plan, out);
        return true;
      }
    }
  }
  out.push_back(std::move(batch));
  return true;
}

void carry_out(const State& state, const LoadPlan& plan, ModelId model, Actions& out) {
  const Gpu& gpu = state.gpu(plan.gpu);
  for (const ModelId victim : plan.victims)
    out.push_back(EvictModel{plan.gpu, victim, find_residence(gpu, victim)->load});
  if (!plan.loads) return;
  out.push_back(LoadModel{plan.gpu, model, predict_load(state.model(model), gpu.spec.kind),
                          LoadId{state.next_load}});
}

// The queue steps aside. Patience counts from the first time.
void decline(const State& state, QueueId queue, Reason reason, Actions& out) {
  const Time due = std::min(state.queue(queue).due, state.now + state.policy.patience);
  if (reason.at != Time::never()) reason.at = due;
  out.push_back(QueuePassedOver{queue, due, reason});
}

// Overdue or not, the pause after failed loads comes first.
bool wait_for_pause(const Reason& reason, QueueId queue, Actions& out) {
  if (reason.code != ReasonCode::load_failed) return false;
  out.push_back(QueuePassedOver{queue, reason.at, reason});
  return true;
}

// Loads the queue's model; if that is not worth it now, says so, and the queue steps aside.
void load_or_decline(const State& state, QueueId queue, Actions& out) {
  const LoadPlan plan = plan_load(state, queue, false);
  if (plan) {
    carry_out(state, plan, state.queue(queue).spec.model, out);
  } else if (!wait_for_pause(plan.reason, queue, out)) {
    decline(state, queue, plan.reason, out);
  }
}

// Work without a model that comes before what can start, but for idle models: those that nobody
// needs make room at once, others when its patience is over.
bool make_room(const State& state, const Candidate& hot, Actions& out) {
  const Candidate kept_out = best_kept_out(state);
  if (!kept_out || (hot && !(kept_out->key < hot->key))) return false;
  const RoomPlan plan = plan_room(state, queue_of(*kept_out), false);
  if (plan && plan.lost.ns == 0) {
    carry_out(state, plan, out);
    return true;
  }
  if (state.queue(queue_of(*kept_out)).due != Time::never()) return false;
  const std::uint64_t gpu = plan ? plan.evictions.front().gpu.value : Reason::kNoSubject;
  decline(state, queue_of(*kept_out),
          {ReasonCode::models_in_the_way, plan.lost.ns, 0, gpu, state.now}, out);
  return true;
}

bool load_overdue(const State& state, QueueId queue, Actions& out) {
  const ModelId model = state.queue(queue).spec.model;
  if (!model) {
    if (const RoomPlan room = plan_room(state, queue, true)) {
      carry_out(state, room, out);
      return true;
    }
  }
  LoadPlan plan = model ? plan_load(state, queue, true) : LoadPlan{};
  const Reason reason = plan.reason;
  for (const GpuId held : state.queue(queue).holds) {
    if (!plan) plan = plan_load_on(state, queue, held);
  }
  if (!plan) return wait_for_pause(reason, queue, out);
  carry_out(state, plan, model, out);
  return true;
}

// Among the holders that fell due later than this queue, the latest with a GPU of this size gives
// way.
bool take_hold_from_later(const State& state, QueueId id, Mib need, Actions& out) {
  std::pair<Time, QueueId> latest{state.queue(id).due, id};
  GpuId taken;
  for (const QueueId holder : state.holding) {
    const Queue& other = state.queue(holder);
    const auto gpu = std::find_if(other.holds.rbegin(), other.holds.rend(),
                                  [&](GpuId held) { return state.gpu(held).usable >= need; });
    if (gpu == other.holds.rend() || std::pair(other.due, holder) <= latest) continue;
    latest = {other.due, holder};
    taken = *gpu;
  }
  if (taken) out.push_back(ReleaseHold{taken, latest.second});
  return static_cast<bool>(taken);
}

// Keeps a GPU free for a head that fits nowhere; one that a later queue holds, if need be.
bool hold_for(const State& state, QueueId id, Actions& out) {
  if (!state.queue(id).holds.empty() || !some_gpu_accepts(state, id)) return false;
  const bool may_hold = state.holding.size() < state.policy.max_holds;
  const GpuId gpu = gpu_to_hold(state, id);
  if (!gpu) return take_hold_from_later(state, id, largest_need(state, id), out);
  // As a holder too many it needs another's place, whatever GPUs that one has.
  if (!may_hold) return take_hold_from_later(state, id, Mib{0}, out);
  out.push_back(HoldGpu{gpu, id});
  return true;
}

bool serve_overdue(const State& state, Actions& out) {
  std::size_t looks = kOverdueLookedAt;
  for (auto it = state.overdue.begin(); it != state.overdue.end() && looks > 0; ++it, --looks) {
    const QueueId queue = it->second;
    if (start(state, queue, out)) return true;
    const ModelId model = state.queue(queue).spec.model;
    if (model && state.model(model).loading > 0) continue;
    if (load_overdue(state, queue, out)) return true;
    if (hold_for(state, queue, out)) return true;
  }
  return false;
}

// The hold that its queue has no use for: it is overdue no more, or its head asks for a larger GPU,
// or for one that is not there at present.
GpuId stale_hold(const State& state, QueueId id) {
  const Queue& queue = state.queue(id);
  if (!queue.overdue || !queue.ready || !some_gpu_accepts(state, id)) return queue.holds.front();
  const Mib need = largest_need(state, id);
  const auto small = std::find_if(queue.holds.begin(), queue.holds.end(),
                                  [&](GpuId held) { return state.gpu(held).usable < need; });
  return small != queue.holds.end() ? *small : GpuId::none();
}

bool release_stale_hold(const State& state, Actions& out) {
  for (const QueueId holder : state.holding) {
    const GpuId gpu = stale_hold(state, holder);
    if (!gpu) continue;
    out.push_back(ReleaseHold{gpu, holder});
    return true;
  }
  return false;
}

// --- GPUs kept from batches for placed work whose reservation is near ---

bool has_reservation(const State& state, TaskNo task) {
  const auto& reservations = state.placed.plan.reservations;
  return std::any_of(reservations.begin(), reservations.end(),
                     [&](const Reservation& r) { return r.handle == task.value; });
}

// Whether a batch that comes before the task in the order would start on the GPU, were it not kept.
bool comes_before(const State& state, GpuId id, TaskNo task) {
  const Gpu& gpu = state.gpu(id);
  if (!gpu.leases.empty()) return false;
  const OrderKey own = placed_key_of(state, state.tasks.slot_of(task));
  for (const auto& [shape, queues] : state.shapes) {
    const auto best = queues.best(free_vram(gpu).value);
    if (best && best->key < own) return true;
  }
  return false;
}

bool release_stale_keep(const State& state, Actions& out) {
  for (const auto& [task, gpus] : state.kept) {
    if (state.claims.contains(task) && claim_stands(state, task)) continue;
    const bool is_next = state.placed.next && state.tasks.row(state.placed.next->slot).no == task;
    const bool is_due = is_next || has_reservation(state, task);
    if (is_due && !comes_before(state, gpus.front(), task)) continue;
    const QueueId queue = state.tasks.row(state.tasks.slot_of(task)).queue;
    out.push_back(ReleaseHold{gpus.front(), queue, task});
    return true;
  }
  return false;
}

// A batch that comes after reserved work in the order may not delay it: the GPU that it would take
// is kept from batches until that work has started.
bool keep_from_batch(const State& state, QueueId queue, const OrderKey& key, Actions& out) {
  if (state.placed.plan.reservations.empty()) return false;
  const Placement placement = place_head(state, queue);
  if (!placement || placement.gpus.size() != 1) return false;
  GpuId gpu = placement.gpus.front();
  const BatchNeed whole = whole_batch(state, queue, gpu);
  if (whole.vram > free_vram(state.gpu(gpu))) {
    if (const GpuId roomier = roomier_gpu(state, queue, whole.vram)) gpu = roomier;
  }
  const Reservation* r = delayed_by_batch(state, queue, gpu);
  if (r == nullptr || state.gpu(gpu).held_for) return false;
  const TaskNo task{r->handle};
  const std::uint32_t slot = state.tasks.slot_of(task);
  if (slot == kNoSlot || state.claims.contains(task) || key < placed_key_of(state, slot)) {
    return false;
  }
  out.push_back(HoldGpu{gpu, state.tasks.row(slot).queue, task});
  return true;
}

}  // namespace

bool next_decision(const State& state, Actions& out) {
  if (!state.kept.empty() && release_stale_keep(state, out)) return true;
  if (!state.holding.empty() && release_stale_hold(state, out)) return true;
  if (!state.overdue.empty() && serve_overdue(state, out)) return true;
  Candidate hot = best_startable(state);
  const NextStart* placed = state.placed.next ? &*state.placed.next : nullptr;
  const bool is_placed = placed != nullptr && (!hot || placed->key < hot->key);
  if (is_placed) hot = NeedIndex::Best{0, placed->key};
  if (make_room(state, hot, out)) return true;
  if (const Candidate cold = best_cold(state)) {
    const bool hot_goes_first =
        hot && state.rule->hot_first(hot->key, cold->key, load_charge(state, queue_of(*cold)));
    if (!hot_goes_first) {
      load_or_decline(state, queue_of(*cold), out);
      return true;
    }
  }
  if (!hot) return false;
  if (!is_placed && keep_from_batch(state, queue_of(*hot), hot->key, out)) return true;
  if (is_placed) {
    start_placed(state, *placed, out);
    return true;
  }
  const bool started = start(state, queue_of(*hot), out);
  ASSERT(started);  // the indexes and the placement agree on what fits
  return true;
}

}  // namespace berth::core
