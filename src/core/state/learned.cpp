// See learned.h.
#include "core/state/learned.h"

#include <algorithm>

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
  if (count == kBatchesRemembered) {
    count /= 2;
    sum_n /= 2;
    sum_nn /= 2;
    sum_t /= 2;
    sum_nt /= 2;
  }
  const Wide slope = static_cast<Wide>(count) * sum_nt - static_cast<Wide>(sum_n) * sum_t;
  const Wide spread = static_cast<Wide>(count) * sum_nn - static_cast<Wide>(sum_n) * sum_n;
  per_task = Duration{0};
  if (spread > 0 && slope > 0) {
    // A slope above mean time over mean size would make the base negative.
    const Wide steepest = static_cast<Wide>(sum_t) * 1000 / std::max<std::int64_t>(1, sum_n);
    per_task = Duration{static_cast<std::int64_t>(std::min(slope * 1000 / spread, steepest))};
  }
  const auto of_tasks = static_cast<std::int64_t>(static_cast<Wide>(per_task.ns) * sum_n / count);
  base = Duration{std::max<std::int64_t>(0, sum_t * 1000 / count - of_tasks)};
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
