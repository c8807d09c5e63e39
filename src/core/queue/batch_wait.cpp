// See batch_wait.h.
#include "core/queue/batch_wait.h"

#include <algorithm>

#include "base/units.h"

namespace berth::core {
namespace {

constexpr std::int64_t kSteps = 16;
constexpr std::int64_t kOne = 1000;  // sizes and ratios in thousandths
constexpr std::int64_t kByChance = 450;
constexpr std::int64_t kEvenness = 8;
constexpr std::int64_t kServersMax = 8;  // beyond this the chance of finding none free is nil

std::int64_t power(std::int64_t ratio, std::int64_t exponent) {
  std::int64_t product = kOne;
  for (std::int64_t i = 0; i < exponent; ++i)
    product = product * ratio / kOne;
  return product;
}

std::int64_t service_ns(const WaitInputs& in, std::int64_t size) {
  return in.base.ns + scale(in.per_task.ns, size, kOne);
}

// Parts of a batch time that a task waits for a free GPU, in thousandths: single arrivals by chance
// wait longer than batches that leave at even gaps. The two constants were fitted to simulations.
std::int64_t queueing(const WaitInputs& in, std::int64_t size, std::int64_t used) {
  const std::int64_t by_chance =
      kByChance * power(std::min(used, kOne), std::min(in.servers, kServersMax)) / kOne;
  const std::int64_t evenly = power(std::min(used, kOne), kEvenness) / 4;
  const std::int64_t single = kOne * kOne / size * kOne / size;  // how far batches are single tasks
  return (by_chance * single + evenly * (kOne - single)) / kOne;
}

// The size that batches reach by themselves while the GPUs are busy: n = rate × (a + b·n) / GPUs.
std::int64_t natural_size(const WaitInputs& in) {
  const std::int64_t left = in.gap.ns * in.servers - in.per_task.ns;
  if (left <= 0) return in.max_batch_size * kOne;
  return std::clamp(scale(in.base.ns, kOne, left), kOne, in.max_batch_size * kOne);
}

// Expected time from submit to end when batches wait `wait`; an estimate good enough to compare.
std::int64_t expected_ns(const WaitInputs& in, Duration wait) {
  const std::int64_t natural = natural_size(in);
  const std::int64_t most = in.max_batch_size * kOne;
  const std::int64_t collected = std::min(kOne + scale(wait.ns, kOne, in.gap.ns), most);
  if (collected <= natural) {
    // Busy GPUs collect more than the wait would: it changes nothing.
    const std::int64_t service = service_ns(in, natural);
    const std::int64_t used = scale(service_ns(in, kOne), kOne, in.gap.ns * in.servers);
    return service + scale(service, queueing(in, kOne, used), kOne);
  }
  const std::int64_t service = service_ns(in, collected);
  const std::int64_t batch_gap = scale(in.gap.ns, collected, kOne);
  const std::int64_t used = scale(service, kOne, batch_gap * in.servers);
  // The first waits the whole time, the others half of it; a batch that is full leaves early.
  const std::int64_t whole = std::min(wait.ns, scale(in.gap.ns, most - kOne, kOne));
  const std::int64_t filling = scale(whole, kOne + (collected - kOne) / 2, collected);
  return filling + service + scale(service, queueing(in, collected, used), kOne);
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
  if (queue.spec.adaptive_wait) {
    // Half of what the most impatient task tolerates is left for waiting for a GPU.
    const Duration longest = std::min(wait, Duration{queue.tightest_wait.ns / 2});
    const Duration gap = queue.arrivals.gap(state.now);
    wait = longest;
    if (queue.batch_time.known() && gap == Duration::forever()) wait = Duration{0};
    if (queue.batch_time.known() && gap != Duration::forever()) {
      WaitInputs in;
      in.gap = std::max(gap, Duration{1});
      in.base = queue.batch_time.base;
      in.per_task = queue.batch_time.per_task;
      in.servers = static_cast<std::int64_t>(state.accepting.size());
      if (queue.spec.model) in.servers = state.model(queue.spec.model).resident;
      in.servers = std::max<std::int64_t>(1, in.servers);
      in.max_batch_size = queue.spec.max_batch_size;
      in.longest = longest;
      wait = choose_wait(in);
    }
  }
  if (wait == queue.wait) return;
  queue.wait = wait;
  refresh_queue(state, id);
}

}  // namespace berth::core
