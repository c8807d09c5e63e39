// Where gangs go, a rule a case.
#include "core/topology/gang_search.h"

#include <gtest/gtest.h>

#include "core/topology/test_trees.h"

namespace berth::core::gang_search_test {
namespace {

Gang found(const GangAnswer& answer) {
  EXPECT_TRUE(std::holds_alternative<Gang>(answer));
  return std::holds_alternative<Gang>(answer) ? std::get<Gang>(answer) : Gang{};
}
Lack lacks(const GangAnswer& answer) {
  EXPECT_TRUE(std::holds_alternative<Lack>(answer));
  return std::holds_alternative<Lack>(answer) ? std::get<Lack>(answer) : Lack{};
}

std::vector<std::uint32_t> nodes_of(const Gang& gang) {
  std::vector<std::uint32_t> nodes;
  for (const NodeTake& take : gang.nodes)
    nodes.push_back(take.node.value);
  return nodes;
}
std::vector<std::uint32_t> numbers(std::span<const GpuId> gpus) {
  std::vector<std::uint32_t> all;
  for (const GpuId gpu : gpus)
    all.push_back(gpu.value);
  return all;
}

using Numbers = std::vector<std::uint32_t>;

Shape required(std::uint16_t gpus, std::uint16_t groups, Level within) {
  return {.gpus = gpus, .groups = groups, .within = within, .required = true};
}
Shape preferred(std::uint16_t gpus, std::uint16_t groups, Level within) {
  return {.gpus = gpus, .groups = groups, .within = within};
}

// ---- The narrowest domain, the one with least free
// -----------------------------------------------

TEST(GangSearch, OneGpuGoesWhereFewestAreFree) {
  TestTree world;
  world.rack();
  world.node();
  world.node();
  FreeIndex index = world.index();
  world.leave(index, {1}, 0b0110'0000);
  EXPECT_EQ(found(find_gang(index, {.gpus = 1})).nodes,
            (std::vector<NodeTake>{{NodeId{1}, 0b0010'0000, {}, {}}}));
}

TEST(GangSearch, AnIslandBeforeANode) {
  TestTree world;
  world.rack();
  world.node({.islands = 2});
  world.node({.islands = 2});
  FreeIndex index = world.index();
  world.leave(index, {0}, 0b0011'0011);  // four free, but in two islands
  const Gang gang = found(find_gang(index, {.gpus = 4}));
  EXPECT_EQ(nodes_of(gang), Numbers{1});
  EXPECT_EQ(gang.nodes[0].gpus, 0b0000'1111);
}

TEST(GangSearch, TheIslandWithLeastFree) {
  TestTree world;
  world.rack();
  world.node({.islands = 2});
  world.node({.islands = 2});
  FreeIndex index = world.index();
  world.leave(index, {1}, 0b1111'0111);
  EXPECT_EQ(found(find_gang(index, {.gpus = 3})).nodes[0].gpus, 0b0000'0111);
}

TEST(GangSearch, OfEqualIslandsTheOneOnTheFullerNode) {
  TestTree world;
  world.rack();
  world.node({.islands = 2});
  world.node({.islands = 2});
  FreeIndex index = world.index();
  world.leave(index, {1}, 0b1111'0000);
  EXPECT_EQ(nodes_of(found(find_gang(index, {.gpus = 4}))), Numbers{1});
}

TEST(GangSearch, AnIslandOfSeveralNodesBeforeANodeWithoutNvlink) {
  TestTree world;
  const IslandId wide = world.island();
  world.rack();
  world.node({.gpus = 8, .islands = 0});
  world.node({.gpus = 4, .joined = wide});
  world.node({.gpus = 4, .joined = wide});
  world.node({.gpus = 4, .joined = wide});
  EXPECT_EQ(nodes_of(found(find_gang(world.index(), {.gpus = 8}))), (Numbers{1, 2}));
}

TEST(GangSearch, ANodeBeforeARack) {
  TestTree world;
  world.rack();
  for (int i = 0; i < 3; ++i)
    world.node({.gpus = 4, .islands = 0});
  FreeIndex index = world.index();
  world.leave(index, {0}, 0b0011);
  EXPECT_EQ(nodes_of(found(find_gang(index, {.gpus = 3}))), Numbers{1});
}

TEST(GangSearch, TheRackWithLeastFreeThatHoldsItWhole) {
  TestTree world;
  world.rack();
  for (int i = 0; i < 4; ++i)
    world.node();
  world.rack();
  for (int i = 0; i < 3; ++i)
    world.node();
  world.rack();
  world.node();
  EXPECT_EQ(nodes_of(found(find_gang(world.index(), {.gpus = 16}))), (Numbers{4, 5}));
}

// ---- Inside the domain
// ---------------------------------------------------------------------------

TEST(GangSearch, FullNodesFirstAndTheLastOneBestFit) {
  TestTree world;
  world.rack();
  for (int i = 0; i < 5; ++i)
    world.node();
  FreeIndex index = world.index();
  world.leave(index, {0}, 0b1);
  world.leave(index, {2}, 0b111);
  world.leave(index, {3}, 0b1'1111);
  const Gang gang = found(find_gang(index, {.gpus = 18}));
  EXPECT_EQ(nodes_of(gang), (Numbers{1, 4, 2}));
  EXPECT_EQ(gang.nodes[2].gpus, 0b11);
}

TEST(GangSearch, AcrossRacksFewestNodesThenFewestRacks) {
  TestTree world;
  for (int rack = 0; rack < 4; ++rack) {
    world.rack();
    for (int i = 0; i < 3; ++i)
      world.node();
  }
  FreeIndex index = world.index();
  world.leave(index, {0}, 0b1111);  // rack 0 has two whole nodes, the others three
  // Four nodes: a rack of three, and then the smallest rack that has one.
  EXPECT_EQ(nodes_of(found(find_gang(index, {.gpus = 32}))), (Numbers{1, 3, 4, 5}));
}

TEST(GangSearch, TheLastNodeInARackThatIsInUse) {
  TestTree world;
  for (const int nodes : {3, 2, 1}) {
    world.rack();
    for (int i = 0; i < nodes; ++i)
      world.node();
  }
  FreeIndex index = world.index();
  world.leave(index, {2}, 0b1111);
  world.leave(index, {5}, 0b11);  // fits better, but in a third rack
  EXPECT_EQ(nodes_of(found(find_gang(index, {.gpus = 34}))), (Numbers{0, 1, 2, 3, 4}));
}

TEST(GangSearch, RanksOfANodeStandTogetherInTheOrderOfTheTree) {
  TestTree world;
  world.rack();
  world.node({.gpus = 2});
  world.node({.gpus = 2});
  EXPECT_EQ(numbers(found(find_gang(world.index(), {.gpus = 4})).gpus), (Numbers{0, 1, 2, 3}));
}

// ---- Groups
// --------------------------------------------------------------------------------------

TEST(GangSearch, GroupsOfFourEachInOneIsland) {
  TestTree world;
  world.rack();
  world.node({.islands = 2});
  world.node({.islands = 2});
  FreeIndex index = world.index();
  world.leave(index, {0}, 0b1111'0111);
  const Gang gang = found(find_gang(index, required(12, 3, Level::island)));
  EXPECT_EQ(gang.within, Level::island);
  // The node with two whole islands comes first, then the one with one.
  EXPECT_EQ(numbers(gang.group(0)), (Numbers{8, 9, 10, 11}));
  EXPECT_EQ(numbers(gang.group(1)), (Numbers{12, 13, 14, 15}));
  EXPECT_EQ(numbers(gang.group(2)), (Numbers{4, 5, 6, 7}));
}

TEST(GangSearch, GroupsOnNodesLeaveWhatDoesNotHoldOne) {
  TestTree world;
  world.rack();
  for (int i = 0; i < 3; ++i)
    world.node({.gpus = 6});
  const Gang gang = found(find_gang(world.index(), required(12, 3, Level::node)));
  EXPECT_EQ(nodes_of(gang), (Numbers{0, 1, 2}));
  for (const NodeTake& take : gang.nodes)
    EXPECT_EQ(take.gpus, 0b1111);
}

TEST(GangSearch, GroupsInRacks) {
  TestTree world;
  for (int rack = 0; rack < 3; ++rack) {
    world.rack();
    for (int i = 0; i < 3; ++i)
      world.node({.gpus = 4});
  }
  // A rack holds one group of 8, never one and a half.
  const Gang gang = found(find_gang(world.index(), required(24, 3, Level::rack)));
  EXPECT_EQ(nodes_of(gang), (Numbers{0, 1, 3, 4, 6, 7}));
}

TEST(GangSearch, TheLastRackIsTheLeastFreeOneThatHoldsTheRest) {
  TestTree world;
  for (const int nodes : {3, 2, 1}) {
    world.rack();
    for (int i = 0; i < nodes; ++i)
      world.node();
  }
  const Gang gang = found(find_gang(world.index(), required(32, 4, Level::rack)));
  EXPECT_EQ(nodes_of(gang), (Numbers{0, 1, 2, 5}));
}

TEST(GangSearch, GroupsInIslandsOfSeveralNodes) {
  TestTree world;
  for (int rack = 0; rack < 2; ++rack) {
    world.rack();
    const IslandId wide = world.island();
    for (int i = 0; i < 3; ++i)
      world.node({.gpus = 4, .joined = wide});
  }
  const Gang gang = found(find_gang(world.index(), required(16, 2, Level::island)));
  EXPECT_EQ(nodes_of(gang), (Numbers{0, 1, 3, 4}));
  EXPECT_EQ(lacks(find_gang(world.index(), required(24, 3, Level::island))),
            (Lack{.what = Lacking::gpus,
                  .level = Level::island,
                  .groups = 3,
                  .groups_found = 2,
                  .group_size = 8}));
}

TEST(GangSearch, APreferredLevelClimbsOneByOne) {
  TestTree world;
  for (int rack = 0; rack < 2; ++rack) {
    world.rack();
    for (int i = 0; i < 2; ++i)
      world.node({.islands = 2});
  }
  const FreeIndex index = world.index();
  EXPECT_EQ(found(find_gang(index, preferred(4, 1, Level::island))).within, Level::island);
  EXPECT_EQ(found(find_gang(index, preferred(8, 1, Level::island))).within, Level::node);
  EXPECT_EQ(found(find_gang(index, preferred(16, 1, Level::island))).within, Level::rack);
  EXPECT_EQ(found(find_gang(index, preferred(32, 1, Level::island))).within, Level::cluster);
  EXPECT_EQ(found(find_gang(index, preferred(2, 1, Level::gpu))).within, Level::island);
}

// ---- CPU and memory
// ------------------------------------------------------------------------------

TEST(GangSearch, EachNodeGivesItsPartOfCpuAndMemoryRoundedUp) {
  TestTree world;
  world.rack();
  world.node({.gpus = 2});
  world.node({.gpus = 1});
  const Gang gang =
      found(find_gang(world.index(), {.gpus = 3, .cpu = Milli{10'000}, .memory = Mib{100}}));
  EXPECT_EQ(gang.nodes[0].cpu, Milli{6'667});
  EXPECT_EQ(gang.nodes[0].memory, Mib{67});
  EXPECT_EQ(gang.nodes[1].cpu, Milli{3'334});
  EXPECT_EQ(gang.nodes[1].memory, Mib{34});
}

TEST(GangSearch, ANodeShortOfCpuCarriesFewerGpus) {
  TestTree world;
  world.rack();
  world.node({.cpu = Milli{3'000}});
  world.node({.cpu = Milli{8'000}});
  const Gang gang = found(find_gang(world.index(), {.gpus = 10, .cpu = Milli{10'000}}));
  EXPECT_EQ(nodes_of(gang), (Numbers{1, 0}));
  EXPECT_EQ(gang.nodes[1].gpus, 0b11);
  const Lack lack = lacks(find_gang(world.index(), {.gpus = 12, .cpu = Milli{12'000}}));
  EXPECT_EQ(lack.what, Lacking::cpu);
  EXPECT_EQ(lack.gpus_found, 11U);
}

TEST(GangSearch, WhoNeedsNoCpuFitsWhereItIsPromisedTwice) {
  TestTree world;
  world.rack();
  const NodeId node = world.node();
  FreeIndex index = world.index();
  index.set_node(node, {0xFF, Milli{-1}, Mib{-1}});
  EXPECT_EQ(found(find_gang(index, {.gpus = 8})).nodes.size(), 1U);
  EXPECT_EQ(lacks(find_gang(index, {.gpus = 8, .cpu = Milli{1}})).what, Lacking::cpu);
}

// ---- Kinds
// ---------------------------------------------------------------------------------------

TestTree two_kinds() {
  TestTree world;
  world.rack();
  world.node({.kind = 0});
  world.node({.kind = 1});
  world.node({.kind = 1});
  return world;
}

TEST(GangSearch, OneKindIfOneAloneFits) {
  EXPECT_EQ(nodes_of(found(find_gang(two_kinds().index(), {.gpus = 16}))), (Numbers{1, 2}));
}

TEST(GangSearch, AcrossRacksTheKindWithFewestFree) {
  TestTree world;
  for (int rack = 0; rack < 3; ++rack) {
    world.rack();
    world.node({.kind = 0});
    if (rack < 2) world.node({.kind = 1});
  }
  EXPECT_EQ(nodes_of(found(find_gang(world.index(), {.gpus = 16}))), (Numbers{1, 3}));
}

TEST(GangSearch, OneKindInAWiderDomainBeforeSeveralInANarrowerOne) {
  TestTree world;
  world.rack();
  world.node({.kind = 0});
  world.node({.kind = 1});
  world.rack();
  world.node({.kind = 1});
  const Gang gang = found(find_gang(world.index(), preferred(16, 1, Level::rack)));
  EXPECT_EQ(nodes_of(gang), (Numbers{1, 2}));
  EXPECT_EQ(gang.within, Level::cluster);
}

TEST(GangSearch, SeveralKindsWhenNoneAloneFits) {
  EXPECT_EQ(nodes_of(found(find_gang(two_kinds().index(), {.gpus = 24}))), (Numbers{0, 1, 2}));
}

TEST(GangSearch, OnlyTheKindsThatTheShapeAllows) {
  const Lack lack = lacks(find_gang(two_kinds().index(), {.gpus = 16, .kinds = 0b01}));
  EXPECT_EQ(lack.what, Lacking::kind);
  EXPECT_EQ(lack.gpus_found, 8U);
  EXPECT_EQ(lacks(find_gang(two_kinds().index(), {.gpus = 1, .kinds = 0b100})).what, Lacking::kind);
}

// ---- What is missing
// -----------------------------------------------------------------------------

TEST(GangLack, GpusInTheWholeCluster) {
  TestTree world;
  world.rack();
  world.node();
  world.node();
  EXPECT_EQ(lacks(find_gang(world.index(), {.gpus = 20})),
            (Lack{.what = Lacking::gpus, .group_size = 20, .gpus_found = 16}));
}

TEST(GangLack, ADomainLargeEnoughAndTheOneClosestToIt) {
  TestTree world;
  for (const int nodes : {2, 3, 1}) {
    world.rack();
    for (int i = 0; i < nodes; ++i)
      world.node();
  }
  EXPECT_EQ(lacks(find_gang(world.index(), required(32, 1, Level::rack))),
            (Lack{.what = Lacking::gpus,
                  .level = Level::rack,
                  .group_size = 32,
                  .gpus_found = 24,
                  .closest = 1}));
}

TEST(GangLack, OneMoreNodeOfThoseThatHoldAGroup) {
  TestTree world;
  world.rack();
  for (int i = 0; i < 4; ++i)
    world.node();
  FreeIndex index = world.index();
  world.leave(index, {1}, 0b11'1111);
  world.leave(index, {2}, 0b111'1111);
  EXPECT_EQ(lacks(find_gang(index, required(24, 3, Level::node))), (Lack{.what = Lacking::gpus,
                                                                         .level = Level::node,
                                                                         .groups = 3,
                                                                         .groups_found = 2,
                                                                         .group_size = 8,
                                                                         .gpus_found = 7,
                                                                         .closest = 2}));
}

TEST(GangLack, AnIslandWhereTheNodeHasEnough) {
  TestTree world;
  world.rack();
  world.node({.islands = 2});
  FreeIndex index = world.index();
  world.leave(index, {0}, 0b1110'0011);
  EXPECT_EQ(lacks(find_gang(index, required(4, 1, Level::island))), (Lack{.what = Lacking::island,
                                                                          .level = Level::island,
                                                                          .group_size = 4,
                                                                          .gpus_found = 3,
                                                                          .closest = 1}));
}

TEST(GangLack, MemoryBesideTheGpus) {
  TestTree world;
  world.rack();
  world.node({.memory = Mib{50}});
  EXPECT_EQ(lacks(find_gang(world.index(), {.gpus = 8, .memory = Mib{80}})),
            (Lack{.what = Lacking::memory, .group_size = 8, .gpus_found = 5}));
}

TEST(GangLack, NoGroupOfTwoLiesOnOneGpu) {
  TestTree world;
  world.rack();
  world.node();
  const Lack lack = lacks(find_gang(world.index(), required(2, 1, Level::gpu)));
  EXPECT_EQ(lack.level, Level::gpu);
  EXPECT_EQ(lack.gpus_found, 1U);
  EXPECT_EQ(found(find_gang(world.index(), required(2, 2, Level::gpu))).gpus.size(), 2U);
}

// ---- The budget
// ----------------------------------------------------------------------------------

TEST(GangSearch, SaysThatItsVisitsAreSpent) {
  TestTree world;
  world.rack();
  for (int i = 0; i < 20; ++i)
    world.node();
  const FreeIndex index = world.index();
  EXPECT_TRUE(std::holds_alternative<OutOfVisits>(find_gang(index, {.gpus = 64}, 3)));
  EXPECT_EQ(gang_fits(index, {.gpus = 64}, 0), GangFits::out_of_visits);
  EXPECT_EQ(gang_fits(index, {.gpus = 64}), GangFits::yes);
  EXPECT_EQ(gang_fits(index, {.gpus = 161}), GangFits::no);
}

TEST(GangSearch, AClusterWithoutGpusHasNone) {
  const FreeIndex index{HardwareTree{}};
  EXPECT_EQ(lacks(find_gang(index, {.gpus = 1})).gpus_found, 0U);
  for (const Level level : {Level::gpu, Level::island, Level::node, Level::rack, Level::cluster})
    EXPECT_EQ(lacks(find_gang(index, required(1, 1, level))).what, Lacking::gpus);
}

}  // namespace
}  // namespace berth::core::gang_search_test
