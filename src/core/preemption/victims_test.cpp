// What is lost by stopping a lease: run time since the last checkpoint and the cost of a restart,
// times what it holds; of a batch, what its worst task loses.
#include "core/preemption/victims.h"

#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/model/ranges.h"
#include "core/testing/core_world.h"

namespace berth::core::victims_test {
namespace {

constexpr std::int64_t kAnyLowerTier = 1;  // the rank of tier 0 over its guarantee

class LostWork : public testing::Test {
 protected:
  LostWork() {
    world_.feed(SetPolicy{{.protected_run = Duration{0}}});
    world_.tenant();
    world_.queue();
    world_.queue({.max_batch_size = 2, .max_batch_wait = seconds(1)});
    world_.gpu(Mib{10'000});
    world_.gpu(Mib{10'000});
  }
  static TaskSpec low_task(Duration checkpoint_interval, Duration restart_cost) {
    TaskSpec spec = task_spec(Mib{100}, minutes(60));
    spec.tier = 1;
    spec.checkpoint_interval = checkpoint_interval;
    spec.restart_cost = restart_cost;
    return spec;
  }
  // Of the only lease there is; -1: there is not one.
  std::int64_t lost() const {
    const Victims victims = victims_for(world_.state(), kAnyLowerTier);
    return victims.heap.size() == 1 ? victims.heap.front().lost : -1;
  }

  CoreWorld world_;
};

TEST_F(LostWork, IsAllOfTheRunWithoutCheckpoints) {
  world_.submit(low_task(Duration{0}, Duration{0}));
  EXPECT_EQ(lost(), 0);
  world_.wait(seconds(70));
  EXPECT_EQ(lost(), 70'000 * 1000);
}

TEST_F(LostWork, IsTheRunSinceTheLastWholeInterval) {
  world_.submit(low_task(seconds(30), Duration{0}));
  world_.wait(seconds(29));
  EXPECT_EQ(lost(), 29'000 * 1000);
  world_.wait(seconds(1));
  EXPECT_EQ(lost(), 0);
  world_.wait(seconds(40));
  EXPECT_EQ(lost(), 10'000 * 1000);
}

TEST_F(LostWork, GrowsByTheCostOfARestart) {
  world_.submit(low_task(Duration{0}, seconds(5)));
  world_.wait(seconds(70));
  EXPECT_EQ(lost(), 75'000 * 1000);
}

TEST_F(LostWork, CountsForAllThatIsHeld) {
  TaskSpec gang = low_task(seconds(30), seconds(5));
  gang.gpus = 2;
  world_.submit(gang);
  world_.wait(seconds(70));
  EXPECT_EQ(lost(), 15'000 * 2000);
}

TEST_F(LostWork, CountsForTheShareThatIsHeld) {
  TaskSpec half = low_task(seconds(30), seconds(5));
  half.share = Milli{500};
  world_.submit(half);
  world_.wait(seconds(70));
  EXPECT_EQ(lost(), 15'000 * 500);
}

TEST_F(LostWork, OfABatchIsWhatItsWorstTaskLoses) {
  TaskSpec saved = low_task(seconds(30), seconds(5));
  TaskSpec unsaved = low_task(Duration{0}, seconds(1));
  saved.queue = unsaved.queue = QueueId{1};
  world_.submit(saved);
  const TaskNo worst = world_.submit(unsaved);
  ASSERT_EQ(world_.all<BatchStarted>().at(0).tasks.size(), 2U);
  const LeaseId lease = world_.all<BatchStarted>().at(0).lease;
  world_.wait(seconds(70));
  EXPECT_EQ(lost(), 71'000 * 1000);
  world_.feed(TaskEnded{lease, {worst, true}});
  EXPECT_EQ(lost(), 15'000 * 1000) << "what has ended is lost no more";
}

TEST_F(LostWork, OfTheLargestStopsAtTheLargestNumber) {
  world_.submit(low_task(kDurationMax, kDurationMax));
  world_.wait(seconds(70));
  auto& state = const_cast<State&>(world_.state());
  const std::vector<GpuId> held = std::exchange(state.leases[0].gpus, {});
  state.leases[0].gpus.assign(65'535, held.front());
  EXPECT_EQ(lost(), INT64_MAX);
  state.leases[0].gpus = held;
}

TEST_F(LostWork, DecidesWhoGoesFirstWithinATier) {
  world_.submit(low_task(seconds(60), seconds(10)));  // loses 20 s
  world_.submit(low_task(seconds(40), Duration{0}));  // loses 30 s, and is the youngest
  world_.wait(seconds(70));
  const State& state = world_.state();
  VictimOrder order(state, Uses(state), kAnyLowerTier, victims_for(state, kAnyLowerTier),
                    [](std::uint32_t) { return true; });
  std::vector<LeaseId> taken;
  while (const auto slot = order.next())
    taken.push_back(state.leases[*slot].id);
  EXPECT_EQ(taken, (std::vector<LeaseId>{LeaseId{0}, LeaseId{1}}));
}

}  // namespace
}  // namespace berth::core::victims_test
