// What tests of random gangs share: dice, rooms, and what must hold of every gang.
#pragma once

#include <bit>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "core/topology/gang_search.h"
#include "core/topology/ranks.h"
#include "core/topology/test_trees.h"

namespace berth::core {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::uint32_t below(std::uint32_t n) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::uint32_t>((state_ >> 33) % n);
  }

 private:
  std::uint64_t state_;
};

using Rooms = std::vector<Room>;  // by NodeId

inline Room random_room(const TestTree& world, NodeId node, Dice& dice) {
  const std::uint32_t mask = dice.below(1U << kSlots) | (dice.below(2) == 0 ? 0xFFFF : 0);
  return {static_cast<GpuMask>(world.gpus_of(node) & mask),
          dice.below(2) == 0 ? Milli{100} : Milli{dice.below(9)},
          dice.below(2) == 0 ? Mib{100} : Mib{dice.below(9)}};
}

template <class DomainOf>
void expect_groups_in_one(const Gang& gang, const DomainOf& domain_of) {
  for (std::size_t group = 0; group * gang.group_size < gang.gpus.size(); ++group) {
    std::set<std::uint32_t> domains;
    for (const GpuId gpu : gang.group(group))
      domains.insert(domain_of(gpu));
    EXPECT_EQ(domains.size(), 1U);
  }
}

inline void expect_sound(const Gang& gang, const HardwareTree& tree, const Rooms& rooms,
                         const Shape& shape) {
  ASSERT_EQ(gang.gpus.size(), shape.gpus);
  ASSERT_EQ(gang.group_size * shape.groups, shape.gpus);
  std::map<NodeId, std::uint32_t> masks;
  for (const GpuId gpu : gang.gpus) {
    const TreeGpu& placed = tree.gpus[gpu.value];
    const std::uint32_t bit = 1U << placed.index;
    EXPECT_TRUE(allows(shape.kinds, placed.kind));
    EXPECT_NE(rooms[placed.node.value].gpus & bit, 0U) << "not free";
    EXPECT_EQ(masks[placed.node] & bit, 0U) << "given twice";
    masks[placed.node] |= bit;
  }
  ASSERT_EQ(masks.size(), gang.nodes.size());
  for (const NodeTake& take : gang.nodes) {
    EXPECT_EQ(masks[take.node], take.gpus);
    const std::int64_t gpus = std::popcount(take.gpus);
    EXPECT_EQ(take.cpu.value, (gpus * shape.cpu.value + shape.gpus - 1) / shape.gpus);
    EXPECT_EQ(take.memory.value, (gpus * shape.memory.value + shape.gpus - 1) / shape.gpus);
    EXPECT_LE(take.cpu, rooms[take.node.value].cpu);
    EXPECT_LE(take.memory, rooms[take.node.value].memory);
  }
  const Ranks ranks = ranks_of(gang, tree);
  EXPECT_EQ(ranks.hosts.size(), gang.nodes.size()) << "the ranks of a node stand apart";
  const auto gpu_of = [&](GpuId gpu) -> const TreeGpu& { return tree.gpus[gpu.value]; };
  if (gang.within == Level::node) {
    expect_groups_in_one(gang, [&](GpuId gpu) { return gpu_of(gpu).node.value; });
  } else if (gang.within == Level::rack) {
    expect_groups_in_one(gang,
                         [&](GpuId gpu) { return tree.nodes[gpu_of(gpu).node.value].rack.value; });
  } else if (gang.within <= Level::island) {
    expect_groups_in_one(gang, [&](GpuId gpu) {
      return gpu_of(gpu).island ? gpu_of(gpu).island.value : 1'000 + gpu.value;
    });
  }
}

}  // namespace berth::core
