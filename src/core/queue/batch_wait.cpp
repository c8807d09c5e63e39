// See batch_wait.h.
#include "core/queue/batch_wait.h"

#include <algorithm>

#include "base/units.h"

namespace berth::core {
namespace {

constexpr std::int64_t kSteps = 16;
constexpr std::int64_t kFull = 1000;  // utilisation in thousandths

// Expected time from submit to end when batches wait `wait`; an estimate good enough to compare.
std::int64_t expected_ns(const WaitInputs& in, Duration wait) {
  const std::int64_t gap = std::max<std::int64_t>(1, in.gap.ns);
  // Tasks per batch in thousandths: the first one and those that arrive while it waits.
  const std::int64_t size =
      std::clamp(kFull + scale(wait.ns, kFull, gap), kFull, in.max_batch_size * kFull);
  // A batch that fills up early does not wait on.
  const std::int64_t fills_after = scale(gap, size - kFull, kFull);
  const std::int64_t waited = std::min(wait.ns, fills_after);
  const std::int64_t service = in.base.ns + scale(in.per_task.ns, size, kFull);
  const std::int64_t batch_gap = scale(gap, size, kFull);
  const std::int64_t used =
      scale(service, kFull, std::max<std::int64_t>(1, batch_gap * in.servers));
  // Waiting for a free GPU: falls steeply with more servers, without bound near saturation.
  std::int64_t chance = kFull;
  const std::int64_t capped = std::min<std::int64_t>(used, kFull - 10);
  for (std::int64_t i = 0; i < in.servers && i < 8; ++i)
    chance = chance * capped / kFull;
  std::int64_t queued = scale(service, chance, 2 * in.servers * (kFull - capped));
  if (used >= kFull - 10) queued += scale(service, used, 10);
  return waited / 2 + queued + service;
}

}  // namespace

Duration choose_wait(const WaitInputs& in) {
  Duration best{0};
  std::int64_t least = expected_ns(in, best);
  for (std::int64_t step = 1; step <= kSteps; ++step) {
    // Finer steps for short waits: step²/kSteps² of the longest.
    const Duration wait{scale(in.longest.ns, step * step, kSteps * kSteps)};
    const std::int64_t expected = expected_ns(in, wait);
    if (expected < least) {
      least = expected;
      best = wait;
    }
  }
  return best;
}

void update_batch_wait(State& state, QueueId id) {
  Queue& queue = state.queue(id);
  Duration wait = queue.spec.max_batch_wait;
  if (queue.spec.adaptive_wait && queue.batch_time.known()) {
    WaitInputs in;
    in.gap = queue.arrivals.gap(state.now);
    in.base = queue.batch_time.base;
    in.per_task = queue.batch_time.per_task;
    in.servers = state.gpus_accepting;
    if (queue.spec.model) in.servers = state.model(queue.spec.model).resident;
    in.servers = std::max<std::int64_t>(1, in.servers);
    in.max_batch_size = queue.spec.max_batch_size;
    in.longest = queue.spec.max_batch_wait;
    wait = in.gap == Duration::forever() ? Duration{0} : choose_wait(in);
  }
  if (wait == queue.wait) return;
  queue.wait = wait;
  refresh_queue(state, id);
}

}  // namespace berth::core
