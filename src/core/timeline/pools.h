// Pools: profiles over a forest, one for each domain of the hardware tree and each cap.
//
// What is taken in a pool is taken in all pools above it. A gang inside a rack is a part of that
// rack; a task that may lie anywhere is a part of the cluster alone while it waits, and of the
// nodes it is given once it runs. A tree of its own is a cap: "long work together holds at most
// 15/16" or "this tenant at most 64 GPUs" is a pool without a parent, and what is capped names it
// as one more part. A pool that nobody runs or reserves in is a handful of empty words.
//
// It counts and does not place: where counts fit, the caller still has to find the very GPUs, and
// may find them scattered. Knows no tasks and no clock. Invariant: a pool's profile holds what was
// named for it and for every pool below it, nothing else.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/timeline/profile.h"

namespace berth::core {

using PoolId = Id<struct PoolTag, std::uint32_t>;

struct Part {
  PoolId pool;
  std::int64_t amount = 0;
  auto operator<=>(const Part&) const = default;
};
using Parts = std::vector<Part>;
using PartsView = std::span<const Part>;

class Pools {
 public:
  // Numbers follow the order of the calls, from 0. REQUIRES the parent was added before.
  PoolId add(PoolId parent = PoolId::none());
  // GPUs arrive in the pool and all above it (or leave, below zero).
  void resize(PoolId pool, std::int64_t change);

  std::size_t size() const { return pools_.size(); }
  std::int64_t capacity(PoolId pool) const { return pools_[pool.value].capacity; }
  PoolId parent(PoolId pool) const { return pools_[pool.value].parent; }
  const Profile& profile(PoolId pool) const { return pools_[pool.value].profile; }

  // As in Profile, for parts that are taken together.
  void start(PartsView parts, Time end);
  void finish(PartsView parts, Time end);
  void move_end(PartsView parts, Time from, Time to);
  void reserve(PartsView parts, Time start, Duration run);
  void drop(PartsView parts, Time start, Duration run);

  // Whether this could be taken over [from, from + run) beside everything that runs and is
  // reserved. With `from` = now: may work start now on these without delaying a reservation?
  bool fits(PartsView parts, Time now, Time from, Duration run) const;
  // The first instant, not before `from`, at which all parts fit together; never if there is none.
  // Visits as in Profile, and one more each time that a pool moves the start on.
  Time earliest(PartsView parts, Time now, Time from, Duration run, std::int64_t& visits) const;
  // The first expected end after the instant in any pool of the parts; never if there is none.
  Time next_end(PartsView parts, Time after) const;

  // The parts and what they take in the pools above: each pool once, in order of number.
  Parts with_pools_above(PartsView parts) const;

 private:
  struct Pool {
    PoolId parent;
    std::int64_t capacity = 0;
    Profile profile;
  };
  std::vector<Pool> pools_;
};

// Of several ways to take a task, the one that can begin first; of equals the first. Never: none.
struct Choice {
  std::size_t way = 0;
  Time start = Time::never();
};
Choice earliest_way(const Pools& pools, std::span<const Parts> ways, Time now, Time from,
                    Duration run, std::int64_t& visits);

}  // namespace berth::core
