// Planning: reservations for work that must wait.
//
// One rule for all depths. The work is taken in its order: a task that fits now beside every
// reservation made so far starts; one that does not gets a reservation at its earliest fit, as long
// as fewer than `depth` were made. So nothing that jumps the queue delays anybody who holds a
// reservation. Depth 0 is greedy (skip what does not fit), 1 is EASY backfill, no limit is
// conservative backfill. The pass itself is state/placed_next.cpp; here is what it is made of.
//
// Reservations stand in the pools until the caller drops them, so that work that arrives between
// two passes is held to them as well; a pass that plans anew drops the old ones first. A task whose
// start depends on work without an expected end gets none: pass an end for everything that runs.
//
// Knows handles, amounts and run times; no tasks, tenants or clock.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/timeline/pools.h"

namespace berth::core {

struct Pending {
  std::uint64_t handle = 0;     // the caller's name for it
  Duration run;                 // its own limit, or how long it is expected to run
  std::span<const Parts> ways;  // any one of them will do; the best first
};

struct Reservation {
  std::uint64_t handle = 0;
  Time start;
  Duration run;
  Parts parts;
  bool operator==(const Reservation&) const = default;
};

// Null: it has none.
const Reservation* reservation_of(const std::vector<Reservation>& reservations,
                                  std::uint64_t handle);

void drop_reservations(Pools& pools, std::vector<Reservation>& reservations);

// For explanations: the first of the reservations that work on these parts would delay if it
// started now for so long; null if none.
const Reservation* first_delayed(const Pools& pools, const std::vector<Reservation>& reservations,
                                 PartsView parts, Time now, Duration run);

// A reserve against long work: what runs longer than the limit may together hold at most the pool
// `cap`, whose capacity is a stated part of the cluster's, so that short work soon finds room. A
// single task larger than the cap takes all of it.
struct LongWork {
  Duration limit = Duration::forever();
  PoolId cap;
};
// Adds the cap to a way to take a task of so many GPUs in all. The parts of what runs stay as they
// were at its start: the cap may be resized in between.
void cap_long_work(const Pools& pools, const LongWork& rule, Duration run, std::int64_t amount,
                   Parts& way);

namespace timeline {

// Reserves the earliest start of the task, if there is any. `scattered`: its counts fit now, but
// no GPUs were found, so it is not tried again before something ends.
void reserve_earliest(Pools& pools, Time now, const Pending& pending, bool scattered,
                      std::vector<Reservation>& reservations, std::int64_t& visits);

}  // namespace timeline

}  // namespace berth::core
