// See learned.h.
#include "core/state/learned.h"

#include <algorithm>

#include "base/assert.h"
#include "base/units.h"

namespace berth::core {
namespace {

constexpr std::int64_t kBatchesRemembered = 256;
constexpr std::int64_t kLongestUs = std::int64_t{1} << 40;  // 12 days: keeps the sums in range

}  // namespace

void BatchTimeSketch::add(std::int64_t n, Duration took) {
  const std::int64_t us = std::clamp<std::int64_t>(took.ns / 1000, 0, kLongestUs);
  count += 1;
  sum_n += n;
  sum_nn += n * n;
  sum_t += us;
  sum_nt += n * us;
  if (count < kBatchesRemembered) return;
  count /= 2;
  sum_n /= 2;
  sum_nn /= 2;
  sum_t /= 2;
  sum_nt /= 2;
}

Duration BatchTimeSketch::per_task() const {
  ASSERT(known());
  const Wide numerator = static_cast<Wide>(count) * sum_nt - static_cast<Wide>(sum_n) * sum_t;
  const Wide denominator = static_cast<Wide>(count) * sum_nn - static_cast<Wide>(sum_n) * sum_n;
  if (denominator <= 0 || numerator <= 0) return Duration{0};
  // A slope above mean time over mean size would make the base negative.
  const Wide steepest = sum_n > 0 ? static_cast<Wide>(sum_t) * 1000 / sum_n : 0;
  return Duration{static_cast<std::int64_t>(std::min(numerator * 1000 / denominator, steepest))};
}

Duration BatchTimeSketch::base() const {
  const std::int64_t mean_t_ns = sum_t * 1000 / count;
  const auto slope = static_cast<Wide>(per_task().ns);
  return Duration{
      std::max<std::int64_t>(0, mean_t_ns - static_cast<std::int64_t>(slope * sum_n / count))};
}

Duration BatchTimeSketch::predict(std::int64_t n) const {
  return Duration{base().ns + per_task().ns * n};
}

void ArrivalSketch::add(Time now) {
  if (last.ns != INT64_MIN) {
    const std::int64_t gap = std::max<std::int64_t>(1, now.ns - last.ns);
    gap_ns = gap_ns == 0 ? gap : gap_ns + (gap - gap_ns) / 16;
  }
  last = now;
}

Duration ArrivalSketch::gap(Time now) const {
  if (gap_ns == 0) return Duration::forever();
  return Duration{std::max(gap_ns, now.ns - last.ns)};
}

void MeanSketch::add(Duration d) {
  mean_ns = count == 0 ? d.ns : mean_ns + (d.ns - mean_ns) / 4;
  ++count;
}

}  // namespace berth::core
