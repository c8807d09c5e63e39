// Arrays as the sequencer knows them: named when they are accepted, forgotten after their end, and
// what depends on one waits for all its tasks.
#include <gtest/gtest.h>

#include "service/testing/desk.h"

namespace berth::service::arrays_test {
namespace {

using core::TaskState;
using testing::Desk;
using testing::new_task;
using Kind = SubmitOutcome::Kind;

class Arrays : public ::testing::Test {
 protected:
  Arrays() { desk_.furnish(); }
  void TearDown() override {
    EXPECT_EQ(desk_.differences(), std::vector<std::uint32_t>{}) << "the journal leads elsewhere";
    Replayer restored(minutes(24 * 60));
    ASSERT_TRUE(restored.restore(desk_.snapshot()).ok());
    const auto& before = desk_.sequencer.names().arrays();
    const auto& after = restored.position().names.arrays();
    ASSERT_EQ(after.size(), before.size());
    for (const auto& [name, array] : before) {
      EXPECT_EQ(after.at(name).first, array.first);
      EXPECT_EQ(after.at(name).count, array.count);
      EXPECT_EQ(after.at(name).indices, array.indices);
    }
  }

  static std::vector<NewTask> array(const std::string& name, std::uint32_t count,
                                    const std::vector<std::string>& depends_on = {}) {
    std::vector<NewTask> tasks;
    for (std::uint32_t i = 0; i < count; ++i) {
      NewTask& task = tasks.emplace_back(new_task(name + "[" + std::to_string(i) + "]"));
      task.has_command = true;
      task.card->group_name = name;
      task.in_array = true;
      task.indices = "0-" + std::to_string(count - 1);
      task.depends_on = depends_on;
    }
    return tasks;
  }
  static NewTask after(const std::string& id, std::vector<std::string> depends_on) {
    NewTask task = new_task(id);
    task.depends_on = std::move(depends_on);
    return task;
  }
  ArrayEntry named(const std::string& name) const {
    const Names& names = desk_.sequencer.names();
    return names.array(names.tenant("alice"), name);
  }
  std::size_t dependencies_of(TaskNo task) const {
    const core::TaskTable& tasks = desk_.sequencer.engine().state().tasks;
    return tasks.row(tasks.slot_of(task)).unresolved;
  }

  Desk desk_;
  int passed_ = 0;
};

TEST_F(Arrays, WhatDependsOnAnArrayWaitsForAllItsTasks) {
  desk_.agent.finishes_at_once = false;
  const auto outcomes = desk_.submit(array("x", 3), true);
  ASSERT_EQ(outcomes.front().kind, Kind::accepted);
  EXPECT_EQ(named("x").first, outcomes.front().task);
  EXPECT_EQ(named("x").count, 3U);
  EXPECT_EQ(named("x").indices, "0-2");
  const SubmitOutcome last = desk_.submit(after("last", {"x"}));
  ASSERT_EQ(last.kind, Kind::accepted);
  EXPECT_EQ(dependencies_of(last.task), 3U);
  desk_.agent.finish(desk_.agent.leases.at(0));
  desk_.turn();
  // One has completed: it counts as it ended.
  const SubmitOutcome later = desk_.submit(after("later", {"x"}));
  EXPECT_EQ(dependencies_of(later.task), 2U);
  EXPECT_EQ(desk_.state_of(last.task), TaskState::waiting);
  desk_.agent.finish(desk_.agent.leases.at(1));
  desk_.turn();
  EXPECT_EQ(desk_.state_of(last.task), TaskState::waiting);
  desk_.agent.finish(desk_.agent.leases.at(2));
  desk_.turn();
  EXPECT_EQ(desk_.state_of(last.task), TaskState::running);
  EXPECT_EQ(desk_.state_of(later.task), TaskState::running);
}

TEST_F(Arrays, NoTaskHasTheIdOfAnArray) {
  desk_.agent.finishes_at_once = false;
  ASSERT_EQ(desk_.submit(array("x", 2), true).front().kind, Kind::accepted);
  EXPECT_EQ(desk_.submit(new_task("x")).kind, Kind::conflict);
  ASSERT_EQ(desk_.submit(new_task("y")).kind, Kind::accepted);
  EXPECT_EQ(desk_.submit(array("y", 2), true).front().kind, Kind::conflict);
  EXPECT_EQ(desk_.submit(array("x", 2), true).front().kind, Kind::duplicate);
  std::vector<NewTask> workflow = array("z", 2);
  workflow.push_back(new_task("z"));
  EXPECT_EQ(desk_.submit(std::move(workflow), true).front().kind, Kind::conflict);
}

TEST_F(Arrays, OneTaskThatDoesNotCompleteIsEnough) {
  desk_.agent.finishes_at_once = false;
  const auto outcomes = desk_.submit(array("x", 2), true);
  const TaskNo waits = desk_.submit(after("waits", {"x"})).task;
  desk_.control(CancelTasks{{outcomes.back().task}});
  desk_.agent.finish(desk_.agent.leases.at(1));
  desk_.turn();
  EXPECT_EQ(desk_.view.read([&](const Board& board) { return board.tasks().find(waits); }),
            nullptr);
  const SubmitOutcome refused = desk_.submit(after("refused", {"x"}));
  EXPECT_EQ(refused.kind, Kind::refused);
  EXPECT_EQ(refused.reason.code, core::ReasonCode::dependency_failed);
}

TEST_F(Arrays, ArraysOfOneWorkflowMayDependOnOneAnother) {
  desk_.agent.finishes_at_once = false;
  std::vector<NewTask> workflow = array("x", 2);
  for (NewTask& task : array("y", 3, {"x"}))
    workflow.push_back(std::move(task));
  workflow.push_back(after("end", {"y", "x[0]"}));
  const auto outcomes = desk_.submit(std::move(workflow), true);
  ASSERT_EQ(outcomes.front().kind, Kind::accepted);
  EXPECT_EQ(dependencies_of(outcomes[2].task), 2U);
  EXPECT_EQ(dependencies_of(outcomes[5].task), 4U);
  EXPECT_EQ(named("y").first, outcomes[2].task);
}

// The numbers of an array are one range.
TEST_F(Arrays, AnArrayInTwoPartsIsRefused) {
  std::vector<NewTask> workflow = array("x", 1);
  workflow.push_back(new_task("between"));
  NewTask second = std::move(array("x", 2).back());
  workflow.push_back(std::move(second));
  EXPECT_EQ(desk_.submit(std::move(workflow), true).front().kind, Kind::group_in_use);
  EXPECT_FALSE(named("x"));
}

TEST_F(Arrays, ATaskOfTheSameIdIsMeantBeforeTheArray) {
  desk_.control(SetQueuePaused{"llm", true});
  desk_.submit(new_task("x"));
  desk_.submit(array("x", 5), true);
  EXPECT_EQ(dependencies_of(desk_.submit(after("a", {"x"})).task), 1U);
}

TEST_F(Arrays, TenThousandTasksAreWaitedForAndMoreIsRefusedWithItsNumbers) {
  desk_.control(SetQueuePaused{"llm", true});
  ASSERT_EQ(desk_.submit(array("x", 10'000), true).front().kind, Kind::accepted);
  const SubmitOutcome last = desk_.submit(after("last", {"x"}));
  ASSERT_EQ(last.kind, Kind::accepted);
  EXPECT_EQ(dependencies_of(last.task), 10'000U);
  const SubmitOutcome over = desk_.submit(array("y", 11, {"x"}), true).front();
  EXPECT_EQ(over.kind, Kind::too_many_dependencies);
  EXPECT_EQ(over.what, "x");
  EXPECT_EQ(over.reason.need, 110'000);
  EXPECT_EQ(over.reason.have, 100'000);
  EXPECT_FALSE(named("y"));
}

// What the core refuses leaves no name behind.
TEST_F(Arrays, AnArrayThatIsRefusedIsNotNamed) {
  std::vector<NewTask> tasks = array("x", 2);
  for (NewTask& task : tasks)
    task.spec.vram = Mib{1'000'000};
  EXPECT_EQ(desk_.submit(std::move(tasks), true).front().kind, Kind::refused);
  EXPECT_FALSE(named("x"));
  EXPECT_EQ(desk_.submit(after("a", {"x"})).kind, Kind::unknown_dependency);
}

TEST_F(Arrays, AnArrayIsForgottenWhenIdsAre) {
  desk_.submit(array("x", 2), true);  // they end at once
  const auto pass = [&](int count) {
    for (int i = 0; i < count; ++i) {
      NewTask task = new_task("");
      task.card->group_name = "g" + std::to_string(passed_++);
      desk_.submit(std::move(task));
    }
  };
  pass(20);
  EXPECT_TRUE(named("x")) << "ids are remembered for a day";
  EXPECT_EQ(desk_.submit(after("a", {"x"})).kind, Kind::accepted);
  desk_.wait(minutes(25 * 60));
  pass(20);
  EXPECT_FALSE(named("x"));
}

}  // namespace
}  // namespace berth::service::arrays_test
