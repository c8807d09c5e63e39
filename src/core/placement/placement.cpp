// See placement.h.
#include "core/placement/placement.h"

#include <algorithm>

#include "base/assert.h"

namespace berth::core {
namespace {

constexpr int kGpusLookedAt = 64;

// A GPU that is kept free for this very queue.
bool held_gpu_fits(const State& state, GpuId id, const TaskRow& task, ModelId model) {
  const Gpu& gpu = state.gpu(id);
  if (!gpu.up || gpu.draining || free_vram(gpu).value < task.vram) return false;
  if (!compute_allows(state, gpu, Milli{task.share})) return false;
  if (task.gpus > 1 && !gpu.leases.empty()) return false;
  if (!model) return true;
  const Residence* residence = find_residence(gpu, model);
  return residence != nullptr && !residence->loading;
}

Placement on_held_gpus(const State& state, const Queue& queue, const TaskRow& task) {
  std::vector<GpuId> fitting;
  for (const GpuId id : queue.holds) {
    if (held_gpu_fits(state, id, task, queue.spec.model)) fitting.push_back(id);
    if (fitting.size() == task.gpus) return {fitting, {}};
  }
  return {};
}

// What a single GPU is short of, over those that may take work at all.
Reason shortage(const State& state, const FitIndex& fit, const TaskRow& task) {
  const auto most = fit.most(Milli{task.share}, state.policy.gpu_load_threshold);
  if (most)
    return {ReasonCode::vram_short, task.vram, most->value, Reason::kNoSubject, Time::never()};
  if (fit.most(Milli{1}, state.policy.gpu_load_threshold)) {
    return {ReasonCode::compute_short, task.share, state.policy.gpu_load_threshold.value,
            Reason::kNoSubject, Time::never()};
  }
  if (state.gpus_accepting == 0)
    return {ReasonCode::no_gpu_up, 1, 0, Reason::kNoSubject, Time::never()};
  for (const QueueId holder : state.holding) {
    if (holder == task.queue) continue;
    return {ReasonCode::gpu_held, 1, 0, state.queue(holder).holds.front().value, Time::never()};
  }
  return {ReasonCode::compute_short, task.share, 0, Reason::kNoSubject, Time::never()};
}

Placement place_gang(const State& state, const TaskRow& task) {
  const auto most = state.free_fit.most_for(task.gpus);
  if (most && most->value >= task.vram) {
    return {state.free_fit.take_idle(task.gpus, Mib{task.vram}), {}};
  }
  auto have = static_cast<std::int64_t>(state.free_fit.idle_with(Mib{task.vram}));
  for (const GpuId id : state.queue(task.queue).holds)
    have += held_gpu_fits(state, id, task, ModelId::none()) ? 1 : 0;
  return {{}, {ReasonCode::gpus_short, task.gpus, have, Reason::kNoSubject, Time::never()}};
}

Placement place_with_model(const State& state, const TaskRow& task, ModelId id) {
  const Model& model = state.model(id);
  const auto gpu = model.fit.find(Mib{task.vram}, Milli{task.share},
                                  state.policy.gpu_load_threshold, state.policy.packing);
  if (gpu) return {{*gpu}, {}};
  if (model.loading > 0) {
    return {{}, {ReasonCode::model_loading, 0, 0, Reason::kNoSubject, Time::never()}};
  }
  if (state.gpus_accepting == 0) {
    return {{}, {ReasonCode::no_gpu_up, 1, 0, Reason::kNoSubject, Time::never()}};
  }
  if (model.resident == 0) {
    const std::int64_t need = model.spec.weights.value + task.vram;
    const auto most = state.reclaim_fit.most(Milli{task.share}, state.policy.gpu_load_threshold);
    return {{},
            {ReasonCode::model_not_loaded, need, most ? most->value : 0, Reason::kNoSubject,
             Time::never()}};
  }
  const auto most = model.fit.most(Milli{task.share}, state.policy.gpu_load_threshold);
  return {{},
          {ReasonCode::model_busy, task.vram, most ? most->value : 0, Reason::kNoSubject,
           Time::never()}};
}

}  // namespace

Placement place_task(const State& state, const TaskRow& task) {
  const Queue& queue = state.queue(task.queue);
  if (!queue.holds.empty()) {
    if (Placement held = on_held_gpus(state, queue, task)) return held;
  }
  if (queue.spec.model) return place_with_model(state, task, queue.spec.model);
  if (task.gpus > 1) return place_gang(state, task);
  const auto gpu = state.free_fit.find(Mib{task.vram}, Milli{task.share},
                                       state.policy.gpu_load_threshold, state.policy.packing);
  if (gpu) return {{*gpu}, {}};
  return {{}, shortage(state, state.free_fit, task)};
}

Placement place_head(const State& state, QueueId queue) {
  ASSERT(state.queue(queue).leader_slot != kNoSlot);
  return place_task(state, state.tasks.row(state.queue(queue).leader_slot));
}

GpuId gpu_to_hold(const State& state, QueueId id) {
  const Queue& queue = state.queue(id);
  std::int64_t need = state.tasks.row(queue.leader_slot).vram;
  if (queue.spec.model) need += state.model(queue.spec.model).spec.weights.value;
  GpuId best;
  Time earliest = Time::never();
  int looks = kGpusLookedAt;
  state.usable.visit_from(static_cast<std::uint64_t>(need) << 32, [&](std::uint64_t key) {
    const GpuId candidate{static_cast<std::uint32_t>(key)};
    const Gpu& gpu = state.gpu(candidate);
    if (gpu.up && !gpu.draining && !gpu.held_for) {
      Time free_at = state.now;
      for (const std::uint32_t slot : gpu.leases) {
        const Lease& lease = state.leases[slot];
        free_at = std::max(free_at, lease.started + lease.expected);
      }
      if (!best || free_at < earliest) {
        best = candidate;
        earliest = free_at;
      }
    }
    return --looks > 0;
  });
  return best;
}

}  // namespace berth::core
