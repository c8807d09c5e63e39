// See pools.h.
#include "core/timeline/pools.h"

#include <algorithm>

#include "base/assert.h"

namespace berth::core {

PoolId Pools::add(PoolId parent) {
  ASSERT(!parent || parent.value < pools_.size());
  pools_.push_back({.parent = parent, .profile = {}});
  return PoolId{static_cast<std::uint32_t>(pools_.size() - 1)};
}

void Pools::resize(PoolId pool, std::int64_t change) {
  for (; pool; pool = pools_[pool.value].parent) {
    pools_[pool.value].capacity += change;
    pools_[pool.value].profile.resize(change);
  }
}

Parts Pools::with_pools_above(PartsView parts) const {
  Parts all;
  all.reserve(parts.size() * 4);
  for (const Part& part : parts) {
    for (PoolId pool = part.pool; pool; pool = pools_[pool.value].parent) {
      all.push_back({pool, part.amount});
    }
  }
  std::sort(all.begin(), all.end());
  std::size_t kept = 0;
  for (const Part& part : all) {
    if (kept > 0 && all[kept - 1].pool == part.pool) {
      all[kept - 1].amount += part.amount;
    } else {
      all[kept++] = part;
    }
  }
  all.resize(kept);
  return all;
}

void Pools::start(PartsView parts, Time end) {
  for (const auto& [pool, amount] : with_pools_above(parts)) {
    pools_[pool.value].profile.start(end, amount);
  }
}

void Pools::finish(PartsView parts, Time end) {
  for (const auto& [pool, amount] : with_pools_above(parts)) {
    pools_[pool.value].profile.finish(end, amount);
  }
}

void Pools::move_end(PartsView parts, Time from, Time to) {
  for (const auto& [pool, amount] : with_pools_above(parts)) {
    pools_[pool.value].profile.move_end(from, to, amount);
  }
}

void Pools::reserve(PartsView parts, Time start, Duration run) {
  for (const auto& [pool, amount] : with_pools_above(parts)) {
    pools_[pool.value].profile.reserve(start, run, amount);
  }
}

void Pools::drop(PartsView parts, Time start, Duration run) {
  for (const auto& [pool, amount] : with_pools_above(parts)) {
    pools_[pool.value].profile.drop(start, run, amount);
  }
}

bool Pools::fits(PartsView parts, Time now, Time from, Duration run) const {
  const Parts all = with_pools_above(parts);
  // Narrow pools have larger numbers as a rule, and are full more often: they are asked first.
  return std::all_of(all.rbegin(), all.rend(), [&](const Part& part) {
    return profile(part.pool).fits(now, from, run, part.amount);
  });
}

Time Pools::earliest(PartsView parts, Time now, Time from, Duration run,
                     std::int64_t& visits) const {
  const Parts all = with_pools_above(parts);
  Time start = from;
  // Each pool in turn moves the start on to its own first fit; it stands when nobody moves it.
  std::size_t agreed = 0;
  for (std::size_t i = 0; agreed < all.size(); i = (i + 1) % all.size()) {
    const Time moved = profile(all[i].pool).earliest(now, start, run, all[i].amount, visits);
    if (moved == Time::never()) return moved;
    if (moved == start) {
      ++agreed;
    } else {
      agreed = 1;
      start = moved;
      --visits;
    }
  }
  return start;
}

Time Pools::next_end(PartsView parts, Time after) const {
  Time next = Time::never();
  for (const Part& part : parts)
    next = std::min(next, profile(part.pool).next_end(after));
  return next;
}

Choice earliest_way(const Pools& pools, std::span<const Parts> ways, Time now, Time from,
                    Duration run, std::int64_t& visits) {
  Choice best;
  for (std::size_t way = 0; way < ways.size(); ++way) {
    const Time start = pools.earliest(ways[way], now, from, run, visits);
    if (start < best.start) best = {way, start};
    if (best.start == from) break;
  }
  return best;
}

}  // namespace berth::core
