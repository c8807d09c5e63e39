// Flaws of a tree: each is found, and said in a sentence.
#include "core/topology/tree.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "core/topology/test_trees.h"

namespace berth::core::tree_test {
namespace {

std::vector<std::string> sentences(const HardwareTree& tree) {
  std::vector<std::string> said;
  for (const Flaw& flaw : flaws_in(tree))
    said.push_back(sentence(flaw));
  return said;
}

using Said = std::vector<std::string>;

// Two racks of two nodes with two GPUs each: GPUs 0 and 1 on node 0, and so on.
TestTree four_nodes() {
  TestTree world;
  for (int rack = 0; rack < 2; ++rack) {
    world.rack();
    world.node({.gpus = 2});
    world.node({.gpus = 2});
  }
  return world;
}

TEST(Tree, WithoutFlaws) {
  TestTree world = four_nodes();
  const IslandId wide = world.island();
  world.rack();
  world.node({.gpus = 4, .joined = wide});
  world.node({.gpus = 4, .joined = wide});
  world.node({.gpus = 16, .islands = 4, .kind = 3});
  world.node({.gpus = 8, .islands = 0});
  world.node({.gpus = 0});
  EXPECT_EQ(sentences(world.tree), Said{});
}

TEST(Tree, NumbersOfWhatIsGoneAreNoFlaw) {
  TestTree world = four_nodes();
  world.tree.nodes.push_back({});
  world.tree.gpus.push_back({});
  EXPECT_EQ(sentences(world.tree), Said{});
}

TEST(Tree, NodeInNoRack) {
  TestTree world = four_nodes();
  world.tree.nodes[3].rack = RackId{7};
  EXPECT_EQ(sentences(world.tree), Said{"node 3 stands in rack 7, which does not exist"});
}

TEST(Tree, NegativeAmount) {
  TestTree world = four_nodes();
  world.tree.nodes[1].memory = Mib{-1};
  EXPECT_EQ(sentences(world.tree), Said{"node 1 has a negative amount of CPU or memory"});
}

TEST(Tree, GpuOnNoNode) {
  TestTree world = four_nodes();
  world.tree.gpus[5].node = NodeId{9};
  EXPECT_EQ(sentences(world.tree), Said{"GPU 5 is on node 9, which does not exist"});
}

TEST(Tree, IndexTooHighOrUsedTwice) {
  TestTree world = four_nodes();
  world.tree.gpus[1].index = 16;
  world.tree.gpus[3].index = 0;
  EXPECT_EQ(sentences(world.tree), (Said{"GPU 1 on node 0 has index 16; the highest is 15",
                                         "GPU 3 and GPU 2 on node 1 both have index 0"}));
}

TEST(Tree, TooManyGpus) {
  TestTree world;
  world.rack();
  world.node({.gpus = 17});
  const Said said = sentences(world.tree);
  EXPECT_NE(std::find(said.begin(), said.end(), "node 0 has 17 GPUs; at most 16 are possible"),
            said.end());
}

TEST(Tree, KindThatCannotBe) {
  TestTree world = four_nodes();
  world.tree.gpus[0].kind = world.tree.gpus[1].kind = KindId{64};
  EXPECT_EQ(sentences(world.tree), (Said{"GPU 0 on node 0 is of kind 64; there are at most 64",
                                         "GPU 1 on node 0 is of kind 64; there are at most 64"}));
}

TEST(Tree, MixedKindsOnANode) {
  TestTree world = four_nodes();
  world.tree.gpus[1].kind = KindId{1};
  EXPECT_EQ(sentences(world.tree),
            Said{"GPU 1 and GPU 0 on node 0 are of different kinds; a node has one"});
}

TEST(Tree, IslandAcrossRacksOrKinds) {
  TestTree world;
  const IslandId wide = world.island();
  world.rack();
  world.node({.gpus = 1, .joined = wide});
  world.node({.gpus = 1, .kind = 1, .joined = wide});
  world.rack();
  world.node({.gpus = 1, .joined = wide});
  EXPECT_EQ(sentences(world.tree),
            (Said{"GPU 1 on node 1 and GPU 0 are of different kinds, but both in island 0",
                  "island 0 joins GPU 2 on node 2 with GPU 0 in another rack"}));
}

TEST(Tree, IslandOverPartsOfTwoNodes) {
  TestTree world = four_nodes();
  world.tree.gpus[0].island = world.tree.gpus[2].island = IslandId{99};
  EXPECT_EQ(sentences(world.tree),
            (Said{"island 99 spans several nodes, but only 1 GPUs of node 0; it must cover whole "
                  "nodes, or lie inside one",
                  "island 99 spans several nodes, but only 1 GPUs of node 1; it must cover whole "
                  "nodes, or lie inside one"}));
}

TEST(Tree, SwitchUnderTwoSockets) {
  TestTree world = four_nodes();
  world.tree.gpus[1].socket = 5;
  EXPECT_EQ(sentences(world.tree),
            Said{"GPU 1 and GPU 0 on node 0 share PCIe switch 0, but not the socket"});
}

TEST(Tree, AllFlawsAtOnce) {
  TestTree world = four_nodes();
  world.tree.nodes[0].rack = RackId{2};
  world.tree.gpus[3].kind = KindId{1};
  world.tree.gpus[7].socket = 9;
  EXPECT_EQ(flaws_in(world.tree).size(), 3U);
}

}  // namespace
}  // namespace berth::core::tree_test
