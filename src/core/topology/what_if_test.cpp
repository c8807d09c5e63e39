// Plans are taken back exactly; ranks say what processes must know.
#include "core/topology/what_if.h"

#include <gtest/gtest.h>

#include "core/topology/ranks.h"
#include "core/topology/test_trees.h"

namespace berth::core::what_if_test {
namespace {

TestTree three_nodes() {
  TestTree world;
  world.rack();
  for (int i = 0; i < 3; ++i)
    world.node({.cpu = Milli{64'000}, .memory = Mib{1'000}});
  return world;
}

const Shape kSixteen{.gpus = 16, .cpu = Milli{16'000}, .memory = Mib{160}};

TEST(WhatIf, AGangIsTakenAndGivenBackExactly) {
  FreeIndex index = three_nodes().index();
  const FreeIndex before = index;
  {
    WhatIf plan(index);
    plan.take(std::get<Gang>(find_gang(index, kSixteen)));
    EXPECT_EQ(index.free_gpus(), 8U);
    EXPECT_EQ(index.room_on({0}), (Room{0, Milli{56'000}, Mib{920}}));
    EXPECT_EQ(gang_fits(index, kSixteen), GangFits::no);
  }
  EXPECT_EQ(index, before);
}

TEST(WhatIf, GoesBackToAMark) {
  FreeIndex index = three_nodes().index();
  WhatIf plan(index);
  plan.set_node({0}, {});
  const FreeIndex marked = index;
  const std::size_t mark = plan.mark();
  plan.set_node({1}, {0b1, {}, {}});
  plan.set_node({1}, {});
  plan.go_back(mark);
  EXPECT_EQ(index, marked);
}

TEST(WhatIf, WhatIsKeptStays) {
  FreeIndex index = three_nodes().index();
  {
    WhatIf plan(index);
    plan.set_node({2}, {});
    plan.keep();
  }
  EXPECT_EQ(index.free_gpus(), 16U);
}

TEST(WhatIf, AnEndedLeaseMakesRoom) {
  FreeIndex index = three_nodes().index();
  const NodeTake lease{NodeId{1}, 0b1111'1111, Milli{64'000}, Mib{1'000}};
  index.set_node(lease.node, without(index.room_on(lease.node), lease));
  const Shape all{.gpus = 24};
  EXPECT_EQ(gang_fits(index, all), GangFits::no);
  WhatIf plan(index);
  plan.give_back(lease);
  EXPECT_EQ(gang_fits(index, all), GangFits::yes);
}

TEST(Ranks, EachKnowsItsPlaceOnItsHostAndInItsGroup) {
  TestTree world;
  world.rack();
  world.node({.gpus = 4});
  world.node({.gpus = 2});
  const Gang gang = std::get<Gang>(find_gang(world.index(), {.gpus = 6, .groups = 2}));
  const Ranks ranks = ranks_of(gang, world.tree);
  EXPECT_EQ(ranks.hosts, (std::vector<Host>{{NodeId{0}, 0, 4}, {NodeId{1}, 4, 2}}));
  EXPECT_EQ(ranks.ranks, (std::vector<Rank>{{GpuId{0}, 0, 0, 0, 0},
                                            {GpuId{1}, 0, 1, 0, 1},
                                            {GpuId{2}, 0, 2, 0, 2},
                                            {GpuId{3}, 0, 3, 1, 0},
                                            {GpuId{4}, 1, 0, 1, 1},
                                            {GpuId{5}, 1, 1, 1, 2}}));
}

}  // namespace
}  // namespace berth::core::what_if_test
