// PackIndex against a scan of all nodes and against an index made afresh; and what its answers
// mean.
#include "core/packing/pack_index.h"

#include <bit>
#include <map>

#include <gtest/gtest.h>

namespace berth::core::pack_index_test {
namespace {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::int64_t below(std::int64_t n) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::int64_t>((state_ >> 33) % static_cast<std::uint64_t>(n));
  }
  template <class T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<std::int64_t>(values.size()))];
  }

 private:
  std::uint64_t state_;
};

NodeView empty_node(std::uint32_t kind, int gpus, std::int64_t cores, int islands = 1) {
  NodeView view;
  view.kind = KindId{kind};
  view.gpus = static_cast<std::uint8_t>(gpus);
  view.cpu = Milli{cores * 1000};
  view.memory = Mib{256 * 1024};
  for (std::size_t i = 0; i < view.gpus; ++i) {
    view.left[i] = 1000;
    view.vram[i] = 40'000;
    view.island[i] = static_cast<std::uint8_t>(i * static_cast<std::size_t>(islands) / view.gpus);
  }
  return view;
}

Shape shape_of(int gpus, int share, std::int64_t cpu) {
  Shape shape;
  shape.gpus = static_cast<std::uint16_t>(gpus);
  shape.share = static_cast<std::uint16_t>(share);
  shape.cpu = Milli{cpu};
  shape.memory = Mib{1024};
  return shape;
}

Shape random_shape(Dice& dice) {
  Shape shape;
  shape.gpus = dice.pick<std::uint16_t>({0, 1, 1, 1, 1, 2, 4, 8});
  if (shape.gpus == 1) shape.share = static_cast<std::uint16_t>(1 + dice.below(1000));
  if (dice.below(2) == 0 && shape.gpus == 1) shape.share = dice.pick<std::uint16_t>({7, 470, 810});
  shape.cpu = Milli{dice.below(20) * 777};
  shape.memory = Mib{dice.below(100) * 1024};
  if (dice.below(4) == 0) shape.vram = static_cast<std::uint32_t>(dice.below(45'000));
  if (dice.below(4) == 0) shape.kinds = static_cast<KindMask>(1 + dice.below(7));
  shape.required = dice.below(3) == 0;
  shape.within = shape.required ? Level::island : Level::cluster;
  return shape;
}

void take(NodeView& view, const Shape& shape, GpuSet gpus) {
  view.cpu -= shape.cpu;
  view.memory -= shape.memory;
  for (; gpus != 0; gpus &= gpus - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(gpus));
    view.left[i] = static_cast<std::uint16_t>(view.left[i] - shape.share);
    view.vram[i] -= shape.vram;
  }
}

TypicalMix random_mix(Dice& dice) {
  Mix mix;
  for (int i = 0; i < 200; ++i)
    mix.note_arrival(random_shape(dice));
  return typical(mix);
}

ValueTable random_table(Dice& dice) {
  ValueTable table;
  table.pages.resize(1);
  table.pages[0].kind = KindId{1};
  for (ValueTable::Page* page : {&table.any, &table.pages[0].page}) {
    for (auto& row : *page) {
      for (std::uint32_t r = 0; r < kResiduals; ++r)
        row[r] = static_cast<std::int32_t>(dice.below(r * 5'000 + 1));
    }
  }
  return table;
}

using Nodes = std::map<std::uint32_t, NodeView>;

// The order of ties, asked of the index itself: the only node it can name.
std::uint32_t rank_of(std::uint32_t node, const std::vector<std::uint32_t>& order) {
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    if (order[i] == node) return i;
  }
  return UINT32_MAX;
}

// All ids in the order in which an index of equal nodes names them.
std::vector<std::uint32_t> order_of_ties(std::uint32_t nodes) {
  PackIndex index;
  for (std::uint32_t i = 0; i < nodes; ++i)
    index.put(NodeId{i}, empty_node(0, 1, 8));
  std::vector<std::uint32_t> order;
  while (const auto choice = index.best(shape_of(1, 1000, 0))) {
    order.push_back(choice->node.value);
    index.erase(choice->node);
  }
  return order;
}

// The node of least cost by looking at every one; none when the shape fits nowhere.
std::optional<std::uint32_t> scan(const Nodes& nodes, const Worth& worth, const Shape& shape,
                                  const std::vector<std::uint32_t>& order) {
  std::optional<std::pair<std::int32_t, std::uint32_t>> best;
  for (const auto& [id, view] : nodes) {
    if (!fits(view, shape)) continue;
    const NodeState state = canonical(outline(view));
    const std::pair key{worth.cheapest(state, worth.phi(state), shape), rank_of(id, order)};
    EXPECT_NE(key.first, kCostNone) << "a node that fits has no cost";
    if (!best || key < *best) best = key;
  }
  if (!best) return std::nullopt;
  return order[best->second];
}

// Random nodes come, go, fill and empty; mix and table change; the long-lived index, a fresh one
// and the scan always agree, and the GPUs named can carry the shape.
TEST(PackIndex, AnswersLikeAScanWhateverCameBefore) {
  constexpr std::uint32_t kNodes = 40;
  const std::vector<std::uint32_t> order = order_of_ties(kNodes);
  ASSERT_EQ(order.size(), kNodes);
  int answered = 0;
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    Dice dice(seed);
    PackIndex index;
    Nodes nodes;
    for (int round = 0; round < 1500; ++round) {
      const auto id = static_cast<std::uint32_t>(dice.below(kNodes));
      if (dice.below(3) == 0) {
        const int gpus = dice.pick({0, 1, 2, 4, 8, 16});
        const int islands = gpus >= 4 ? dice.pick({1, 2, 4}) : 1;
        nodes[id] = empty_node(static_cast<std::uint32_t>(dice.below(3)), gpus, 96, islands);
        index.put(NodeId{id}, nodes[id]);
      } else if (nodes.contains(id) && dice.below(12) == 0) {
        nodes.erase(id);
        index.erase(NodeId{id});
      }
      if (dice.below(100) == 0) index.set_mix(random_mix(dice));
      if (dice.below(100) == 0) index.set_table(random_table(dice));
      if (dice.below(300) == 0) index.set_table(std::nullopt);

      const Shape shape = random_shape(dice);
      const auto choice = index.best(shape);
      const auto expected = scan(nodes, index.worth(), shape, order);
      ASSERT_EQ(choice.has_value(), expected.has_value()) << "seed " << seed << " round " << round;
      if (dice.below(20) == 0) {
        PackIndex fresh;
        fresh.set_table(index.worth().table());
        for (const auto& [node, view] : nodes)
          fresh.put(NodeId{node}, view);
        fresh.set_mix(index.worth().mix());
        ASSERT_EQ(fresh.best(shape), choice) << "seed " << seed << " round " << round;
      }
      (choice ? answered : refused) += 1;
      if (!choice) continue;
      ASSERT_EQ(choice->node.value, *expected) << "seed " << seed << " round " << round;
      NodeView& view = nodes[*expected];
      ASSERT_EQ(std::popcount(choice->gpus), shape.gpus);
      ASSERT_EQ(choice->gpus & ~usable_gpus(view, shape), 0U);
      take(view, shape, choice->gpus);
      index.put(choice->node, view);
    }
  }
  EXPECT_GT(answered, 3000);
  EXPECT_GT(refused, 100);
}

TEST(PackIndex, CachesOfScoresAreBoundedAndDroppingThemChangesNothing) {
  Dice dice(9);
  PackIndex index;
  Nodes nodes;
  const std::vector<std::uint32_t> order = order_of_ties(20);
  index.set_mix(random_mix(dice));
  for (std::uint32_t i = 0; i < 20; ++i)
    index.put(NodeId{i}, nodes[i] = empty_node(0, 8, 96));
  for (int round = 0; round < 2000; ++round) {
    // Far more classes than caches; the first ones come again when theirs are long gone.
    const Shape shape = shape_of(1, 10 + round % 500, 100);
    const auto choice = index.best(shape);
    const auto expected = scan(nodes, index.worth(), shape, order);
    ASSERT_EQ(choice.has_value(), expected.has_value());
    if (!choice) {
      const auto id = static_cast<std::uint32_t>(dice.below(20));
      index.put(NodeId{id}, nodes[id] = empty_node(0, 8, 96));
      continue;
    }
    ASSERT_EQ(choice->node.value, *expected) << round;
    take(nodes[*expected], shape, choice->gpus);
    index.put(choice->node, nodes[*expected]);
  }
}

TEST(PackIndex, NodesAlikeShareOneState) {
  PackIndex index;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    NodeView view = empty_node(0, 8, 96);
    view.left[i % 8] = 190;  // which GPU it is does not matter
    index.put(NodeId{i}, view);
  }
  EXPECT_EQ(index.states(), 1U);
}

TEST(PackIndex, FindsTheLastCrumbOfAGpuOnAFullNode) {
  PackIndex index;
  NodeView view = empty_node(0, 2, 8);
  view.left = {0, 7};  // less than the states can tell
  index.put(NodeId{3}, view);
  EXPECT_EQ(index.best(shape_of(1, 7, 0)), (PackIndex::Choice{NodeId{3}, 2}));
  EXPECT_FALSE(index.best(shape_of(1, 8, 0)));
}

TEST(PackIndex, VramIsAskedExactly) {
  PackIndex index;
  NodeView view = empty_node(0, 2, 8);
  view.vram = {10, 20};
  index.put(NodeId{0}, view);
  Shape shape = shape_of(1, 100, 0);
  shape.vram = 15;
  EXPECT_EQ(index.best(shape)->gpus, 2U);
  shape.vram = 21;
  EXPECT_FALSE(index.best(shape));
}

TEST(PackIndex, SeveralGpusLieInTheSmallestIslandThatHasThem) {
  PackIndex index;
  NodeView view = empty_node(0, 8, 96, 2);
  view.left[5] = 500;  // the second island has three whole GPUs, the first four
  index.put(NodeId{0}, view);
  EXPECT_EQ(index.best(shape_of(2, 1000, 0))->gpus, 0b0101'0000U);
  EXPECT_EQ(index.best(shape_of(4, 1000, 0))->gpus, 0b0000'1111U);
  EXPECT_EQ(std::popcount(index.best(shape_of(7, 1000, 0))->gpus), 7);
  Shape within = shape_of(5, 1000, 0);
  within.within = Level::island;
  EXPECT_TRUE(index.best(within));
  within.required = true;
  EXPECT_FALSE(index.best(within));
}

TEST(PackIndex, AnIslandIsNotBrokenWhileABrokenOneHasRoom) {
  PackIndex index;
  NodeView broken = empty_node(0, 8, 96, 2);
  broken.left[0] = 0;
  index.put(NodeId{0}, broken);
  index.put(NodeId{1}, empty_node(0, 8, 96, 2));
  for (std::uint32_t used = 1; used < 4; ++used) {
    const auto choice = index.best(shape_of(1, 1000, 0));
    ASSERT_EQ(choice->node, NodeId{0});
    ASSERT_EQ(choice->gpus & 0b1111U, choice->gpus) << "the broken island first";
    take(broken, shape_of(1, 1000, 0), choice->gpus);
    index.put(NodeId{0}, broken);
  }
}

// GPUs behind exhausted CPUs are lost: work that needs no GPU goes where none is left idle.
TEST(PackIndex, CpuWorkGoesWhereNoGpuIsStranded) {
  Mix mix;
  for (int i = 0; i < 100; ++i)
    mix.note_arrival(shape_of(1, 1000, 12'000));
  PackIndex index;
  index.set_mix(typical(mix));
  NodeView full = empty_node(0, 8, 40);
  full.left = {};
  for (std::uint32_t i = 0; i < 50; ++i)
    index.put(NodeId{i}, i == 33 ? full : empty_node(0, 8, 96));
  EXPECT_EQ(index.best(shape_of(0, 1000, 32'000))->node, NodeId{33});
}

TEST(PackIndex, AScarceKindIsSparedForThoseWhoNeedIt) {
  Mix mix;
  Shape choosy = shape_of(1, 1000, 1000);
  choosy.kinds = 1;
  for (int i = 0; i < 100; ++i)
    mix.note_arrival(i % 2 == 0 ? choosy : shape_of(1, 1000, 1000));
  PackIndex index;
  index.set_mix(typical(mix));
  for (std::uint32_t i = 0; i < 40; ++i)
    index.put(NodeId{i}, empty_node(i < 4 ? 0 : 1, 8, 96));
  for (int i = 0; i < 36 * 8; ++i) {
    const auto choice = index.best(shape_of(1, 1000, 1000));
    ASSERT_TRUE(choice);
    NodeView view = *index.find(choice->node);
    ASSERT_EQ(view.kind, KindId{1}) << i;
    take(view, shape_of(1, 1000, 1000), choice->gpus);
    index.put(choice->node, view);
  }
}

}  // namespace
}  // namespace berth::core::pack_index_test
