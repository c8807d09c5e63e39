// Self-play: the same table whatever the order of arrivals, and a table that is worth having.
#include "learn/self_play.h"

#include <algorithm>
#include <bit>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "core/packing/pack_index.h"

namespace berth::learn::self_play_test {
namespace {

using core::NodeView;
using core::Shape;

constexpr std::int64_t kGpus = 30 * 8 + 10 * 2;

std::vector<NodeView> small_cluster() {
  std::vector<NodeView> nodes(40);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    NodeView& node = nodes[i];
    node.kind = KindId{i < 30 ? 0U : 1U};
    node.gpus = i < 30 ? 8 : 2;
    node.cpu = Milli{96'000};
    node.memory = Mib{400'000};
    std::fill_n(node.left.begin(), node.gpus, 1000);
  }
  return nodes;
}

Shape shape_of(int gpus, int share, std::int64_t cpu) {
  Shape shape;
  shape.gpus = static_cast<std::uint16_t>(gpus);
  shape.share = static_cast<std::uint16_t>(share);
  shape.cpu = Milli{cpu};
  shape.memory = Mib{8000};
  return shape;
}

std::vector<Shape> arrivals() {
  std::vector<Shape> shapes;
  shapes.insert(shapes.end(), 400, shape_of(1, 1000, 11'000));
  shapes.insert(shapes.end(), 200, shape_of(1, 810, 3'000));
  shapes.insert(shapes.end(), 150, shape_of(1, 470, 8'000));
  shapes.insert(shapes.end(), 80, shape_of(1, 190, 2'000));
  shapes.insert(shapes.end(), 100, shape_of(0, 1000, 12'000));
  shapes.insert(shapes.end(), 10, shape_of(8, 1000, 64'000));
  return shapes;
}

void shuffle(std::vector<Shape>& shapes, std::uint64_t seed) {
  Rng rng(seed);
  for (std::size_t i = shapes.size(); i > 1; --i)
    std::swap(shapes[i - 1],
              shapes[static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(i) - 1))]);
}

core::TypicalMix mix_of(const std::vector<Shape>& shapes) {
  core::Mix mix;
  for (const Shape& shape : shapes)
    mix.note_arrival(shape);
  return typical(mix);
}

// Thousandths of a GPU in use when arrivals have asked for 130 % of the GPUs.
std::int64_t used_with(const std::optional<core::ValueTable>& table, std::vector<Shape> shapes,
                       std::uint64_t seed) {
  core::PackIndex index;
  index.set_mix(mix_of(shapes));
  index.set_table(table);
  const std::vector<NodeView> nodes = small_cluster();
  for (std::uint32_t i = 0; i < nodes.size(); ++i)
    index.put(NodeId{i}, nodes[i]);
  shuffle(shapes, seed);
  std::int64_t used = 0;
  std::int64_t asked = 0;
  for (const Shape& shape : shapes) {
    asked += std::int64_t{shape.gpus} * shape.share;
    if (asked > kGpus * 1300) break;
    const auto choice = index.best(shape);
    if (!choice) continue;
    NodeView view = *index.find(choice->node);
    view.cpu -= shape.cpu;
    view.memory -= shape.memory;
    for (core::GpuSet rest = choice->gpus; rest != 0; rest &= rest - 1) {
      std::uint16_t& left = view.left[static_cast<std::size_t>(std::countr_zero(rest))];
      left = static_cast<std::uint16_t>(left - shape.share);
    }
    index.put(choice->node, view);
    used += std::int64_t{shape.gpus} * shape.share;
  }
  return used;
}

TEST(SelfPlay, ShuffledArrivalsGiveTheSameTable) {
  std::vector<Shape> shapes = arrivals();
  const auto table = train_value_table(small_cluster(), mix_of(shapes));
  ASSERT_TRUE(table);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    shuffle(shapes, seed);
    const auto again = train_value_table(small_cluster(), mix_of(shapes));
    ASSERT_TRUE(again);
    EXPECT_EQ(encode(*again), encode(*table));
  }
  shapes.insert(shapes.end(), 50, shape_of(1, 350, 1000));
  EXPECT_NE(encode(*train_value_table(small_cluster(), mix_of(shapes))), encode(*table));
}

TEST(SelfPlay, ItsTableCanBeReadBack) {
  const auto table = train_value_table(small_cluster(), mix_of(arrivals()));
  ASSERT_TRUE(table);
  const auto read = core::decode_value_table(encode(*table));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, *table);
  EXPECT_EQ(table->pages.size(), 2U) << "one for each kind in the inventory";
}

std::int64_t used_in_ten_runs(const std::optional<core::ValueTable>& table) {
  std::int64_t used = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    used += used_with(table, arrivals(), seed);
  return used;
}

TEST(SelfPlay, TheTableUsesMoreOfTheGpusThanNone) {
  const auto table = train_value_table(small_cluster(), mix_of(arrivals()));
  EXPECT_GT(used_in_ten_runs(table), used_in_ten_runs(std::nullopt));
}

TEST(SelfPlay, CanBeStoppedWithinAFewArrivals) {
  std::int64_t questions = 0;
  const auto stop_after = [&](std::int64_t most) {
    questions = 0;
    return train_value_table(small_cluster(), mix_of(arrivals()), {},
                             [&, most] { return ++questions < most; });
  };
  EXPECT_TRUE(stop_after(1'000'000));
  const std::int64_t all = questions;
  EXPECT_GT(all, 200) << "several times in each episode";
  for (const std::int64_t most : {std::int64_t{1}, std::int64_t{7}, all / 2, all - 1}) {
    EXPECT_FALSE(stop_after(most)) << most;
    EXPECT_LT(questions, most + 100) << "it went on";
  }
}

// On so few GPUs the order of the nodes is as good as any value.
TEST(SelfPlay, ATableThatIsWorseThanNoneIsNotGiven) {
  std::vector<NodeView> few = small_cluster();
  few.erase(few.begin(), few.end() - 2);
  EXPECT_FALSE(train_value_table(few, mix_of(arrivals())));
}

TEST(SelfPlay, FewGpusPlayMoreEpisodes) {
  std::vector<NodeView> few = small_cluster();
  few.resize(1);
  const auto questions_with = [&](std::int64_t least) {
    std::int64_t questions = 0;
    SelfPlaySettings settings;
    settings.arrivals_least = least;
    (void)train_value_table(few, mix_of(arrivals()), settings, [&] { return ++questions > 0; });
    return questions;
  };
  EXPECT_GT(questions_with(8192), 50 * questions_with(0));
}

TEST(SelfPlay, GangsThatNoNodeHoldsAreNotPlayed) {
  std::int64_t questions = 0;
  const auto play = [&](const std::vector<Shape>& shapes) {
    questions = 0;
    return train_value_table(small_cluster(), mix_of(shapes), {}, [&] { return ++questions > 0; });
  };
  EXPECT_FALSE(play({shape_of(16, 1000, 0)}));
  EXPECT_EQ(questions, 0);

  std::vector<Shape> shapes = arrivals();
  (void)play(shapes);
  const std::int64_t without = questions;
  // Each asks for as much as the whole cluster has: the first would end an episode.
  shapes.insert(shapes.end(), 60, shape_of(260, 1000, 0));
  (void)play(shapes);
  EXPECT_NEAR(static_cast<double>(questions), static_cast<double>(without),
              0.1 * static_cast<double>(without));
}

TEST(SelfPlay, KnowsUpToWhichLoadAGpuIsShared) {
  SelfPlaySettings settings;
  const auto shared = train_value_table(small_cluster(), mix_of(arrivals()), settings);
  settings.gpu_load_threshold = Milli{500};
  const auto apart = train_value_table(small_cluster(), mix_of(arrivals()), settings);
  ASSERT_TRUE(shared);
  EXPECT_NE(apart, shared);
}

TEST(SelfPlay, PartOfALargeClusterPlaysForAll) {
  std::vector<NodeView> large;
  for (int i = 0; i < 100; ++i) {
    const std::vector<NodeView> more = small_cluster();
    large.insert(large.end(), more.begin(), more.end());
  }
  SelfPlaySettings settings;
  settings.arrivals_most = 500;  // a cluster of 260 GPUs takes a few more
  std::int64_t questions = 0;
  const auto table = train_value_table(large, mix_of(arrivals()), settings, [&] {
    ++questions;
    return true;
  });
  ASSERT_TRUE(table);
  EXPECT_LT(questions, 17 * (8192 + 4 * 500) * 2 / 64);
  EXPECT_EQ(table->pages.size(), 2U) << "both kinds played";
  EXPECT_GT(used_in_ten_runs(table), used_in_ten_runs(std::nullopt));
}

TEST(SelfPlay, WithNothingToLearnThereIsNoTable) {
  EXPECT_FALSE(train_value_table({}, mix_of(arrivals())));
  EXPECT_FALSE(train_value_table(small_cluster(), {}));
  EXPECT_FALSE(train_value_table(small_cluster(), mix_of({shape_of(0, 1000, 1000)})));
}

}  // namespace
}  // namespace berth::learn::self_play_test
