// Estimates from specs and from what was learned. Integers in, integers out. See state.h.
#include <algorithm>

#include "base/assert.h"
#include "core/state/state.h"

namespace berth::core {
namespace {

// What may start in a queue and will come in the next `keep`, as time on one GPU.
Duration predicted_work(const State& state, const Queue& queue, Duration keep) {
  const Duration gap = queue.arrivals.gap(state.now);
  const std::int64_t arrivals =
      gap == Duration::forever() ? 0 : keep.ns / std::max<std::int64_t>(1, gap.ns);
  const std::int64_t tasks = queue.startable + arrivals;
  if (tasks == 0) return Duration{0};
  const std::int64_t size = std::clamp<std::int64_t>(tasks, 1, queue.spec.max_batch_size);
  const Duration batch = predict_batch(queue, size, mean_run(queue), kWholeGpu);
  return Duration{scale(batch.ns, tasks, size)};
}

bool has_batch_time(const Queue& queue) {
  return queue.spec.batch_base.ns > 0 || queue.spec.batch_per_task.ns > 0;
}

}  // namespace

Duration mean_run(const Queue& queue) {
  return Duration{scale(queue.pending_work_us, 1000, std::max<std::int64_t>(1, queue.pending))};
}

bool is_run_believed(const Queue& queue, Duration run) {
  return run.ns > 0 && !has_batch_time(queue);
}

Duration predict_batch(const Queue& queue, std::int64_t n, Duration longest, Milli speed) {
  Duration at_speed_one = longest;
  if (is_run_believed(queue, longest)) {
    // As it says.
  } else if (queue.batch_time.known()) {
    at_speed_one = queue.batch_time.predict(n);
  } else if (has_batch_time(queue)) {
    at_speed_one = Duration{queue.spec.batch_base.ns + queue.spec.batch_per_task.ns * n};
  }
  return Duration{scale(at_speed_one.ns, 1000, speed.value)};
}

Duration predict_load(const Model& model, KindId kind) {
  const auto it = model.load_times.find(kind);
  return it == model.load_times.end() ? model.spec.load_time
                                      : it->second.or_else(model.spec.load_time);
}

Duration predict_load(const Model& model) {
  Duration longest{0};
  for (const auto& [kind, took] : model.load_times)
    longest = std::max(longest, took.or_else(model.spec.load_time));
  return model.load_times.empty() ? model.spec.load_time : longest;
}

std::int64_t charge_rate(const State& state, const std::vector<GpuId>& gpus, Milli share,
                         Mib vram) {
  std::int64_t rate = 0;
  for (const GpuId id : gpus) {
    const Gpu& gpu = state.gpu(id);
    const std::int64_t vram_part =
        scale(vram.value, 1000, std::max<std::int64_t>(1, gpu.usable.value));
    const std::int64_t dominant = std::clamp<std::int64_t>(vram_part, share.value, 1000);
    rate += scale(dominant, gpu.spec.speed.value, 1000);
  }
  return std::max<std::int64_t>(1, rate);
}

Duration predicted_work(const State& state, ModelId id) {
  constexpr std::size_t kQueuesReckoned = 64;
  const Model& model = state.model(id);
  const Duration keep = std::min(model.spec.keep_alive, minutes(60));
  Duration sum{0};
  for (std::size_t i = 0; i < std::min(model.queues.size(), kQueuesReckoned); ++i)
    sum = sum + predicted_work(state, state.queue(model.queues[i]), keep);
  return sum;
}

}  // namespace berth::core
