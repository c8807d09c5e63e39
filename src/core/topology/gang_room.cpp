// See gang_room.h.
#include "core/topology/gang_room.h"

#include <algorithm>

#include "base/assert.h"

namespace berth::core {
namespace {

std::uint64_t key_of(std::uint32_t free, std::uint32_t domain) {
  return static_cast<std::uint64_t>(free) << 32 | domain;
}

void append_from(const OrderedSet& order, std::uint32_t free_min,
                 std::vector<std::uint64_t>& keys) {
  order.visit_from(key_of(free_min, 0), [&](std::uint64_t key) {
    keys.push_back(key);
    return true;
  });
}

}  // namespace

GangNumbers numbers_of(const Shape& shape) {
  ASSERT(shape.gpus > 0 && shape.groups > 0 && shape.gpus % shape.groups == 0);
  const auto group_size = static_cast<std::uint32_t>(shape.gpus / shape.groups);
  return {shape.gpus, shape.groups, group_size, demand_of(shape)};
}

std::vector<StretchNo> stretches_of(const std::vector<RackRun>& runs) {
  std::vector<StretchNo> stretches;
  stretches.reserve(runs.size());
  for (const RackRun& run : runs)
    stretches.push_back(run.stretch);
  return stretches;
}

GangDemand GangRoom::by_group(bool in_islands) const {
  GangDemand demand = gang_.demand;
  demand.unit = gang_.group_size;
  demand.in_islands = in_islands;
  return demand;
}

std::vector<StretchNo> GangRoom::cluster(KindMask kinds, bool loose) const {
  std::vector<StretchNo> stretches;
  for (const Pool& pool : index_.pools()) {
    if (wanted(pool, kinds, loose)) stretches.push_back(pool.all);
  }
  return stretches;
}

std::vector<RackRun> GangRoom::rack(RackId rack, KindMask kinds, bool loose) const {
  std::vector<RackRun> runs;
  append_rack(rack, kinds, loose, runs);
  return runs;
}

void GangRoom::append_rack(RackId rack, KindMask kinds, bool loose,
                           std::vector<RackRun>& runs) const {
  for (const PoolPart& part : index_.parts_of(rack)) {
    if (wanted(index_.pools()[part.pool], kinds, loose)) runs.push_back({rack, part.stretch});
  }
}

std::vector<std::uint64_t> GangRoom::racks_with(KindMask kinds, std::uint32_t free_min) const {
  std::vector<std::uint64_t> keys;
  std::vector<KindId> wanted_kinds;
  for (const KindId kind : index_.kinds()) {
    if (allows(kinds, kind)) wanted_kinds.push_back(kind);
  }
  if (wanted_kinds.size() == 1) {
    append_from(index_.racks_by_free(wanted_kinds.front()), free_min, keys);
    return keys;
  }
  // Of several kinds: each rack once, by the sum.
  for (const KindId kind : wanted_kinds)
    append_from(index_.racks_by_free(kind), 1, keys);
  for (std::uint64_t& key : keys)
    key = domain_of(key);
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  for (std::uint64_t& key : keys) {
    std::uint32_t free = 0;
    for (const KindId kind : wanted_kinds)
      free += index_.free_gpus(RackId{domain_of(key)}, kind);
    key = key_of(free, domain_of(key));
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(keys.begin(), std::lower_bound(keys.begin(), keys.end(), key_of(free_min, 0)));
  return keys;
}

std::vector<std::uint64_t> GangRoom::islands_with(KindMask kinds, std::uint32_t free_min) const {
  std::vector<std::uint64_t> keys;
  for (const KindId kind : index_.kinds()) {
    if (allows(kinds, kind)) append_from(index_.islands_by_free(kind), free_min, keys);
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::vector<std::uint64_t> GangRoom::islands_with(RackId rack, KindMask kinds,
                                                  std::uint32_t free_min) const {
  std::vector<std::uint64_t> keys;
  for (const std::uint32_t place : index_.joined_in(rack)) {
    const std::uint32_t free = index_.free_in_island(place);
    if (free < free_min || !allows(kinds, index_.joined_islands()[place].kind)) continue;
    keys.push_back(key_of(free, place));
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

std::uint64_t GangRoom::sum(const GangDemand& demand, const std::vector<StretchNo>& stretches,
                            std::uint64_t enough) const {
  const Capacity capacity(index_, demand, visits_);
  std::uint64_t units = 0;
  for (const StretchNo stretch : stretches) {
    if (units >= enough) break;
    units += capacity.units_in(stretch, enough - units);
  }
  return units;
}

std::uint64_t GangRoom::gpus_in(const std::vector<StretchNo>& stretches,
                                std::uint64_t enough) const {
  return sum(gang_.demand, stretches, enough);
}

std::uint64_t GangRoom::gpus_in_rack(RackId rack_id, KindMask kinds, std::uint64_t enough) const {
  return gpus_in(stretches_of(rack(rack_id, kinds)), enough);
}

std::uint64_t GangRoom::groups_in_island(std::uint32_t place, Level level,
                                         std::uint64_t enough) const {
  const std::vector<StretchNo> nodes{index_.joined_islands()[place].stretch};
  if (level == Level::node) return sum(by_group(false), nodes, enough);
  return gpus_in(nodes, enough * gang_.group_size) / gang_.group_size;
}

std::uint64_t GangRoom::groups_in_islands(const std::vector<std::uint64_t>& islands,
                                          std::uint64_t enough) const {
  std::uint64_t groups = 0;
  for (auto key = islands.rbegin(); key != islands.rend() && groups < enough; ++key)
    groups += groups_in_island(domain_of(*key), Level::island, enough - groups);
  return groups;
}

std::uint64_t GangRoom::groups_in_rack(RackId rack_id, KindMask kinds, Level level,
                                       std::uint64_t enough) const {
  if (level == Level::node) {
    return sum(by_group(false), stretches_of(rack(rack_id, kinds)), enough);
  }
  if (level == Level::island) {
    const std::uint64_t joined =
        groups_in_islands(islands_with(rack_id, kinds, gang_.group_size), enough);
    if (joined >= enough) return joined;
    const auto loose = stretches_of(rack(rack_id, kinds, true));
    return joined + sum(by_group(true), loose, enough - joined);
  }
  return gpus_in_rack(rack_id, kinds, enough * gang_.group_size) / gang_.group_size;
}

std::uint64_t GangRoom::groups_in_cluster(KindMask kinds, Level level, std::uint64_t enough) const {
  if (level == Level::node) return sum(by_group(false), cluster(kinds), enough);
  if (level == Level::island) {
    const std::uint64_t loose = sum(by_group(true), cluster(kinds, true), enough);
    if (loose >= enough) return loose;
    return loose + groups_in_islands(islands_with(kinds, gang_.group_size), enough - loose);
  }
  if (level == Level::cluster) {
    return gpus_in(cluster(kinds), enough * gang_.group_size) / gang_.group_size;
  }
  const auto racks = racks_with(kinds, gang_.group_size);
  std::uint64_t groups = 0;
  for (auto key = racks.rbegin(); key != racks.rend() && groups < enough; ++key)
    groups += groups_in_rack(RackId{domain_of(*key)}, kinds, level, enough - groups);
  return groups;
}

}  // namespace berth::core
