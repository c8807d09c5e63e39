// See estimate.h.
#include "core/timeline/estimate.h"

namespace berth::core {
namespace {

Time stretched(Time now, Time start, Milli factor) {
  if (start == Time::never()) return start;
  return now + Duration{scale((start - now).ns, factor.value, kWholeGpu.value)};
}

}  // namespace

StartEstimate estimate_around(std::uint64_t handle, Time now, Time likely, Spread spread) {
  return {handle, stretched(now, likely, spread.low), likely, stretched(now, likely, spread.high)};
}

StartEstimate rough_estimate(std::uint64_t handle, Time now, Wide work_ahead, std::int64_t capacity,
                             Spread spread) {
  Time likely = Time::never();
  if (capacity > 0) {
    const Wide wait = work_ahead / capacity;
    if (wait < Duration::forever().ns) likely = now + Duration{static_cast<std::int64_t>(wait)};
  }
  return estimate_around(handle, now, likely, spread);
}

}  // namespace berth::core
