// See plan.h.
#include "core/timeline/plan.h"

#include <algorithm>

namespace berth::core {
namespace {

Time next_end(const Pools& pools, std::span<const Parts> ways, Time now) {
  Time next = Time::never();
  for (const Parts& way : ways)
    next = std::min(next, pools.next_end(way, now));
  return next;
}

}  // namespace

namespace timeline {

void reserve_earliest(Pools& pools, Time now, const Pending& pending, bool scattered,
                      std::vector<Reservation>& reservations, std::int64_t& visits) {
  const Time from = scattered ? next_end(pools, pending.ways, now) : now;
  if (from == Time::never()) return;
  const Choice choice = earliest_way(pools, pending.ways, now, from, pending.run, visits);
  if (choice.start == Time::never()) return;
  const Parts& way = pending.ways[choice.way];
  reservations.push_back({pending.handle, choice.start, pending.run, way});
  pools.reserve(way, choice.start, pending.run);
}

}  // namespace timeline

const Reservation* reservation_of(const std::vector<Reservation>& reservations,
                                  std::uint64_t handle) {
  const auto own = std::find_if(reservations.begin(), reservations.end(),
                                [&](const Reservation& r) { return r.handle == handle; });
  return own == reservations.end() ? nullptr : &*own;
}

void drop_reservations(Pools& pools, std::vector<Reservation>& reservations) {
  for (const Reservation& r : reservations)
    pools.drop(r.parts, r.start, r.run);
  reservations.clear();
}

const Reservation* first_delayed(const Pools& pools, const std::vector<Reservation>& reservations,
                                 PartsView parts, Time now, Duration run) {
  const Parts taken = pools.with_pools_above(parts);
  for (const Reservation& r : reservations) {
    const Time from = std::max(now, r.start);
    const Time to = std::min(now + run, r.start + r.run);
    if (from >= to) continue;
    for (const Part& held : pools.with_pools_above(r.parts)) {
      const auto same = std::find_if(taken.begin(), taken.end(),
                                     [&held](const Part& part) { return part.pool == held.pool; });
      if (same == taken.end()) continue;
      if (pools.profile(held.pool).lowest(now, from, to) < same->amount) return &r;
    }
  }
  return nullptr;
}

void cap_long_work(const Pools& pools, const LongWork& rule, Duration run, std::int64_t amount,
                   Parts& way) {
  if (!rule.cap || run <= rule.limit) return;
  way.push_back({rule.cap, std::min(amount, pools.capacity(rule.cap))});
}

}  // namespace berth::core
