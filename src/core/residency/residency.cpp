// See residency.h.
#include "core/residency/residency.h"

#include <algorithm>

#include "base/assert.h"

namespace berth::core {
namespace {

constexpr std::size_t kGpusTried = 8;
constexpr std::size_t kCopiesLookedAt = 64;
constexpr std::size_t kFailingTried = 64;  // candidates more, for those where loads pause

struct IdleCopies {
  bool enough = false;
  std::vector<ModelId> models;
  Duration value{0};  // work predicted for them, at most their reload each
};

bool is_protected(const State& state, const Residence& residence, bool forced) {
  if (residence.loading || residence.leases > 0) return true;
  // Loaded for work that has not had its turn yet: it shall have been loaded for something.
  return !residence.used && state.model(residence.model).backlog > 0 && !forced;
}

// The cheapest set that makes room for `need` on this GPU, taken by value per byte.
IdleCopies choose_victims(const State& state, GpuId id, Mib need, ModelId keep, bool forced) {
  const Gpu& gpu = state.gpu(id);
  struct Candidate {
    ModelId model;
    std::int64_t value_ns;
    std::int64_t weights;
  };
  std::vector<Candidate> candidates;
  for (const Residence& residence : gpu.residences) {
    if (residence.model == keep || is_protected(state, residence, forced)) continue;
    const Model& model = state.model(residence.model);
    const std::int64_t value =
        std::min(predicted_work(state, residence.model).ns, predict_load(model, gpu.spec.kind).ns);
    candidates.push_back({residence.model, value, residence.weights.value});
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    const Wide left = static_cast<Wide>(a.value_ns) * std::max<std::int64_t>(1, b.weights);
    const Wide right = static_cast<Wide>(b.value_ns) * std::max<std::int64_t>(1, a.weights);
    return left != right ? left < right : a.model < b.model;
  });
  IdleCopies victims;
  Mib free = free_vram(gpu);
  for (const Candidate& candidate : candidates) {
    if (free >= need) break;
    free += Mib{candidate.weights};
    victims.models.push_back(candidate.model);
    victims.value = victims.value + Duration{candidate.value_ns};
  }
  victims.enough = free >= need;
  return victims;
}

Mib weights_and_task(const State& state, const Queue& queue) {
  const TaskRow& head = state.tasks.row(queue.leader_slot);
  return state.model(queue.spec.model).spec.weights + Mib{head.vram};
}

// The best plan so far: the one that destroys least.
struct Best {
  LoadPlan plan;
  Duration lost = Duration::forever();

  void consider(GpuId gpu, bool loads, IdleCopies victims) {
    if (!victims.enough || victims.value >= lost) return;
    lost = victims.value;
    plan = {gpu, std::move(victims.models), loads, {}};
  }
};

// Which GPUs may be asked to load a model, and what the others are waiting for.
class LoadableGpus {
 public:
  LoadableGpus(const State& state, ModelId model) : state_(state), model_(model) {}

  bool contains(GpuId id) {
    const Gpu& gpu = state_.gpu(id);
    if (find_residence(gpu, model_) != nullptr) return false;
    const LoadPause* pause = find_pause(gpu, model_);
    if (pause == nullptr || pause->until <= state_.now) return true;
    if (pause->until < first_.at) {
      first_ = {ReasonCode::load_failed, pause->failures, 0, id.value, pause->until};
    }
    return false;
  }
  // How many to look at, so that pausing ones hide no other.
  std::size_t looks() const {
    return kGpusTried + std::min<std::size_t>(state_.model(model_).failing_gpus, kFailingTried);
  }
  // The pause that ends first among the GPUs asked about; none: no load pauses there.
  const Reason& pause() const { return first_; }

 private:
  const State& state_;
  ModelId model_;
  Reason first_;
};

// Room for what would run together now: the batch that waits, as far as any GPU could hold it.
Mib batch_room(const State& state, const Queue& queue) {
  const std::int64_t head = state.tasks.row(queue.leader_slot).vram;
  const std::int64_t tasks = std::min(queue.startable, queue.spec.max_batch_size);
  const auto largest = static_cast<std::int64_t>(state.usable.last().value_or(0) >> 32);
  const std::int64_t most = largest - state.model(queue.spec.model).spec.weights.value;
  return Mib{std::clamp(head * tasks, head, std::max(head, most))};
}

LoadPlan plan_load_for(const State& state, QueueId id, Mib room, bool forced) {
  const Queue& queue = state.queue(id);
  const ModelId model = queue.spec.model;
  const Mib need = state.model(model).spec.weights + room;
  const Milli share{state.tasks.row(queue.leader_slot).share};
  const Milli threshold = state.policy.gpu_load_threshold;
  LoadableGpus loadable(state, model);

  // 1 free VRAM somewhere: nothing is lost
  for (const GpuId gpu : state.free_fit.candidates(need, share, threshold, loadable.looks())) {
    if (loadable.contains(gpu)) return {gpu, {}, true, {}};
  }
  // 2 where it is resident, idle neighbours may go; 3 elsewhere they may go for a load
  Best best;
  for (const GpuId gpu : state.model(model).fit.candidates({}, share, threshold, kGpusTried)) {
    best.consider(gpu, false, choose_victims(state, gpu, room, model, forced));
  }
  for (const GpuId gpu : state.reclaim_fit.candidates(need, share, threshold, loadable.looks())) {
    if (!loadable.contains(gpu)) continue;
    best.consider(gpu, true, choose_victims(state, gpu, need, model, forced));
  }
  if (!best.plan && loadable.pause()) return {{}, {}, true, loadable.pause()};
  if (!best.plan) {
    const auto most = state.reclaim_fit.most(share, threshold);
    return {{},
            {},
            true,
            {ReasonCode::model_not_loaded, need.value, most ? most->value : 0, Reason::kNoSubject,
             Time::never()}};
  }
  const GpuId gpu = best.plan.gpu;
  Duration price = best.lost;
  if (best.plan.loads) {
    price = price + predict_load(state.model(model), state.gpu(gpu).spec.kind);
  }
  const Duration worth = predicted_work(state, model);
  if (forced || best.lost.ns == 0 || worth >= price) return best.plan;
  return {{},
          {},
          true,
          {ReasonCode::load_not_worth, price.ns, worth.ns, gpu.value,
           state.now + state.policy.patience}};
}

// When the first batch on this GPU is expected to end.
Time first_end(const State& state, const Gpu& gpu) {
  if (gpu.leases.empty()) return free_vram(gpu).value >= 0 ? state.now : Time::never();
  Time first = Time::never();
  for (const std::uint32_t slot : gpu.leases) {
    const Lease& lease = state.leases[slot];
    first = std::min(first, lease.started + lease.expected);
  }
  return first;
}

// Its keep-alive has passed, at this very instant, and no work waits for it.
bool has_idled_too_long(const State& state, const Residence& residence) {
  const Model& model = state.model(residence.model);
  if (residence.loading || residence.leases > 0 || model.backlog > 0) return false;
  const Duration idle = state.now - residence.idle_since;
  return idle.ns > 0 && idle.ns % keep_alive_step(model).ns == 0;
}

}  // namespace

LoadPlan plan_load(const State& state, QueueId id, bool forced) {
  const Queue& queue = state.queue(id);
  const Mib for_head{state.tasks.row(queue.leader_slot).vram};
  const Mib for_batch = batch_room(state, queue);
  if (for_batch > for_head) {
    if (LoadPlan plan = plan_load_for(state, id, for_batch, forced)) return plan;
  }
  return plan_load_for(state, id, for_head, forced);
}

LoadPlan plan_load_on(const State& state, QueueId id, GpuId gpu) {
  const Queue& queue = state.queue(id);
  const ModelId model = queue.spec.model;
  const Residence* residence = model ? find_residence(state.gpu(gpu), model) : nullptr;
  if (residence != nullptr && residence->loading) return {};
  const bool loads = model && residence == nullptr;
  const LoadPause* pause = loads ? find_pause(state.gpu(gpu), model) : nullptr;
  if (pause != nullptr && pause->until > state.now) return {};
  const Mib need =
      loads ? weights_and_task(state, queue) : Mib{state.tasks.row(queue.leader_slot).vram};
  IdleCopies victims = choose_victims(state, gpu, need, model, true);
  const bool changes_nothing = !loads && victims.models.empty();
  if (!victims.enough || changes_nothing) return {};
  return {gpu, std::move(victims.models), loads, {}};
}

RoomPlan plan_room(const State& state, QueueId id, bool forced) {
  const TaskRow& head = state.tasks.row(state.queue(id).leader_slot);
  const Mib need{head.vram};
  Best best;
  for (const GpuId gpu : state.reclaim_fit.candidates(
           need, Milli{head.share}, state.policy.gpu_load_threshold, kGpusTried)) {
    best.consider(gpu, false, choose_victims(state, gpu, need, ModelId::none(), forced));
  }
  RoomPlan plan;
  for (const ModelId model : best.plan.victims)
    plan.evictions.push_back({best.plan.gpu, model});
  if (best.plan) plan.lost = best.lost;
  return plan;
}

RoomPlan plan_larger_batch(const State& state, QueueId id, GpuId gpu, const LargerBatch& batch) {
  const Queue& queue = state.queue(id);
  const TaskRow& head = state.tasks.row(queue.leader_slot);
  const IdleCopies victims = choose_victims(state, gpu, batch.vram, queue.spec.model, false);
  if (victims.models.empty()) return {};
  std::int64_t freed = free_vram(state.gpu(gpu)).value;
  Duration reloads{0};
  for (const ModelId model : victims.models) {
    freed += find_residence(state.gpu(gpu), model)->weights.value;
    reloads = reloads + predict_load(state.model(model), state.gpu(gpu).spec.kind);
  }
  // Its tasks count alike here: who is next after the whole batch is not known.
  const std::int64_t then = std::min(batch.wanted, freed * batch.wanted / batch.vram.value);
  const auto time_for_backlog = [&](std::int64_t size) {
    const Duration run = predict_batch(queue, size, head.expected_run, kWholeGpu);
    return scale(run.ns, queue.startable, size);
  };
  if (then <= batch.now) return {};
  if (time_for_backlog(batch.now) - time_for_backlog(then) < reloads.ns) return {};
  RoomPlan plan;
  plan.lost = reloads;
  for (const ModelId model : victims.models)
    plan.evictions.push_back({gpu, model});
  return plan;
}

std::int64_t load_charge(const State& state, QueueId id) {
  const Queue& queue = state.queue(id);
  const TaskRow& head = state.tasks.row(queue.leader_slot);
  const Duration load = predict_load(state.model(queue.spec.model));
  return over_weight(state, head.tenant, scale(load.ns, head.share, 1'000'000));
}

void begin_load(State& state, const LoadModel& load) {
  ASSERT(load.load.value == state.next_load);
  ++state.next_load;
  add_residence(state, load.gpu, load.model, load.load, true);
  Model& model = state.model(load.model);
  ++model.loads;
  ASSERT(free_vram(state.gpu(load.gpu)).value >= 0);
  refresh_gpu(state, load.gpu);
  refresh_queues_of(state, load.model);
}

void evict(State& state, const EvictModel& eviction) {
  const Residence& residence = *find_residence(state.gpu(eviction.gpu), eviction.model);
  const bool for_nobody = has_idled_too_long(state, residence);
  remove_residence(state, eviction.gpu, eviction.model);
  // One who only applies has armed the timer at this instant, before it saw the model leave.
  arm_keep_alive(state, eviction.gpu);
  ++state.model(eviction.model).evictions;
  refresh_gpu(state, eviction.gpu);
  refresh_queues_of(state, eviction.model);
  if (for_nobody) wake_declined(state);  // else the room is taken at once
}

void finish_load(State& state, const ModelLoaded& loaded) {
  if (!state.has(loaded.gpu) || !state.has(loaded.model)) return;
  Gpu& gpu = state.gpu(loaded.gpu);
  Model& model = state.model(loaded.model);
  if (!gpu.up) return;
  Residence* residence = find_residence(gpu, loaded.model);
  const bool is_answer =
      residence != nullptr && residence->loading && residence->load == loaded.load;
  if (!loaded.load && residence == nullptr && gpu.adopts && takes_batches(gpu)) {
    // Already there when the agent came: taken over if it fits what is promised.
    if (!loaded.ok || model.spec.weights > free_vram(gpu)) return;
    add_residence(state, loaded.gpu, loaded.model, LoadId::none(), false);
  } else if (is_answer && loaded.ok) {
    note_resident(state, loaded.gpu, loaded.model);
    residence->owed = loaded.took;
    end_pause(state, loaded.gpu, loaded.model);
    model.load_times[gpu.spec.kind].add(loaded.took);
  } else if (is_answer) {
    remove_residence(state, loaded.gpu, loaded.model);
    pause_loads(state, loaded.gpu, loaded.model);
  } else {
    return;  // late or a duplicate
  }
  arm_keep_alive(state, loaded.gpu);
  refresh_gpu(state, loaded.gpu);
  refresh_queues_of(state, loaded.model);
  if (!loaded.ok) wake_declined(state);
}

void note_unloaded(State& state, const ModelUnloaded& unloaded) {
  if (!state.has(unloaded.gpu) || !state.has(unloaded.model)) return;
  const Residence* residence = find_residence(state.gpu(unloaded.gpu), unloaded.model);
  if (residence == nullptr || residence->load != unloaded.load) return;  // late or a duplicate
  if (residence->loading || residence->leases > 0) return;
  remove_residence(state, unloaded.gpu, unloaded.model);
  refresh_gpu(state, unloaded.gpu);
  refresh_queues_of(state, unloaded.model);
  wake_declined(state);
}

void decline_load(State& state, const QueuePassedOver& passed) {
  Queue& queue = state.queue(passed.queue);
  // After a failed load only time helps, no backlog however long.
  const bool has_failed = passed.reason.code == ReasonCode::load_failed;
  if (has_failed) clear_due(state, passed.queue);
  queue.declined_at = has_failed ? UINT32_MAX / 2 : std::max<std::uint32_t>(1, queue.startable);
  queue.declined = passed.reason;
  state.declined.insert(passed.queue);
  if (passed.due < queue.due) {
    clear_due(state, passed.queue);
    queue.due = passed.due;
    state.timers.set(TimerKind::patience, passed.queue.value, passed.queue.value, passed.due);
  }
  refresh_queue(state, passed.queue);
}

void consider_copy(State& state, QueueId id) {
  Queue& queue = state.queue(id);
  const Model& model = state.model(queue.spec.model);
  const Duration load = predict_load(model);
  Time frees = Time::never();
  std::size_t looks = kCopiesLookedAt;
  for (const GpuId gpu : model.gpus) {
    if (is_open(state.gpu(gpu))) frees = std::min(frees, first_end(state, state.gpu(gpu)));
    if (--looks == 0) break;
  }
  const bool comes_too_late = frees > state.now + load;
  const bool did_not_come = frees + load <= state.now;
  queue.wants_copy = comes_too_late || did_not_come;
  if (!queue.wants_copy) {
    queue.copy_at = frees + load;
    state.timers.set(TimerKind::copy, id.value, id.value, queue.copy_at);
  }
  refresh_queue(state, id);
}

std::vector<ModelId> idle_too_long(const State& state, GpuId id) {
  std::vector<ModelId> models;
  for (const Residence& residence : state.gpu(id).residences) {
    if (has_idled_too_long(state, residence)) models.push_back(residence.model);
  }
  return models;
}

}  // namespace berth::core
