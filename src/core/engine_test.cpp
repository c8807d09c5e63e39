// The step as a whole: work bounded per step, wake-ups that come late, recovery without deciding,
// and explain, which asks what the next decision would be.
#include "core/engine.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/state/state.h"
#include "core/testing/core_world.h"

namespace berth::core::engine_test {
namespace {

constexpr Time at(Duration since_start) { return Time{since_start.ns}; }

// A tenant, a queue whose batches fill for a second, a model with a queue, and two GPUs.
std::vector<Event> small_cluster(const PolicySpec& policy) {
  return {
      {at(seconds(0)), SetPolicy{policy}},
      {at(seconds(0)), PutTenant{TenantId{0}, {}}},
      {at(seconds(0)), PutModel{ModelId{0}, {.weights = Mib{2000}}}},
      {at(seconds(0)), PutQueue{QueueId{0}, {.max_batch_size = 4, .max_batch_wait = seconds(1)}}},
      {at(seconds(0)), PutQueue{QueueId{1}, {.model = ModelId{0}}}},
      {at(seconds(0)), PutGpu{GpuId{0}, {.vram = Mib{10'000}}}},
      {at(seconds(0)), PutGpu{GpuId{1}, {.vram = Mib{10'000}}}}};
}

TaskSpec of_queue(std::uint32_t queue, std::uint8_t tier = 0) {
  TaskSpec spec = task_spec(Mib{1000}, minutes(3));
  spec.queue = QueueId{queue};
  spec.tier = tier;
  return spec;
}

// Batches that fill, a load, a tier that is crossed, leases charged by the minute, an idle model.
std::vector<Event> history(Order order) {
  std::vector<Event> events = small_cluster({.order = order, .tier_patience = seconds(20)});
  const std::vector<Event> rest = {
      {at(seconds(1)), Submit{TaskNo{0}, of_queue(0)}},
      {at(seconds(3)), Submit{TaskNo{1}, of_queue(1)}},
      {at(seconds(4)), ModelLoaded{GpuId{0}, ModelId{0}, true, seconds(1)}},
      {at(seconds(5)), Submit{TaskNo{2}, of_queue(0, 2)}},
      {at(seconds(6)), Submit{TaskNo{3}, of_queue(0)}},
      {at(seconds(100)), LeaseEnded{LeaseId{0}, {{TaskNo{0}, false, Failure::error}}}},
      {at(seconds(160)), GpuLost{GpuId{1}}},
      {at(seconds(161)), GpuReturned{GpuId{1}}},
      {at(minutes(20)), Submit{TaskNo{4}, of_queue(1)}}};
  std::copy(rest.begin(), rest.end(), std::back_inserter(events));
  return events;
}

class EveryOrder : public testing::TestWithParam<Order> {};

TEST_P(EveryOrder, RecoveryAppliesTheRecordAndThenDecidesAlike) {
  Engine original;
  Engine recovered;
  Actions actions;
  for (const Event& event : history(GetParam())) {
    actions.clear();
    const std::size_t from_timers = original.step(event, actions);
    for (std::size_t i = 0; i < from_timers; ++i)
      recovered.apply(actions[i]);
    recovered.apply(event);
    for (std::size_t i = from_timers; i < actions.size(); ++i)
      recovered.apply(actions[i]);
    ASSERT_EQ(recovered.check_invariants(), std::vector<std::string>{});
  }
  Actions again;
  actions.clear();
  for (const Duration later : {minutes(20), minutes(21), minutes(40)}) {
    original.step({at(later), Tick{}}, actions);
    recovered.step({at(later), Tick{}}, again);
  }
  EXPECT_FALSE(actions.empty());
  EXPECT_EQ(actions, again);
}

TEST_P(EveryOrder, ALateWakeUpDecidesWhatAPunctualOneWould) {
  Engine punctual;
  Engine late;
  Actions of_punctual;
  Actions of_late;
  for (const Event& event : history(GetParam())) {
    while (punctual.next_wakeup() < event.now)
      punctual.step({punctual.next_wakeup(), Tick{}}, of_punctual);
    punctual.step(event, of_punctual);
    late.step(event, of_late);
  }
  EXPECT_EQ(of_punctual, of_late);
}

INSTANTIATE_TEST_SUITE_P(Engine, EveryOrder,
                         testing::Values(Order::fair, Order::fifo, Order::round_robin,
                                         Order::cost_aware, Order::sticky));

// ---- Bounded steps ------------------------------------------------------------------------------

// Three tasks for three GPUs, one start in each step.
class OneStartPerStep : public testing::Test {
 protected:
  OneStartPerStep() {
    feed(SetPolicy{{.starts_per_step = 1}});
    feed(PutTenant{TenantId{0}, {}});
    feed(PutQueue{QueueId{0}, {}});
    for (std::uint32_t i = 0; i < 3; ++i)
      feed(PutGpu{GpuId{i}, {.vram = Mib{10'000}}});
    feed(SubmitWorkflow{TaskNo{0}, std::vector<TaskSpec>(3, task_spec())});
  }
  void feed(EventBody body) {
    actions_.clear();
    engine_.step({at(seconds(1)), std::move(body)}, actions_);
  }

  Engine engine_;
  Actions actions_;
};

TEST_F(OneStartPerStep, WhatIsLeftGoesOnAtTheSameInstant) {
  EXPECT_EQ(engine_.state().running.leases, 1U);
  EXPECT_EQ(engine_.next_wakeup(), at(seconds(1)));
  feed(Tick{});
  EXPECT_EQ(engine_.state().running.leases, 3U);
}

TEST_F(OneStartPerStep, NothingBindsTheTaskThatTheNextDecisionStarts) {
  EXPECT_TRUE(engine_.explain(TaskNo{1})->binding.empty());
  const auto behind = engine_.explain(TaskNo{2});
  ASSERT_FALSE(behind->binding.empty());
  EXPECT_EQ(behind->binding.front().code, ReasonCode::behind_in_flow);
  EXPECT_EQ(behind->binding.front().subject, 1U);
  EXPECT_EQ(behind->ahead_in_flow, 1U);
  EXPECT_FALSE(engine_.explain(TaskNo{9}).has_value());
}

// ---- Many cancels -------------------------------------------------------------------------------

TEST(Engine, TasksCancelledInTheMiddleLeaveTheOthersInOrder) {
  CoreWorld world;
  world.tenant();
  world.queue();
  for (std::uint32_t i = 0; i < 3; ++i)
    world.feed(DrainGpu{world.gpu(Mib{10'000}), true});
  for (int i = 0; i < 300; ++i)
    world.submit(task_spec());
  for (std::uint64_t i = 2; i < 299; ++i)
    world.feed(Cancel{TaskNo{i}});
  EXPECT_EQ(world.state().queue(QueueId{0}).pending, 3U);
  std::vector<TaskNo> started;
  for (std::uint32_t i = 0; i < 3; ++i) {
    world.feed(DrainGpu{GpuId{i}, false});
    ASSERT_EQ(world.all<BatchStarted>().size(), 1U);
    started.push_back(world.all<BatchStarted>().front().tasks.front().task);
  }
  EXPECT_EQ(started, (std::vector{TaskNo{0}, TaskNo{1}, TaskNo{299}}));
}

// In the order in which batches take them: by turns where two tenants compete.
TEST(Explain, TellsThePlaceInTheQueue) {
  CoreWorld world;
  world.gpu(Mib{10'000});
  const TenantId a = world.tenant();
  const TenantId b = world.tenant();
  const QueueId queue = world.queue();
  const auto submit = [&](TenantId tenant) {
    TaskSpec spec = task_spec(Mib{1000}, seconds(10));
    spec.tenant = tenant;
    spec.queue = queue;
    return world.submit(spec);
  };
  submit(a);  // it runs
  const std::vector<TaskNo> of_a = {submit(a), submit(a), submit(a)};
  const std::vector<TaskNo> of_b = {submit(b), submit(b)};
  const auto place = [&](TaskNo task) { return world.explain(task)->position.value_or(0); };
  EXPECT_EQ(place(of_b[0]), 1U) << "its tenant has received nothing yet";
  EXPECT_LT(place(of_b[1]), place(of_a[2]));
  std::set<std::uint64_t> places;
  for (const TaskNo task : of_a)
    places.insert(place(task));
  for (const TaskNo task : of_b)
    places.insert(place(task));
  EXPECT_EQ(places, (std::set<std::uint64_t>{1, 2, 3, 4, 5}));
}

}  // namespace
}  // namespace berth::core::engine_test
