// Gangs on clusters too large to try every placement, against plain scans; and that the index keeps
// no trace of its past.
#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "core/topology/test_gangs.h"
#include "core/topology/what_if.h"

namespace berth::core::gang_large_test {
namespace {

// Larger clusters than the oracle can try: several halvings, several racks.
TestTree large_tree(Dice& dice) {
  TestTree world;
  for (int rack = 0; rack < 4; ++rack) {
    world.rack();
    const IslandId wide = rack == 0 ? world.island() : IslandId{};
    for (int node = 0; node < 20; ++node) {
      const bool joined = wide && node < 9;
      world.node({.gpus = joined ? 4U : 8U,
                  .islands = dice.below(3),
                  .kind = joined ? 2 : dice.below(2),
                  .joined = joined ? wide : IslandId{}});
    }
  }
  return world;
}

Shape random_shape(Dice& dice) {
  Shape shape;
  shape.groups = static_cast<std::uint16_t>(1 + dice.below(dice.below(2) == 0 ? 2 : 40));
  shape.gpus = static_cast<std::uint16_t>(shape.groups * (1 + dice.below(dice.below(12) + 1)));
  if (shape.groups == 1 && dice.below(2) == 0) {
    shape.gpus = static_cast<std::uint16_t>(1 + dice.below(300));
  }
  shape.within = static_cast<Level>(1 + dice.below(4));
  shape.required = dice.below(2) == 0;
  if (dice.below(2) == 0) shape.cpu = Milli{dice.below(3 * shape.gpus)};
  if (dice.below(2) == 0) shape.memory = Mib{dice.below(3 * shape.gpus)};
  shape.kinds = dice.below(8);
  return shape;
}

// ---- By scanning all nodes
// -----------------------------------------------------------------------

// What a node could carry: GPUs in all, and the free GPUs of each of its islands.
struct Scanned {
  NodeId node;
  RackId rack;
  KindId kind;
  IslandId joined;
  std::uint32_t gpus = 0;
  std::map<std::uint32_t, std::uint32_t> islands;
};

std::vector<Scanned> scan(const HardwareTree& tree, const Rooms& rooms, const Shape& shape,
                          KindMask kinds) {
  std::vector<Scanned> nodes(tree.nodes.size());
  std::map<IslandId, std::set<NodeId>> spread;
  for (const TreeGpu& gpu : tree.gpus)
    spread[gpu.island].insert(gpu.node);
  for (std::uint32_t i = 0; i < tree.gpus.size(); ++i) {
    const TreeGpu& gpu = tree.gpus[i];
    Scanned& node = nodes[gpu.node.value];
    node.node = gpu.node;
    node.rack = tree.nodes[gpu.node.value].rack;
    node.kind = gpu.kind;
    if (gpu.island && spread[gpu.island].size() > 1) node.joined = gpu.island;
    if (!allows(kinds, gpu.kind)) continue;
    if ((rooms[gpu.node.value].gpus >> gpu.index & 1) == 0) continue;
    ++node.gpus;
    ++node.islands[gpu.island ? gpu.island.value : 10'000 + i];
  }
  for (Scanned& node : nodes) {
    const Room& room = rooms[node.node.value];
    const auto short_of = [&](std::int64_t need, std::int64_t free) {
      return node.gpus * need > free * shape.gpus;
    };
    while (node.gpus > 0 && (short_of(shape.cpu.value, room.cpu.value) ||
                             short_of(shape.memory.value, room.memory.value)))
      --node.gpus;
  }
  return nodes;
}

// The most GPUs each domain of the level can give to groups, and how many groups fit in all.
struct Counted {
  std::map<std::uint32_t, std::uint32_t> gpus;  // by domain; not at level island
  std::uint32_t groups = 0;
};

Counted count(const std::vector<Scanned>& nodes, const Shape& shape, Level level) {
  const std::uint32_t size = std::max<std::uint32_t>(shape.gpus / shape.groups, 1);
  Counted counted;
  std::map<IslandId, std::uint32_t> joined;
  for (const Scanned& node : nodes) {
    if (level == Level::island && node.joined) {
      joined[node.joined] += node.gpus;
    } else if (level == Level::island) {
      std::uint32_t groups = 0;
      for (const auto& [island, free] : node.islands)
        groups += free / size;
      counted.groups += std::min(groups, node.gpus / size);
    } else {
      const std::uint32_t domain = level == Level::node   ? node.node.value
                                   : level == Level::rack ? node.rack.value
                                                          : 0;
      counted.gpus[domain] += node.gpus;
    }
  }
  for (const auto& [island, gpus] : joined)
    counted.groups += gpus / size;
  for (const auto& [domain, gpus] : counted.gpus)
    counted.groups += gpus / size;
  return counted;
}

bool one_kind_fits(const HardwareTree& tree, const Rooms& rooms, const Shape& shape, Level level) {
  for (std::uint32_t kind = 0; kind < 3; ++kind) {
    if (!allows(shape.kinds, {kind})) continue;
    const auto nodes = scan(tree, rooms, shape, KindMask{1} << kind);
    if (count(nodes, shape, level).groups >= shape.groups) return true;
  }
  return false;
}

// Over several racks, no kind in use could have done with fewer nodes.
void expect_fewest_nodes(const Gang& gang, const HardwareTree& tree, const Rooms& rooms,
                         const Shape& shape) {
  std::set<RackId> racks;
  KindMask kinds = 0;
  for (const NodeTake& take : gang.nodes)
    racks.insert(tree.nodes[take.node.value].rack);
  for (const GpuId gpu : gang.gpus)
    kinds |= KindMask{1} << tree.gpus[gpu.value].kind.value;
  if (racks.size() == 1 || gang.within != Level::cluster) return;
  std::vector<std::uint32_t> gpus;
  for (const Scanned& node : scan(tree, rooms, shape, kinds))
    gpus.push_back(node.gpus);
  std::sort(gpus.rbegin(), gpus.rend());
  const auto fewer = gpus.begin() + static_cast<std::ptrdiff_t>(gang.nodes.size() - 1);
  EXPECT_LT(std::accumulate(gpus.begin(), fewer, 0U), shape.gpus);
}

void expect_true(const Lack& lack, const HardwareTree& tree, const Rooms& rooms,
                 const Shape& shape) {
  const Counted counted = count(scan(tree, rooms, shape, shape.kinds), shape, lack.level);
  EXPECT_LT(counted.groups, shape.groups);
  EXPECT_EQ(lack.groups_found, counted.groups);
  if (lack.level == Level::island) return;
  std::uint32_t most = 0;
  for (const auto& [domain, gpus] : counted.gpus) {
    if (gpus < lack.group_size || lack.level == Level::cluster) most = std::max(most, gpus);
  }
  EXPECT_EQ(lack.gpus_found, most);
  if (lack.level == Level::cluster || most == 0) return;
  EXPECT_EQ(counted.gpus.at(lack.closest), most);
}

TEST(LargeGangs, AnswersAsScansWould) {
  Dice dice(21);
  std::map<std::size_t, int> answers;
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const TestTree world = large_tree(dice);
    ASSERT_TRUE(flaws_in(world.tree).empty());
    FreeIndex index(world.tree);
    Rooms rooms(world.tree.nodes.size());
    for (int question = 0; question < 40; ++question) {
      for (std::uint32_t node = 0; node < rooms.size(); ++node) {
        if (question > 0 && dice.below(8) > 0) continue;
        rooms[node] = random_room(world, {node}, dice);
        index.set_node({node}, rooms[node]);
      }
      const Shape shape = random_shape(dice);
      const GangAnswer answer = find_gang(index, shape);
      ++answers[answer.index()];
      if (const auto* gang = std::get_if<Gang>(&answer)) {
        expect_sound(*gang, world.tree, rooms, shape);
        expect_fewest_nodes(*gang, world.tree, rooms, shape);
        for (Level level = shape.within; level < gang->within;
             level = static_cast<Level>(static_cast<int>(level) + 1))
          EXPECT_FALSE(one_kind_fits(world.tree, rooms, shape, level));
      } else {
        ASSERT_TRUE(std::holds_alternative<Lack>(answer));
        expect_true(std::get<Lack>(answer), world.tree, rooms, shape);
      }
      ASSERT_FALSE(HasFailure());
    }
  }
  EXPECT_GT(answers[0], 500);
  EXPECT_GT(answers[1], 300);
}

TEST(LargeGangs, AnIndexKeptUpToDateIsTheSameAsOneMadeAfresh) {
  Dice dice(13);
  const TestTree world = large_tree(dice);
  const auto nodes = static_cast<std::uint32_t>(world.tree.nodes.size());
  FreeIndex index(world.tree);
  for (int round = 0; round < 300; ++round) {
    for (int change = 0; change < 20; ++change) {
      const NodeId node{dice.below(nodes)};
      index.set_node(node, random_room(world, node, dice));
    }
    FreeIndex fresh(world.tree);
    for (std::uint32_t node = nodes; node-- > 0;)
      fresh.set_node({node}, index.room_on({node}));
    ASSERT_EQ(index, fresh);
    std::uint32_t free = 0;
    for (std::uint32_t node = 0; node < nodes; ++node)
      free += static_cast<std::uint32_t>(std::popcount(index.room_on({node}).gpus));
    ASSERT_EQ(index.free_gpus(), free);
    const Shape shape = random_shape(dice);
    ASSERT_EQ(find_gang(index, shape), find_gang(fresh, shape));
  }
}

TEST(LargeGangs, NestedPlansAreTakenBackExactly) {
  Dice dice(14);
  const TestTree world = large_tree(dice);
  FreeIndex index = world.index();
  const auto nodes = static_cast<std::uint32_t>(world.tree.nodes.size());
  for (int round = 0; round < 100; ++round) {
    const NodeId changed{dice.below(nodes)};
    index.set_node(changed, random_room(world, changed, dice));
    const FreeIndex before = index;
    {
      WhatIf outer(index);
      for (int i = 0; i < 10; ++i) {
        const NodeId node{dice.below(nodes)};
        outer.set_node(node, random_room(world, node, dice));
      }
      const FreeIndex between = index;
      {
        WhatIf inner(index);
        for (int i = 0; i < 5; ++i) {
          const GangAnswer answer = find_gang(index, random_shape(dice));
          if (const auto* gang = std::get_if<Gang>(&answer)) inner.take(*gang);
        }
      }
      ASSERT_EQ(index, between);
    }
    ASSERT_EQ(index, before);
  }
}

}  // namespace
}  // namespace berth::core::gang_large_test
