// Start estimates: when pending work will probably start, with a spread.
//
// The likely start is the one of conservative backfill: each task ahead, in order, gets its
// earliest start beside those before it. The spread asks what if everything, running and pending,
// takes a given part or multiple of the time it is still expected to take. All remaining times then
// stretch alike, the plan with them, and each start lies that much nearer or farther from now: the
// low and high ends need no plans of their own. Work that arrives later and goes first is not
// foreseen.
//
// Knows no clock; the work is bounded by visits.
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"
#include "core/timeline/plan.h"

namespace berth::core {

struct Spread {
  Milli low{500};    // of what is expected: a low quantile of actual over expected run time
  Milli high{2000};  // a high quantile
};

struct StartEstimate {
  std::uint64_t handle = 0;
  Time low;
  Time likely;  // never: it waits for something without an expected end, or has no room at all
  Time high;
  bool operator==(const StartEstimate&) const = default;
};

StartEstimate estimate_around(std::uint64_t handle, Time now, Time likely, Spread spread);

// Estimates for the work that `next` names, as plan_starts does, in order; the pools are the same
// afterwards as before. Returns false when the visits are used up before the order ends.
// REQUIRES that no task that `next` names holds a reservation in the pools.
template <class Next>
bool estimate_starts(Pools& pools, Time now, Next next, Spread spread,
                     std::vector<StartEstimate>& estimates, std::int64_t& visits) {
  std::vector<Reservation> plan;
  bool complete = false;
  while (visits > 0) {
    const std::optional<Pending> pending = next();
    if (!pending) {
      complete = true;
      break;
    }
    --visits;
    const std::size_t before = plan.size();
    timeline::reserve_earliest(pools, now, *pending, false, plan, visits);
    const Time likely = plan.size() > before ? plan.back().start : Time::never();
    estimates.push_back(estimate_around(pending->handle, now, likely, spread));
  }
  drop_reservations(pools, plan);
  return complete;
}

// For what lies too deep to be planned: the work ahead (amount × nanoseconds) as a fluid that fills
// the whole pool. Rough, and low where gangs leave gaps.
StartEstimate rough_estimate(std::uint64_t handle, Time now, Wide work_ahead, std::int64_t capacity,
                             Spread spread);

}  // namespace berth::core
