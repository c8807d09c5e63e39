// FreeTimes: the domains of one level, by when they will have so much free.
//
// For reservations inside a node or rack: of thousands of domains only the few that are free first
// come into question. Reservations are not counted: the caller asks for more domains than there are
// reservations, and looks at those one by one. An index over pools: it is
// filled when an amount is first asked for and follows what changes. Knows no tasks.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "core/timeline/pools.h"

namespace berth::core {

class FreeTimes {
 public:
  FreeTimes(const std::vector<PoolId>& domains, std::int64_t amount);

  std::int64_t amount() const { return amount_; }
  // What runs in the domain has changed.
  void note(PoolId domain);
  // The first so many by time, then by number; those that never have it not among them.
  std::vector<PoolId> first(const Pools& pools, std::size_t count);

 private:
  void update(const Pools& pools);

  std::int64_t amount_;
  std::set<PoolId> changed_;
  std::map<PoolId, Time> at_;
  std::set<std::pair<Time, PoolId>> order_;
};

}  // namespace berth::core
