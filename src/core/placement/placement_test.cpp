// Placement: which GPU a task gets under each packing, the exact limits of VRAM and load, and what
// is missing when none will do.
#include "core/placement/placement.h"

#include <vector>

#include <gtest/gtest.h>

#include "core/testing/core_world.h"

namespace berth::core::placement_test {
namespace {

using Gpus = std::vector<GpuId>;

// Usable VRAM is nine tenths: a GPU made with `gpu(n)` can give n MiB.
class PlacementTest : public testing::Test {
 protected:
  void set_up(const std::vector<std::int64_t>& usable, Packing packing = Packing::best_fit) {
    world_.feed(SetPolicy{{.packing = packing}});
    world_.tenant();
    world_.queue();
    for (const std::int64_t mib : usable)
      world_.gpu(Mib{mib * 10 / 9});
  }
  static TaskSpec sharing(std::int64_t share, std::int64_t vram = 100) {
    TaskSpec spec = task_spec(Mib{vram});
    spec.share = Milli{share};
    return spec;
  }
  // Where a task like this would start now, beside what runs.
  Placement place(const TaskSpec& spec) const {
    TaskRow row;
    row.tenant = spec.tenant;
    row.queue = spec.queue;
    row.vram = static_cast<std::uint32_t>(spec.vram.value);
    row.share = static_cast<std::uint16_t>(spec.share.value);
    row.gpus = spec.gpus;
    return place_task(world_.state(), row);
  }
  Gpus gpus_for(const TaskSpec& spec) const { return place(spec).gpus; }
  // Starts a task and says where it went.
  GpuId start(const TaskSpec& spec) {
    world_.submit(spec);
    const auto started = world_.all<BatchStarted>();
    EXPECT_EQ(started.size(), 1U);
    return started.empty() ? GpuId::none() : started.front().gpus.front();
  }

  CoreWorld world_;
};

Reason short_of(ReasonCode code, std::int64_t need, std::int64_t have) {
  return {code, need, have, Reason::kNoSubject, Time::never()};
}

// ---- Packing ------------------------------------------------------------------------------------

TEST_F(PlacementTest, BestFitLeavesLeastOverAndSharesBeforeItTakesAnIdleGpu) {
  set_up({9000, 4500, 7200});
  EXPECT_EQ(gpus_for(sharing(400, 4500)), Gpus{GpuId{1}});
  EXPECT_EQ(gpus_for(sharing(400, 4501)), Gpus{GpuId{2}});
  EXPECT_EQ(start(sharing(400, 7201)), GpuId{0});
  EXPECT_EQ(gpus_for(sharing(400, 1799)), Gpus{GpuId{0}});  // what is left beside the first
  EXPECT_EQ(gpus_for(sharing(400, 1800)), Gpus{GpuId{1}});
}

TEST_F(PlacementTest, FirstFitTakesTheLowestNumber) {
  set_up({4500, 9000, 7200}, Packing::first_fit);
  EXPECT_EQ(gpus_for(sharing(400, 4500)), Gpus{GpuId{0}});
  EXPECT_EQ(gpus_for(sharing(400, 4501)), Gpus{GpuId{1}});
}

TEST_F(PlacementTest, SpreadTakesAnIdleGpuThenTheLeastLoaded) {
  set_up({9000, 9000}, Packing::spread);
  const GpuId first = start(sharing(300));
  const GpuId second = start(sharing(200));
  EXPECT_NE(first, second);
  EXPECT_EQ(gpus_for(sharing(100)), Gpus{second});
}

// ---- VRAM and load ------------------------------------------------------------------------------

TEST_F(PlacementTest, VramUpToTheLastMib) {
  set_up({9000});
  start(sharing(400, 4000));
  EXPECT_EQ(gpus_for(sharing(400, 5000)), Gpus{GpuId{0}});
  EXPECT_EQ(place(sharing(400, 5001)).reason, short_of(ReasonCode::vram_short, 5001, 5000));
}

TEST_F(PlacementTest, AFurtherBatchJoinsUpToALoadOfExactly85Hundredths) {
  set_up({9000});
  start(sharing(400));
  EXPECT_EQ(gpus_for(sharing(450)), Gpus{GpuId{0}});
  EXPECT_EQ(place(sharing(451)).reason, short_of(ReasonCode::compute_short, 451, 850));
}

TEST_F(PlacementTest, LoadIsWhatIsReportedWhereThatIsMore) {
  set_up({9000});
  start(sharing(400));
  world_.feed(GpuUtilisation{GpuId{0}, Milli{500}});
  EXPECT_EQ(gpus_for(sharing(350)), Gpus{GpuId{0}});
  EXPECT_FALSE(place(sharing(351)));
  world_.feed(GpuUtilisation{GpuId{0}, Milli{100}});
  EXPECT_EQ(gpus_for(sharing(450)), Gpus{GpuId{0}});
  EXPECT_FALSE(place(sharing(451)));
}

TEST_F(PlacementTest, AnIdleGpuTakesAnyBatchAndAWholeOneExcludesOthers) {
  set_up({9000});
  world_.feed(GpuUtilisation{GpuId{0}, Milli{990}});
  EXPECT_EQ(gpus_for(task_spec()), Gpus{GpuId{0}});
  world_.feed(GpuUtilisation{GpuId{0}, Milli{0}});
  start(task_spec());
  EXPECT_FALSE(place(sharing(1)));
}

// ---- Who may take work --------------------------------------------------------------------------

TEST_F(PlacementTest, ADrainingOrLostGpuTakesNothing) {
  set_up({9000});
  world_.feed(DrainGpu{GpuId{0}, true});
  EXPECT_EQ(place(task_spec()).reason, short_of(ReasonCode::no_gpu_up, 1, 0));
  world_.feed(DrainGpu{GpuId{0}, false});
  EXPECT_TRUE(place(task_spec()));
  world_.feed(GpuLost{GpuId{0}});
  EXPECT_EQ(place(task_spec()).reason, short_of(ReasonCode::no_gpu_up, 1, 0));
}

TEST_F(PlacementTest, AModelsTaskStartsOnlyWhereItsWeightsAre) {
  set_up({9000, 9000});
  world_.model({.weights = Mib{4000}});
  const QueueId queue = world_.queue({.model = ModelId{0}});
  TaskSpec spec = task_spec(Mib{5000});
  spec.queue = queue;
  EXPECT_EQ(place(spec).reason, short_of(ReasonCode::model_not_loaded, 9000, 9000));
  world_.feed(ModelLoaded{GpuId{1}, ModelId{0}, true, seconds(1)});
  EXPECT_EQ(gpus_for(spec), Gpus{GpuId{1}});
  spec.vram = Mib{5001};
  EXPECT_EQ(place(spec).reason, short_of(ReasonCode::model_busy, 5001, 5000));
}

TEST_F(PlacementTest, WhileItsModelLoadsATaskWaitsForThat) {
  set_up({9000});
  world_.model({.weights = Mib{4000}});
  const QueueId queue = world_.queue({.model = ModelId{0}});
  TaskSpec spec = task_spec(Mib{1000});
  spec.queue = queue;
  world_.submit(spec);
  ASSERT_EQ(world_.all<LoadModel>().size(), 1U);
  EXPECT_EQ(place_head(world_.state(), queue).reason, short_of(ReasonCode::model_loading, 0, 0));
}

// ---- Holds --------------------------------------------------------------------------------------

TEST_F(PlacementTest, TheGpuToHoldIsTheOneThatIsFreeFirst) {
  set_up({9000, 9000, 1000});
  start(task_spec(Mib{5000}, seconds(20)));
  start(task_spec(Mib{5000}, seconds(10)));
  world_.submit(task_spec(Mib{5000}));
  ASSERT_FALSE(place_head(world_.state(), QueueId{0}));
  EXPECT_EQ(gpu_to_hold(world_.state(), QueueId{0}), GpuId{1});
}

}  // namespace
}  // namespace berth::core::placement_test
