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
#include "core/model/explanation.h"
#include "core/timeline/plan.h"

namespace berth::core {

struct Spread {
  Milli low{500};  // of what is expected
  Milli high{2000};
};

StartEstimate estimate_around(Time now, Time likely, Spread spread = {});

// The likely start of each task that `next` names (std::optional<Pending>, none at its end), in
// order; the pools are the same afterwards as before. Never: it waits for something without an
// expected end, or has no room at all. Returns false when the visits are used up before the order
// ends. REQUIRES that no task that `next` names holds a reservation in the pools.
template <class Next>
bool likely_starts(Pools& pools, Time now, Next next, std::vector<Time>& starts,
                   std::int64_t& visits) {
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
    starts.push_back(plan.size() > before ? plan.back().start : Time::never());
  }
  drop_reservations(pools, plan);
  return complete;
}

}  // namespace berth::core
