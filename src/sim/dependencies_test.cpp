// Cycles are found and named from their smallest member; chains of any length do no harm.
#include "sim/dependencies.h"

#include <gtest/gtest.h>

namespace berth::sim::dependencies_test {
namespace {

using Numbers = std::vector<std::uint32_t>;

TEST(Dependencies, ACycleIsNamedFromItsSmallestMember) {
  EXPECT_EQ(find_cycle({{}, {0}, {1, 0}}), Numbers{});
  EXPECT_EQ(find_cycle({{0}}), Numbers{0});
  EXPECT_EQ(find_cycle({{}, {3}, {1}, {2}}), (Numbers{1, 3, 2}));
}

TEST(Dependencies, DepthIsTheLongestChainBelow) {
  EXPECT_EQ(dependency_depths({{}, {0}, {0, 1}, {0}}), (Numbers{0, 1, 2, 1}));
}

TEST(Dependencies, AVeryLongChainIsNoTrouble) {
  constexpr std::uint32_t kLength = 1'000'000;
  DependencyLists lists(kLength);
  for (std::uint32_t i = 0; i + 1 < kLength; ++i)
    lists[i].push_back(i + 1);
  EXPECT_EQ(dependency_depths(lists)[0], kLength - 1);
  lists[kLength - 1].push_back(0);
  EXPECT_EQ(find_cycle(lists).size(), kLength);
}

}  // namespace
}  // namespace berth::sim::dependencies_test
