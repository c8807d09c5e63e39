// Residency: where a model is loaded, who makes room, who may not, and what a load is worth.
#include "core/residency/residency.h"

#include <vector>

#include <gtest/gtest.h>

#include "core/testing/core_world.h"

namespace berth::core::residency_test {
namespace {

// Each model has a queue of the same number. Usable VRAM is nine tenths.
class Residency : public testing::Test {
 protected:
  Residency() { world_.tenant(); }
  ModelId model(std::int64_t weights, Duration load_time = seconds(5)) {
    const ModelId id = world_.model({.weights = Mib{weights}, .load_time = load_time});
    world_.queue({.model = id, .batch_base = seconds(1)});
    return id;
  }
  GpuId gpu(std::int64_t usable) { return world_.gpu(Mib{usable * 10 / 9}); }
  void resident(GpuId gpu, ModelId model) {
    world_.feed(ModelLoaded{gpu, model, true, seconds(1)});
    ASSERT_NE(find_residence(world_.state().gpu(gpu), model), nullptr);
  }
  TaskSpec of(ModelId model, std::int64_t vram = 1000) const {
    TaskSpec spec = task_spec(Mib{vram});
    spec.queue = QueueId{model.value};
    return spec;
  }
  LoadPlan plan(ModelId model, bool forced = false) const {
    return plan_load(world_.state(), QueueId{model.value}, forced);
  }
  // The GPUs are all drained while the task comes in, so that nothing is decided for it yet.
  void submit_undecided(const TaskSpec& spec) {
    for (std::uint32_t i = 0; i < world_.state().gpus.size(); ++i)
      world_.feed(DrainGpu{GpuId{i}, true});
    world_.submit(spec);
  }

  CoreWorld world_;
};

TEST_F(Residency, ALoadReservesItsVramAtOnce) {
  const ModelId a = model(4000);
  gpu(9000);
  world_.submit(of(a));
  EXPECT_EQ(world_.all<LoadModel>(), (std::vector{LoadModel{GpuId{0}, a, seconds(5), LoadId{0}}}));
  const Gpu& on = world_.state().gpu(GpuId{0});
  EXPECT_EQ(free_vram(on), Mib{5000});
  EXPECT_EQ(reclaimable_vram(on), Mib{5000});
  world_.finish_loads(seconds(2));
  EXPECT_EQ(world_.all<BatchStarted>().size(), 1U);
  EXPECT_EQ(world_.state().model(a).loads, 1U);
}

TEST_F(Residency, WeightsAndHeadMayFillTheGpuToTheLastMib) {
  const ModelId a = model(4000);
  gpu(9000);
  world_.submit(of(a, 5000));
  EXPECT_EQ(world_.all<LoadModel>().size(), 1U);
  world_.submit(of(a, 5001));
  EXPECT_EQ(world_.refusal().code, ReasonCode::vram_over_any_gpu);
}

TEST_F(Residency, AFreeGpuComesBeforeAnEviction) {
  const ModelId a = model(8000);
  const ModelId b = model(8000);
  resident(gpu(9000), a);
  gpu(9000);
  world_.submit(of(b));
  EXPECT_EQ(world_.all<LoadModel>(), (std::vector{LoadModel{GpuId{1}, b, seconds(5), LoadId{0}}}));
  EXPECT_TRUE(world_.all<EvictModel>().empty());
}

TEST_F(Residency, AnIdleModelThatNobodyAsksForMakesRoom) {
  const ModelId a = model(8000);
  const ModelId b = model(8000);
  resident(gpu(9000), a);
  world_.submit(of(b));
  EXPECT_EQ(world_.all<EvictModel>(), (std::vector{EvictModel{GpuId{0}, a}}));
  EXPECT_EQ(world_.all<LoadModel>(), (std::vector{LoadModel{GpuId{0}, b, seconds(5), LoadId{0}}}));
}

TEST_F(Residency, AModelInUseOrLoadingIsNeverEvicted) {
  const ModelId a = model(4000);
  const ModelId b = model(8000);
  resident(gpu(9000), a);
  world_.submit(of(a));
  ASSERT_EQ(world_.all<BatchStarted>().size(), 1U);
  world_.submit(of(b));
  EXPECT_TRUE(world_.all<EvictModel>().empty());
  EXPECT_FALSE(plan(b, true));
  world_.wait(minutes(5));  // overdue by now
  EXPECT_NE(find_residence(world_.state().gpu(GpuId{0}), a), nullptr);
}

TEST_F(Residency, TheVictimIsTheLeastValuePerByte) {
  // a and b are asked for now and then; a reload of b costs less for each of its bytes.
  const ModelId a = model(4000, seconds(4));
  const ModelId b = model(4000, seconds(2));
  const ModelId c = model(4000);
  world_.feed(PutQueue{QueueId{c.value}, {.model = c, .batch_base = minutes(1)}});
  const GpuId on = gpu(9000);
  for (int i = 0; i < 3; ++i) {
    for (const ModelId asked : {a, b}) {
      world_.submit(of(asked));
      world_.finish_loads(world_.state().model(asked).spec.load_time);
      world_.wait(seconds(1));
      world_.feed(LeaseEnded{LeaseId{world_.state().next_lease - 1}, {}});
    }
  }
  submit_undecided(of(c));
  world_.feed(DrainGpu{on, false});
  ASSERT_EQ(world_.all<EvictModel>().size(), 1U);
  EXPECT_EQ(world_.all<EvictModel>().front().model, b);
}

TEST_F(Residency, WhereItIsResidentOnlyNeighboursGo) {
  const ModelId a = model(3000);
  const ModelId b = model(5000);
  const GpuId on = gpu(9000);
  resident(on, a);
  resident(on, b);
  world_.submit(of(a, 4000));
  EXPECT_EQ(world_.all<EvictModel>(), (std::vector{EvictModel{on, b}}));
  EXPECT_TRUE(world_.all<LoadModel>().empty());
  EXPECT_EQ(world_.all<BatchStarted>().size(), 1U);
}

TEST_F(Residency, TheChargeOfALoadIsItsTimeOverTheLeadersWeight) {
  const ModelId a = model(4000, seconds(6));
  world_.tenant({.weight = Milli{2000}});
  gpu(9000);
  TaskSpec spec = of(a);
  spec.tenant = TenantId{1};
  spec.share = Milli{500};
  submit_undecided(spec);
  EXPECT_EQ(load_charge(world_.state(), QueueId{a.value}), 1'500'000);
}

TEST_F(Residency, LoadTimesAreLearnedByKindOfGpu) {
  const ModelId a = model(4000, seconds(6));
  world_.feed(PutGpu{GpuId{0}, {.kind = KindId{1}, .vram = Mib{10'000}}});
  world_.submit(of(a));
  world_.finish_loads(seconds(2));
  const Model& known = world_.state().model(a);
  EXPECT_EQ(predict_load(known, KindId{1}), seconds(2));
  EXPECT_EQ(predict_load(known, KindId{0}), seconds(6));
}

TEST_F(Residency, AnIdleModelGoesWhenItsKeepAliveHasPassed) {
  const ModelId a = world_.model({.weights = Mib{4000}, .keep_alive = seconds(30)});
  resident(gpu(9000), a);
  world_.wait(seconds(30) - nanoseconds(1));
  EXPECT_TRUE(world_.all<EvictModel>().empty());
  world_.wait(nanoseconds(1));
  EXPECT_EQ(world_.all<EvictModel>(), (std::vector{EvictModel{GpuId{0}, a}}));
}

TEST_F(Residency, ReportsThatComeLateOrTwiceChangeNothing) {
  const ModelId a = model(4000);
  const GpuId on = gpu(9000);
  resident(on, a);
  world_.feed(ModelLoaded{on, a, true, seconds(9)});
  EXPECT_EQ(world_.state().model(a).resident, 1U);
  world_.feed(ModelUnloaded{on, a});
  world_.feed(ModelUnloaded{on, a});
  EXPECT_EQ(world_.state().model(a).resident, 0U);
  EXPECT_EQ(free_vram(world_.state().gpu(on)), Mib{9000});
  world_.feed(ModelLoaded{GpuId{7}, a, true, seconds(9)});
  world_.feed(ModelUnloaded{on, ModelId{7}});
  EXPECT_TRUE(world_.actions().empty());
}

TEST_F(Residency, AModelThatAppearsUnaskedIsTakenOverOnlyWhereItFits) {
  const ModelId a = model(4000);
  const ModelId b = model(5001);
  const GpuId on = gpu(9000);
  resident(on, a);
  world_.feed(ModelLoaded{on, b, true, seconds(1)});
  EXPECT_EQ(find_residence(world_.state().gpu(on), b), nullptr);
}

TEST_F(Residency, AFailedLoadIsTriedAgainASecondLater) {
  const ModelId a = model(4000);
  gpu(9000);
  world_.submit(of(a));
  world_.finish_loads(seconds(0), false);
  EXPECT_TRUE(world_.all<LoadModel>().empty());
  EXPECT_EQ(free_vram(world_.state().gpu(GpuId{0})), Mib{9000});
  world_.wait(seconds(1) - nanoseconds(1));
  EXPECT_TRUE(world_.all<LoadModel>().empty());
  world_.wait(nanoseconds(1));
  EXPECT_EQ(world_.all<LoadModel>().size(), 1U);
}

}  // namespace
}  // namespace berth::core::residency_test
