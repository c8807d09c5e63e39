// Gangs on random small clusters, against an oracle that tries every placement.
#include <algorithm>
#include <bit>
#include <functional>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "core/topology/gang_search.h"
#include "core/topology/test_gangs.h"

namespace berth::core::gang_property_test {
namespace {

TestTree random_tree(Dice& dice) {
  TestTree world;
  const std::uint32_t racks = 1 + dice.below(3);
  for (std::uint32_t rack = 0; rack < racks; ++rack) {
    world.rack();
    const std::uint32_t nodes = dice.below(4);
    const std::uint32_t kind = dice.below(2);
    const IslandId wide = dice.below(3) == 0 ? world.island() : IslandId{};
    for (std::uint32_t node = 0; node < nodes; ++node) {
      NodeWords words{.gpus = 1 + dice.below(6), .islands = dice.below(4), .kind = dice.below(2)};
      words.islands = std::min(words.islands, words.gpus);
      if (wide && dice.below(4) > 0) {
        words.kind = kind;
        words.joined = wide;
      }
      world.node(words);
    }
  }
  return world;
}

Shape random_shape(Dice& dice) {
  Shape shape;
  shape.groups = static_cast<std::uint16_t>(1 + dice.below(3));
  shape.gpus = static_cast<std::uint16_t>(shape.groups * (1 + dice.below(5)));
  shape.within = static_cast<Level>(dice.below(5));
  shape.required = dice.below(2) == 0;
  if (dice.below(2) == 0) shape.cpu = Milli{dice.below(3 * shape.gpus)};
  if (dice.below(2) == 0) shape.memory = Mib{dice.below(3 * shape.gpus)};
  shape.kinds = dice.below(4);
  return shape;
}

// ---- The oracle
// ----------------------------------------------------------------------------------

// GPUs that are alike: on one node, in one island (or in none, and then each for itself).
struct Part {
  NodeId node;
  RackId rack;
  std::uint32_t island = 0;
  std::uint32_t free = 0;
};

class Oracle {
 public:
  Oracle(const HardwareTree& tree, const Rooms& rooms, const Shape& shape, KindMask kinds)
      : rooms_(rooms), shape_(shape), on_node_(rooms.size()) {
    std::map<std::uint32_t, Part> parts;
    for (std::uint32_t i = 0; i < tree.gpus.size(); ++i) {
      const TreeGpu& gpu = tree.gpus[i];
      if (!allows(kinds, gpu.kind)) continue;
      if ((rooms[gpu.node.value].gpus >> gpu.index & 1) == 0) continue;
      const std::uint32_t island = gpu.island ? gpu.island.value : 1'000 + i;
      auto& part = parts.emplace(island * 100 + gpu.node.value, Part{}).first->second;
      part = {gpu.node, tree.nodes[gpu.node.value].rack, island, part.free + 1};
    }
    for (const auto& [key, part] : parts)
      parts_.push_back(part);
  }

  bool fits(Level level, std::uint32_t groups) {
    if (groups == 0) return true;
    std::uint32_t free = 0;
    for (const Part& part : parts_)
      free += part.free;
    group_size_ = shape_.gpus / shape_.groups;
    if (free < groups * group_size_) return false;
    // One GPU is a domain of level gpu; in the whole cluster groups make no difference.
    if (level == Level::gpu && group_size_ > 1) return false;
    if (level == Level::cluster) {
      group_size_ *= groups;
      groups = 1;
    }
    return place_groups(std::max(level, Level::island), groups, 0);
  }

 private:
  std::uint32_t domain(const Part& part, Level level) const {
    switch (level) {
      case Level::gpu:
      case Level::island:
        return part.island;
      case Level::node:
        return part.node.value;
      case Level::rack:
        return part.rack.value;
      case Level::cluster:
        return 0;
    }
    return 0;
  }

  // Groups are alike, so that they may come in the order of their domains.
  bool place_groups(Level level, std::uint32_t groups, std::uint32_t first_domain) {
    if (groups == 0) return true;
    std::set<std::uint32_t> domains;
    for (const Part& part : parts_)
      domains.insert(domain(part, level));
    return std::any_of(domains.lower_bound(first_domain), domains.end(), [&](std::uint32_t chosen) {
      return place_group(level, groups, chosen, 0, group_size_);
    });
  }

  // Every way to take `left` GPUs of the group from the parts of one domain.
  bool place_group(Level level, std::uint32_t groups, std::uint32_t chosen, std::size_t from,
                   std::uint32_t left) {
    if (left == 0) return place_groups(level, groups - 1, chosen);
    if (from == parts_.size()) return false;
    Part& part = parts_[from];
    const std::uint32_t most = domain(part, level) == chosen ? std::min(left, part.free) : 0;
    for (std::uint32_t taken = most + 1; taken-- > 0;) {
      part.free -= taken;
      on_node_[part.node.value] += taken;
      const bool found =
          node_gives(part.node) && place_group(level, groups, chosen, from + 1, left - taken);
      part.free += taken;
      on_node_[part.node.value] -= taken;
      if (found) return true;
    }
    return false;
  }

  bool node_gives(NodeId node) const {
    const std::int64_t gpus = on_node_[node.value];
    const Room& room = rooms_[node.value];
    return gpus * shape_.cpu.value <= room.cpu.value * shape_.gpus &&
           gpus * shape_.memory.value <= room.memory.value * shape_.gpus;
  }

  const Rooms& rooms_;
  const Shape& shape_;
  std::vector<Part> parts_;
  std::vector<std::uint32_t> on_node_;
  std::uint32_t group_size_ = 1;
};

bool fits(const HardwareTree& tree, const Rooms& rooms, const Shape& shape, Level level,
          KindMask kinds) {
  return Oracle(tree, rooms, shape, kinds).fits(level, shape.groups);
}

bool one_kind_fits(const HardwareTree& tree, const Rooms& rooms, const Shape& shape, Level level) {
  for (const std::uint32_t kind : {0U, 1U}) {
    if (!allows(shape.kinds, {kind})) continue;
    if (fits(tree, rooms, shape, level, KindMask{1} << kind)) return true;
  }
  return false;
}

// ---- What must hold of every answer
// --------------------------------------------------------------

// The level a gang should get; one kind if one fits at any level that is allowed.
void expect_best_level(const Gang& gang, const HardwareTree& tree, const Rooms& rooms,
                       const Shape& shape) {
  const Level first = std::max(shape.within, Level::island);
  const Level last = shape.required ? first : Level::cluster;
  const bool one_kind = one_kind_fits(tree, rooms, shape, last);
  std::set<KindId> kinds;
  for (const GpuId gpu : gang.gpus)
    kinds.insert(tree.gpus[gpu.value].kind);
  EXPECT_TRUE(!one_kind || kinds.size() == 1U);
  EXPECT_LE(gang.within, last);
  for (Level level = first; level < gang.within;
       level = static_cast<Level>(static_cast<int>(level) + 1)) {
    EXPECT_FALSE(one_kind ? one_kind_fits(tree, rooms, shape, level)
                          : fits(tree, rooms, shape, level, shape.kinds))
        << "a narrower level would have done";
  }
}

// A gang on several nodes (racks) could not have had one, of one kind.
void expect_narrowest_domain(const Gang& gang, const HardwareTree& tree, const Rooms& rooms,
                             const Shape& shape) {
  const auto rack_of = [&](const NodeTake& take) { return tree.nodes[take.node.value].rack; };
  const bool one_rack = std::all_of(gang.nodes.begin(), gang.nodes.end(), [&](const NodeTake& t) {
    return rack_of(t) == rack_of(gang.nodes.front());
  });
  std::set<KindId> kinds;
  std::set<std::uint32_t> islands;
  for (const GpuId gpu : gang.gpus) {
    const TreeGpu& placed = tree.gpus[gpu.value];
    kinds.insert(placed.kind);
    islands.insert(placed.island ? placed.island.value : 1'000 + gpu.value);
  }
  if (kinds.size() > 1) return;
  const auto only_where = [&](const std::function<bool(NodeId)>& keep) {
    Rooms kept = rooms;
    for (std::uint32_t node = 0; node < kept.size(); ++node) {
      if (!keep({node})) kept[node] = {};
    }
    return one_kind_fits(tree, kept, shape, gang.within);
  };
  for (std::uint32_t node = 0; node < rooms.size() && gang.nodes.size() > 1; ++node) {
    const bool one_node = only_where([&](NodeId id) { return id.value == node; });
    EXPECT_FALSE(one_node && islands.size() > 1) << "node " << node << " alone would have done";
  }
  for (std::uint32_t rack = 0; rack < tree.racks && !one_rack; ++rack) {
    EXPECT_FALSE(only_where([&](NodeId id) { return tree.nodes[id.value].rack.value == rack; }))
        << "rack " << rack << " alone would have done";
  }
  if (islands.size() == 1) return;
  Shape in_one = shape;
  in_one.groups = 1;
  EXPECT_FALSE(one_kind_fits(tree, rooms, in_one, Level::island) && shape.within != Level::node)
      << "one island would have done";
}

void expect_true(const Lack& lack, const HardwareTree& tree, const Rooms& rooms,
                 const Shape& shape) {
  EXPECT_EQ(lack.level, shape.required ? shape.within : Level::cluster);
  EXPECT_FALSE(fits(tree, rooms, shape, lack.level, shape.kinds));
  EXPECT_LT(lack.groups_found, lack.groups);
  Oracle oracle(tree, rooms, shape, shape.kinds);
  EXPECT_TRUE(oracle.fits(lack.level, lack.groups_found));
  EXPECT_FALSE(oracle.fits(lack.level, lack.groups_found + 1));
  Shape bare = shape;
  bare.cpu = {};
  bare.memory = {};
  const bool fits_bare = fits(tree, rooms, bare, lack.level, shape.kinds);
  const bool lacks_amounts = lack.what == Lacking::cpu || lack.what == Lacking::memory;
  EXPECT_EQ(fits_bare, lacks_amounts);
  const bool fits_any_kind = fits(tree, rooms, bare, lack.level, 0);
  EXPECT_TRUE(lack.what != Lacking::kind || fits_any_kind);
  EXPECT_TRUE(lack.what != Lacking::gpus || !fits_any_kind);
}

TEST(GangProperty, AnswersAsAnOracleThatTriesEverything) {
  Dice dice(11);
  std::map<std::size_t, int> answers;
  for (int round = 0; round < 3'000; ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const TestTree world = random_tree(dice);
    ASSERT_TRUE(flaws_in(world.tree).empty());
    FreeIndex index(world.tree);
    Rooms rooms(world.tree.nodes.size());
    for (int question = 0; question < 5; ++question) {
      for (std::uint32_t node = 0; node < rooms.size(); ++node) {
        if (question > 0 && dice.below(2) == 0) continue;
        rooms[node] = random_room(world, {node}, dice);
        index.set_node({node}, rooms[node]);
      }
      const Shape shape = random_shape(dice);
      const GangAnswer answer = find_gang(index, shape);
      ++answers[answer.index()];
      if (const auto* gang = std::get_if<Gang>(&answer)) {
        expect_sound(*gang, world.tree, rooms, shape);
        expect_best_level(*gang, world.tree, rooms, shape);
        expect_narrowest_domain(*gang, world.tree, rooms, shape);
        EXPECT_EQ(gang_fits(index, shape), GangFits::yes);
      } else {
        expect_true(std::get<Lack>(answer), world.tree, rooms, shape);
        EXPECT_EQ(gang_fits(index, shape), GangFits::no);
      }
      ASSERT_FALSE(HasFailure());
    }
  }
  EXPECT_GT(answers[0], 2'000);
  EXPECT_GT(answers[1], 2'000);
}

TEST(GangProperty, ABudgetNeverChangesAnAnswer) {
  Dice dice(12);
  int spent = 0;
  for (int round = 0; round < 500; ++round) {
    const TestTree world = random_tree(dice);
    FreeIndex index(world.tree);
    for (std::uint32_t node = 0; node < world.tree.nodes.size(); ++node)
      index.set_node({node}, random_room(world, {node}, dice));
    const Shape shape = random_shape(dice);
    const GangAnswer full = find_gang(index, shape);
    for (std::uint64_t visits = 0; visits < 100; visits += 1 + dice.below(5)) {
      const GangAnswer answer = find_gang(index, shape, visits);
      if (std::holds_alternative<OutOfVisits>(answer)) {
        ++spent;
      } else {
        ASSERT_EQ(answer, full);
      }
    }
  }
  EXPECT_GT(spent, 1'000);
}

}  // namespace
}  // namespace berth::core::gang_property_test
