// See gang_lack.h.
#include "core/topology/gang_lack.h"

#include <algorithm>
#include <bit>

namespace berth::core {
namespace {

bool would_fit(const FreeIndex& index, const Shape& shape, Level level, Visits& visits) {
  const GangNumbers gang = numbers_of(shape);
  const GangRoom room(index, gang, visits);
  return room.groups_in_cluster(shape.kinds, level, gang.groups) >= gang.groups;
}

Lacking what_lacks(const FreeIndex& index, const Shape& shape, Level level, Visits& visits) {
  Shape bare = shape;
  bare.cpu = {};
  bare.memory = {};
  if (would_fit(index, bare, level, visits)) {
    Shape without_memory = shape;
    without_memory.memory = {};
    return would_fit(index, without_memory, level, visits) ? Lacking::memory : Lacking::cpu;
  }
  if (level == Level::island && would_fit(index, bare, Level::node, visits)) {
    return Lacking::island;
  }
  bare.kinds = 0;
  return would_fit(index, bare, level, visits) ? Lacking::kind : Lacking::gpus;
}

// The domain that gives most GPUs among those that give fewer than a group needs.
class Closest {
 public:
  Closest(const FreeIndex& index, const Shape& shape, const GangNumbers& gang, Visits& visits)
      : index_(index), shape_(shape), gang_(gang), visits_(visits), room_(index, gang, visits) {}

  void find(Lack& lack) const {
    switch (lack.level) {
      case Level::gpu:
        return;
      case Level::island:
        find_island(lack);
        return;
      case Level::node:
        find_node(lack);
        return;
      case Level::rack:
        find_rack(lack);
        return;
      case Level::cluster:
        lack.gpus_found =
            static_cast<std::uint32_t>(room_.gpus_in(room_.cluster(shape_.kinds), gang_.gpus));
        return;
    }
  }

 private:
  void find_node(Lack& lack) const {
    const Capacity capacity(index_, gang_.demand, visits_);
    for (std::uint32_t gpus = std::min(gang_.group_size - 1, kSlots); gpus > 0; --gpus) {
      std::vector<std::uint32_t> found;
      for (const StretchNo stretch : room_.cluster(shape_.kinds))
        capacity.collect(stretch, gpus, 1, found);
      if (found.empty()) continue;
      lack.gpus_found = gpus;
      lack.closest = index_.at(found.front()).node.value;
      return;
    }
  }

  void find_rack(Lack& lack) const {
    const auto racks = room_.racks_with(shape_.kinds, 1);
    for (auto key = racks.rbegin(); key != racks.rend() && free_of(*key) > lack.gpus_found; ++key) {
      const auto gpus = static_cast<std::uint32_t>(
          room_.gpus_in_rack(RackId{domain_of(*key)}, shape_.kinds, gang_.group_size));
      keep(gpus, domain_of(*key), lack);
    }
  }

  void find_island(Lack& lack) const {
    const auto islands = room_.islands_with(shape_.kinds, 1);
    for (auto key = islands.rbegin(); key != islands.rend() && free_of(*key) > lack.gpus_found;
         ++key) {
      const JoinedIsland& island = index_.joined_islands()[domain_of(*key)];
      const auto gpus =
          static_cast<std::uint32_t>(room_.gpus_in({island.stretch}, gang_.group_size));
      keep(gpus, island.island.value, lack);
    }
    find_node_island(lack);
  }

  // Islands of single nodes, where one gives more than any found before. Once some carry a group,
  // larger ones are not among those that carry none, unless CPU or memory is short beside them.
  void find_node_island(Lack& lack) const {
    const Capacity capacity(index_, gang_.demand, visits_);
    const std::uint32_t size_max = lack.groups_found == 0 ? kSlots : gang_.group_size - 1;
    for (std::uint32_t gpus = std::min(gang_.group_size - 1, kSlots); gpus > lack.gpus_found;
         --gpus) {
      const auto position =
          capacity.tightest_island(room_.cluster(shape_.kinds, true), gpus, size_max);
      if (!position) continue;
      keep(gpus, island_with(*position, gpus), lack);
      return;
    }
  }

  // The smallest island of the node with so many free GPUs; none: GPUs that are not joined.
  std::uint32_t island_with(std::uint32_t position, std::uint32_t gpus) const {
    const PlacedNode& node = index_.at(position);
    const GpuMask chosen = index_.layout_at(position).choose(node.room.gpus, gpus);
    return index_.island_at(position, static_cast<std::uint32_t>(std::countr_zero(chosen))).value;
  }

  void keep(std::uint32_t gpus, std::uint32_t domain, Lack& lack) const {
    if (gpus >= gang_.group_size || gpus <= lack.gpus_found) return;
    lack.gpus_found = gpus;
    lack.closest = domain;
  }

  const FreeIndex& index_;
  const Shape& shape_;
  const GangNumbers& gang_;
  Visits& visits_;
  GangRoom room_;
};

}  // namespace

Lack lack_of(const FreeIndex& index, const Shape& shape, Visits& visits) {
  const GangNumbers gang = numbers_of(shape);
  const Level level = shape.required ? shape.within : Level::cluster;
  Lack lack{.level = level, .groups = gang.groups, .group_size = gang.group_size};
  if (level == Level::gpu && gang.group_size > 1) {
    lack.gpus_found = 1;
    return lack;
  }
  // At level gpu a group is one GPU, which any island holds.
  const Level counted = std::max(level, Level::island);
  const GangRoom room(index, gang, visits);
  lack.groups_found =
      static_cast<std::uint32_t>(room.groups_in_cluster(shape.kinds, counted, gang.groups));
  lack.what = what_lacks(index, shape, counted, visits);
  Closest(index, shape, gang, visits).find(lack);
  return lack;
}

}  // namespace berth::core
