// Exact feasibility, the buckets of states, and sets of nodes.
#include "core/packing/node_view.h"

#include <map>

#include <gtest/gtest.h>

#include "core/packing/node_set.h"
#include "core/packing/node_state.h"

namespace berth::core::node_view_test {
namespace {

NodeView two_islands() {
  NodeView view;
  view.kind = KindId{1};
  view.gpus = 4;
  view.cpu = Milli{8000};
  view.memory = Mib{1000};
  view.left = {1000, 300, 1000, 1000};
  view.vram = {10, 10, 10, 20};
  view.island = {5, 5, 2, 2};
  return view;
}

TEST(Fits, AsksForEverythingExactly) {
  const NodeView view = two_islands();
  Shape shape;
  shape.share = 300;
  shape.cpu = Milli{8000};
  shape.memory = Mib{1000};
  shape.vram = 20;
  EXPECT_TRUE(fits(view, shape));
  Shape more = shape;
  more.cpu = Milli{8001};
  EXPECT_FALSE(fits(view, more));
  more = shape;
  more.memory = Mib{1001};
  EXPECT_FALSE(fits(view, more));
  more = shape;
  more.vram = 21;
  EXPECT_FALSE(fits(view, more));
  more = shape;
  more.kinds = 1;
  EXPECT_FALSE(fits(view, more));
  more.gpus = 0;  // kinds are of GPUs
  EXPECT_TRUE(fits(view, more));
}

TEST(Fits, SeveralGpusAndTheirIsland) {
  const NodeView view = two_islands();
  Shape shape;
  shape.gpus = 3;
  EXPECT_TRUE(fits(view, shape));
  shape.within = Level::island;
  EXPECT_TRUE(fits(view, shape)) << "preferred only";
  shape.required = true;
  EXPECT_FALSE(fits(view, shape));
  shape.gpus = 2;
  EXPECT_TRUE(fits(view, shape));
  shape.gpus = 4;
  shape.required = false;
  EXPECT_FALSE(fits(view, shape)) << "one GPU is not whole";
  shape.share = 300;
  EXPECT_TRUE(fits(view, shape));
}

TEST(NodeStates, CpuStepsRiseAndContainTheirAmounts) {
  std::uint16_t last = 0;
  for (std::int64_t cpu = 0; cpu < 1'200'000; cpu += 250) {
    const std::uint16_t step = cpu_step(cpu);
    ASSERT_LT(step, kCpuSteps);
    ASSERT_TRUE(step == last || step == last + 1) << cpu;
    ASSERT_LE(cpu_low(step), cpu);
    ASSERT_LT(cpu, cpu_end(step));
    last = step;
  }
  EXPECT_EQ(last, kCpuSteps - 1);
  EXPECT_EQ(cpu_step(-5), 0);
}

TEST(NodeStates, NumbersOfGpusAndIslandsDoNotMatter) {
  NodeView other = two_islands();
  other.left = {1000, 1000, 309, 1000};  // 300 and 309: one step
  other.island = {0, 0, 1, 1};
  EXPECT_EQ(canonical(outline(two_islands())), canonical(outline(other)));
  other.island = {0, 1, 0, 1};
  EXPECT_EQ(canonical(outline(two_islands())), canonical(outline(other)));
  other.island = {0, 0, 1, 2};
  EXPECT_NE(canonical(outline(two_islands())), canonical(outline(other)));
}

TEST(NodeSet, FindsTheFirstThatHasEnough) {
  std::uint64_t state = 7;
  const auto below = [&](std::uint64_t n) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (state >> 33) % n;
  };
  NodeSet set;
  std::map<std::uint64_t, NodeMember> plain;
  for (int round = 0; round < 20'000; ++round) {
    const std::uint64_t key = below(400);
    if (plain.erase(key) > 0) {
      set.erase(key);
    } else {
      const NodeMember member{key, static_cast<std::int64_t>(below(100)),
                              static_cast<std::int64_t>(below(100))};
      set.insert(member);
      plain[key] = member;
    }
    const auto cpu = static_cast<std::int64_t>(below(110));
    const auto memory = static_cast<std::int64_t>(below(110));
    const std::uint64_t limit = below(500);
    const auto odd = [](std::uint64_t k) { return k % 2 == 1; };
    std::optional<std::uint64_t> expected;
    NodeSet::Summary most;
    for (const auto& [k, member] : plain) {
      most.first_key = std::min(most.first_key, k);
      most.cpu_most = std::max(most.cpu_most, member.cpu);
      most.memory_most = std::max(most.memory_most, member.memory);
      if (!expected && k < limit && member.cpu >= cpu && member.memory >= memory && odd(k))
        expected = k;
    }
    ASSERT_EQ(set.find(cpu, memory, limit, odd), expected) << round;
    ASSERT_EQ(set.empty(), plain.empty());
    const NodeSet::Summary summary = set.summary();
    ASSERT_EQ(summary.first_key, most.first_key);
    ASSERT_EQ(summary.cpu_most, most.cpu_most);
    ASSERT_EQ(summary.memory_most, most.memory_most);
  }
}

}  // namespace
}  // namespace berth::core::node_view_test
