// How nodes and GPUs become what self-play places on.
#include "learn/empty_nodes.h"

#include <gtest/gtest.h>

namespace berth::learn::empty_nodes_test {
namespace {

core::GpuSpec gpu(std::uint32_t node, std::uint32_t kind, IslandId island = {}) {
  core::GpuSpec spec;
  spec.node = NodeId{node};
  spec.kind = KindId{kind};
  spec.vram = Mib{40'000};
  spec.island = island;
  return spec;
}

TEST(EmptyNodes, GpusOfOneKindStandTogether) {
  const std::vector<core::NodeSpec> nodes = {{RackId{0}, Milli{8000}, Mib{64'000}}};
  const std::vector<core::GpuSpec> gpus = {gpu(0, 1, IslandId{7}), gpu(0, 0),
                                           gpu(0, 1, IslandId{7}), gpu(0, 1)};
  const std::vector<core::NodeView> views = empty_nodes(nodes, gpus, Milli{900});
  ASSERT_EQ(views.size(), 2U);
  EXPECT_EQ(views[0].kind, KindId{0});
  EXPECT_EQ(views[0].gpus, 1);
  EXPECT_EQ(views[1].gpus, 3);
  EXPECT_EQ(views[1].cpu, Milli{8000});
  EXPECT_EQ(views[1].left[2], 1000);
  EXPECT_EQ(views[1].vram[0], 36'000U);
  EXPECT_EQ(views[1].island[0], views[1].island[1]);
  EXPECT_NE(views[1].island[0], views[1].island[2]);
}

TEST(EmptyNodes, ANodeWithoutGpusIsThereWithItsCpus) {
  const std::vector<core::NodeSpec> nodes = {{RackId{0}, Milli{8000}, Mib{64'000}}};
  const std::vector<core::NodeView> views = empty_nodes(nodes, {}, Milli{900});
  ASSERT_EQ(views.size(), 1U);
  EXPECT_EQ(views[0].gpus, 0);
  EXPECT_EQ(views[0].cpu, Milli{8000});
}

TEST(EmptyNodes, MoreGpusThanPackingSeesAtOnceAreSeveralNodes) {
  const std::vector<core::GpuSpec> gpus(core::kNodeGpusMax + 1, gpu(0, 0));
  const std::vector<core::NodeView> views = empty_nodes({}, gpus, Milli{1000});
  ASSERT_EQ(views.size(), 2U);
  EXPECT_EQ(views[0].gpus, core::kNodeGpusMax);
  EXPECT_EQ(views[1].gpus, 1);
  EXPECT_EQ(views[1].cpu, Milli{0}) << "a node that nobody described";
}

TEST(EmptyNodes, AGpuThatIsCutForMigTakesNothing) {
  std::vector<core::GpuSpec> gpus = {gpu(0, 0), gpu(0, 0)};
  gpus[1].mig = core::mig::Geometry::a100_40;
  const std::vector<core::NodeView> views = empty_nodes({}, gpus, Milli{1000});
  ASSERT_EQ(views.size(), 2U);
  EXPECT_EQ(views[0].left[0], 1000);
  EXPECT_EQ(views[1].left[0], 0);
}

}  // namespace
}  // namespace berth::learn::empty_nodes_test
