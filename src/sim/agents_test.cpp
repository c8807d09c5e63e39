// Simulated agents: what they report, when, and what they keep to themselves.
#include "sim/agents.h"

#include <gtest/gtest.h>

namespace berth::sim::agents_test {
namespace {

constexpr Time kStart{1'000'000'000};

// One queue of 50 + 10·n ms, one without a batch model; a GPU of speed 1 and one of speed 2.
Scenario small_cluster() {
  Scenario scenario;
  Queue queue;
  queue.spec.batch_base = milliseconds(50);
  queue.spec.batch_per_task = milliseconds(10);
  scenario.queues.add("modelled", queue);
  scenario.queues.add("plain", {});
  Gpu gpu;
  scenario.gpus.add("slow", gpu);
  gpu.spec.speed = Milli{2000};
  scenario.gpus.add("fast", gpu);
  Model model;
  model.spec.load_time = seconds(4);
  scenario.models.add("m", model);
  return scenario;
}

core::BatchStarted batch_of(std::uint32_t queue, const std::vector<std::uint32_t>& gpus,
                            const std::vector<std::uint64_t>& tasks) {
  core::BatchStarted batch;
  batch.lease = LeaseId{7};
  batch.queue = QueueId{queue};
  for (const std::uint32_t gpu : gpus)
    batch.gpus.push_back(GpuId{gpu});
  for (const std::uint64_t task : tasks)
    batch.tasks.push_back({TaskNo{task}, 1, 0});
  return batch;
}

class AgentsTest : public ::testing::Test {
 protected:
  struct Planned {
    Time at;
    PlannedReport report;
  };

  Agents& agents() {
    if (!agents_) {
      agents_.emplace(scenario_, 5, [this](Time at, const PlannedReport& report) {
        planned_.push_back({at, report});
      });
    }
    return *agents_;
  }
  // Falls due in order of planning; the bodies that were still true.
  std::vector<core::EventBody> all_due() {
    std::vector<core::EventBody> bodies;
    for (std::size_t i = 0; i < planned_.size(); ++i) {
      const Planned next = planned_[i];
      if (auto body = agents().due(next.at, next.report)) bodies.push_back(*body);
    }
    planned_.clear();
    return bodies;
  }

  Scenario scenario_ = small_cluster();
  std::vector<Planned> planned_;
  std::optional<Agents> agents_;
};

TEST_F(AgentsTest, ABatchTakesItsModelledTimeDividedBySpeed) {
  agents().on_action(kStart, batch_of(0, {0}, {1, 2}));
  ASSERT_EQ(planned_.size(), 2U);
  EXPECT_EQ(planned_[0].at, kStart);
  EXPECT_EQ(planned_[1].at, kStart + milliseconds(70));
  planned_.clear();
  agents().on_action(kStart, batch_of(0, {1}, {1, 2}));
  EXPECT_EQ(planned_[1].at, kStart + milliseconds(35));
}

TEST_F(AgentsTest, WithoutAModelTheLongestTaskCountsOnTheSlowestGpu) {
  agents().on_task_submitted(TaskNo{3}, milliseconds(20));
  agents().on_task_submitted(TaskNo{4}, milliseconds(90));
  agents().on_action(kStart, batch_of(1, {1, 0}, {3, 4}));
  EXPECT_EQ(planned_.back().at, kStart + milliseconds(90));
}

TEST_F(AgentsTest, TheSpeedIsThatOfTheQueuesClassOfWork) {
  scenario_.gpus.specs[1].spec.class_speeds = {{WorkClassId{0}, Milli{4000}}};
  agents().on_action(kStart, batch_of(0, {1}, {1, 2, 3}));
  EXPECT_EQ(planned_.back().at, kStart + milliseconds(40));
  scenario_.queues.specs[0].spec.work_class = WorkClassId{0};
  agents().on_action(kStart, batch_of(0, {1}, {1, 2, 3}));
  EXPECT_EQ(planned_.back().at, kStart + milliseconds(20));
  agents().on_action(kStart, batch_of(0, {0}, {1, 2, 3}));  // has none for it: as in general
  EXPECT_EQ(planned_.back().at, kStart + milliseconds(80));
}

TEST_F(AgentsTest, TheStartIsDelayedAndTheEndFollowsIt) {
  scenario_.agents.start_delay = milliseconds(5);
  agents().on_action(kStart, batch_of(0, {0}, {1}));
  EXPECT_EQ(planned_[0].at, kStart + milliseconds(5));
  EXPECT_EQ(planned_[1].at, kStart + milliseconds(65));
}

TEST_F(AgentsTest, JitterStaysWithinItsFractionAndFollowsTheSeed) {
  scenario_.agents.jitter = 0.2;
  std::vector<Time> ends;
  for (std::uint64_t task = 0; task < 50; ++task) {
    planned_.clear();
    agents().on_action(Time{0}, batch_of(0, {0}, {task}));
    ends.push_back(planned_.back().at);
    EXPECT_GE(ends.back().ns, 48'000'000);
    EXPECT_LE(ends.back().ns, 72'000'000);
  }
  planned_.clear();
  agents().on_action(Time{0}, batch_of(0, {0}, {49}));
  EXPECT_EQ(planned_.back().at, ends.back());
  EXPECT_NE(ends[0], ends[1]);
}

TEST_F(AgentsTest, AStoppedTaskEndsAloneOrWithItsLease) {
  agents().on_action(kStart, batch_of(0, {0}, {1, 2}));
  planned_.clear();
  agents().on_action(kStart, core::StopTask{LeaseId{7}, TaskNo{1}});
  agents().on_action(kStart, core::StopTask{LeaseId{7}, TaskNo{2}});
  const auto bodies = all_due();
  ASSERT_EQ(bodies.size(), 2U);
  EXPECT_EQ(std::get<core::TaskEnded>(bodies[0]).outcome.task, TaskNo{1});
  EXPECT_EQ(std::get<core::LeaseEnded>(bodies[1]).outcomes[0].task, TaskNo{2});
}

TEST_F(AgentsTest, FailuresHaveTheirKindAndRate) {
  scenario_.agents.task_failure[static_cast<std::size_t>(core::Failure::crash)] = 0.25;
  int crashed = 0;
  for (std::uint64_t task = 0; task < 2000; ++task) {
    agents().on_action(kStart, batch_of(0, {0}, {task}));
    for (const core::EventBody& body : all_due()) {
      const auto* ended = std::get_if<core::LeaseEnded>(&body);
      if (ended == nullptr || ended->outcomes.empty()) continue;
      EXPECT_EQ(ended->outcomes[0].failure, core::Failure::crash);
      ++crashed;
    }
  }
  EXPECT_NEAR(crashed, 500, 70);
}

TEST_F(AgentsTest, LoadsTakeTheirTimeAndEvictionsAreReported) {
  agents().on_action(kStart, core::LoadModel{GpuId{0}, ModelId{0}, seconds(1), LoadId{3}});
  EXPECT_EQ(planned_[0].at, kStart + seconds(4));
  const auto loaded = std::get<core::ModelLoaded>(all_due()[0]);
  EXPECT_TRUE(loaded.ok);
  EXPECT_EQ(loaded.took, seconds(4));
  EXPECT_EQ(loaded.load, LoadId{3});
  agents().on_action(kStart, core::EvictModel{GpuId{0}, ModelId{0}, LoadId{3}});
  EXPECT_EQ(std::get<core::ModelUnloaded>(all_due()[0]).load, LoadId{3});
}

TEST_F(AgentsTest, WhatFollowsAnEvictionBeginsWhenTheVramIsBack) {
  scenario_.agents.unload_delay = seconds(2);
  agents().on_action(kStart, core::EvictModel{GpuId{0}, ModelId{0}, LoadId{3}});
  agents().on_action(kStart, core::LoadModel{GpuId{0}, ModelId{0}, seconds(1), LoadId{4}});
  agents().on_action(kStart, core::LoadModel{GpuId{1}, ModelId{0}, seconds(1), LoadId{5}});
  ASSERT_EQ(planned_.size(), 3U);
  EXPECT_EQ(planned_[0].at, kStart + seconds(2));
  EXPECT_EQ(planned_[1].at, kStart + seconds(6));
  EXPECT_EQ(planned_[1].report.took, seconds(4));
  EXPECT_EQ(planned_[2].at, kStart + seconds(4));
}

TEST_F(AgentsTest, ALostGpuReportsNothingMore) {
  agents().on_action(kStart, batch_of(0, {0}, {1}));
  agents().on_action(kStart, core::LoadModel{GpuId{0}, ModelId{0}, seconds(1), LoadId{0}});
  agents().lose_gpu(GpuId{0});
  agents().return_gpu(kStart, GpuId{0});
  EXPECT_TRUE(all_due().empty());
}

TEST_F(AgentsTest, AGangThatLosesOneGpuStillReportsItsEnd) {
  agents().on_action(kStart, batch_of(0, {0, 1}, {1}));
  planned_.clear();
  agents().lose_gpu(GpuId{0});
  agents().on_action(kStart, core::StopTask{LeaseId{7}, TaskNo{1}});
  const auto bodies = all_due();
  ASSERT_EQ(bodies.size(), 1U);
  EXPECT_EQ(std::get<core::LeaseEnded>(bodies[0]).lease, LeaseId{7});
}

TEST_F(AgentsTest, GpusFailAndAreRepaired) {
  scenario_.agents.gpu_mtbf = seconds(100);
  scenario_.agents.gpu_repair = seconds(30);
  agents().plan_failures();
  ASSERT_EQ(planned_.size(), 2U);
  const Planned first = planned_[0];
  planned_.clear();
  EXPECT_TRUE(std::holds_alternative<core::GpuLost>(*agents().due(first.at, first.report)));
  ASSERT_EQ(planned_.size(), 1U);
  EXPECT_EQ(planned_[0].at, first.at + seconds(30));
  const auto back = agents().due(planned_[0].at, planned_[0].report);
  EXPECT_TRUE(std::holds_alternative<core::GpuReturned>(*back));
  EXPECT_EQ(planned_.size(), 2U);  // and will fail again
}

}  // namespace
}  // namespace berth::sim::agents_test
