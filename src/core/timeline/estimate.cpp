// See estimate.h.
#include "core/timeline/estimate.h"

namespace berth::core {
namespace {

Time stretched(Time now, Time start, Milli factor) {
  if (start == Time::never()) return start;
  return now + Duration{scale((start - now).ns, factor.value, 1000)};
}

}  // namespace

StartEstimate estimate_around(Time now, Time likely, Spread spread) {
  return {stretched(now, likely, spread.low), likely, stretched(now, likely, spread.high)};
}

}  // namespace berth::core
