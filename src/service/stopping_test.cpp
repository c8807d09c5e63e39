// What is told of tasks that are asked to stop, from the request to the end of their processes; and
// of promises that an agent never took up.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/state/state.h"
#include "service/testing/desk.h"

namespace berth::service::stopping_test {
namespace {

using core::ReasonCode;
using core::TaskState;
using testing::Desk;
using testing::new_task;

class Stopping : public ::testing::Test {
 public:
  Stopping() {
    desk_.furnish();
    desk_.agent.finishes_at_once = false;
  }
  ~Stopping() override {
    EXPECT_EQ(desk_.differences(), std::vector<std::uint32_t>{});
    const std::vector<std::byte> bytes = desk_.snapshot();
    Replayer restored(minutes(24 * 60));
    const Status status = restored.restore(bytes);
    EXPECT_TRUE(status.ok()) << status.error().message;
    EXPECT_EQ(restored.snapshot(), bytes);
  }

 protected:
  // Two tasks in one batch.
  std::vector<TaskNo> submit_batch() {
    desk_.control(SetQueuePaused{"llm", true});
    std::vector<TaskNo> tasks;
    for (const char* id : {"a", "b"})
      tasks.push_back(desk_.submit(new_task(id)).task);
    desk_.control(SetQueuePaused{"llm", false});
    EXPECT_EQ(desk_.agent.leases.at(0).tasks_size(), 2);
    return tasks;
  }
  static std::vector<std::pair<TaskState, ReasonCode>> steps_of(const Desk& desk, TaskNo task) {
    std::vector<std::pair<TaskState, ReasonCode>> steps;
    for (const TaskChange& change : desk.feed.read(0, 1000).changes) {
      if (change.card->task == task) steps.emplace_back(change.state, change.reason.code);
    }
    return steps;
  }
  std::size_t leases_on_gpus() const {
    return desk_.view.read([](const Board& board) {
      std::size_t leases = 0;
      for (const GpuLine& gpu : board.gpus())
        leases += gpu.leases.size();
      return leases;
    });
  }

  Desk desk_;
};

TEST_F(Stopping, ACancelledTaskEndsWhenItsProcessesHave) {
  const TaskNo task = desk_.submit(new_task("a")).task;
  const ControlOutcome outcome = desk_.control(CancelTasks{{task}});
  EXPECT_EQ(outcome.count, 1U);
  EXPECT_EQ(outcome.stopping, 1U);
  ASSERT_EQ(desk_.agent.stops.size(), 1U);
  desk_.wait(seconds(5));  // the grace
  EXPECT_TRUE(desk_.ended.empty());
  desk_.view.read([&](const Board& board) {
    const TaskLine* line = board.tasks().find(task);
    ASSERT_NE(line, nullptr);
    EXPECT_EQ(line->state, TaskState::running);
    EXPECT_EQ(line->reason.code, ReasonCode::cancelling);
    EXPECT_EQ(line->ended, Time::never());
    EXPECT_EQ(board.queues().at(0).running, 1U);
    EXPECT_EQ(board.queues().at(0).ends.cancelled, 0U);
  });
  EXPECT_EQ(leases_on_gpus(), 1U);

  // It completes by itself in its grace: it was cancelled all the same, and its result is kept.
  const Time before_end = desk_.now;
  desk_.agent.finish(desk_.agent.leases.at(0));
  desk_.turn();
  ASSERT_EQ(desk_.ended.size(), 1U);
  EXPECT_EQ(desk_.ended[0].state, TaskState::cancelled);
  EXPECT_EQ(desk_.ended[0].reason.code, ReasonCode::by_request);
  EXPECT_EQ(desk_.ended[0].ended, before_end);
  EXPECT_FALSE(desk_.ended[0].attempts.at(0).result.empty());
  EXPECT_EQ(desk_.ended[0].attempts.at(0).charge_us, 5'000'000);
  EXPECT_EQ(leases_on_gpus(), 0U);
  const std::vector<std::pair<TaskState, ReasonCode>> steps{
      {TaskState::pending, ReasonCode::none},
      {TaskState::starting, ReasonCode::none},
      {TaskState::running, ReasonCode::none},
      {TaskState::running, ReasonCode::cancelling},
      {TaskState::cancelled, ReasonCode::by_request}};
  EXPECT_EQ(steps_of(desk_, task), steps);
}

TEST_F(Stopping, ATaskThatNeverStartedEndsAtOnce) {
  desk_.control(SetQueuePaused{"llm", true});
  const TaskNo task = desk_.submit(new_task("a")).task;
  const ControlOutcome outcome = desk_.control(CancelTasks{{task}});
  EXPECT_EQ(outcome.count, 1U);
  EXPECT_EQ(outcome.stopping, 0U);
  ASSERT_EQ(desk_.ended.size(), 1U);
}

TEST_F(Stopping, OneOfABatchEndsWhenTheAgentSaysSo) {
  const std::vector<TaskNo> tasks = submit_batch();
  desk_.control(CancelTasks{{tasks[0]}});
  EXPECT_TRUE(desk_.ended.empty());
  desk_.agent.finish_task(desk_.agent.leases.at(0), tasks[0].value);
  desk_.turn();
  ASSERT_EQ(desk_.ended.size(), 1U);
  EXPECT_EQ(desk_.ended[0].card->task, tasks[0]);
  EXPECT_EQ(desk_.ended[0].state, TaskState::cancelled);
  EXPECT_EQ(desk_.state_of(tasks[1]), TaskState::running);
}

TEST_F(Stopping, AnotherRequestInTheGraceChangesNothing) {
  const TaskNo task = desk_.submit(new_task("a")).task;
  desk_.control(CancelTasks{{task}});
  const ControlOutcome again = desk_.control(CancelTasks{{task}});
  EXPECT_EQ(again.reason.code, ReasonCode::unknown_task);
  EXPECT_EQ(desk_.agent.stops.size(), 1U);
  EXPECT_EQ(desk_.state_of(task), TaskState::running);
}

TEST_F(Stopping, AServerThatIsRestartedInTheGraceGoesOnWaiting) {
  const TaskNo task = desk_.submit(new_task("a")).task;
  const std::vector<v1::Lease> leases = desk_.agent.leases;
  desk_.control(CancelTasks{{task}});
  Replayer recovered(minutes(24 * 60));
  ASSERT_TRUE(recovered.restore(desk_.snapshot()).ok());
  Board board = recovered.take_board();
  Desk next(recovered.take_position());
  next.view.change([&](Board& its) { its = std::move(board); });
  EXPECT_EQ(next.state_of(task), TaskState::running);
  next.agent.finishes_at_once = false;
  next.agent.leases = leases;
  next.agent.hello(2, 40'000, {leases.at(0).id()});
  next.turn();
  EXPECT_EQ(next.agent.stops.size(), 1U);  // the agent may have missed the first
  EXPECT_TRUE(next.ended.empty());
  next.agent.finish(leases.at(0));
  next.turn();
  ASSERT_EQ(next.ended.size(), 1U);
  EXPECT_EQ(next.ended[0].state, TaskState::cancelled);
}

TEST_F(Stopping, ALeaseThatIsLostEndsWhatWasBeingCancelled) {
  const TaskNo task = desk_.submit(new_task("a")).task;
  desk_.control(CancelTasks{{task}});
  desk_.agent.hello(2, 40'000);  // holds nothing
  desk_.turn();
  ASSERT_EQ(desk_.ended.size(), 1U);
  EXPECT_EQ(desk_.ended[0].state, TaskState::cancelled);
}

// ---- Put back for other work
// ---------------------------------------------------------------------

class PutBack : public Stopping {
 protected:
  // A task of the last tier that is being stopped for a gang of both GPUs.
  TaskNo stopped_for_a_gang() {
    NewTask low = new_task("low");
    low.tier = 3;
    const TaskNo task = desk_.submit(std::move(low)).task;
    desk_.wait(minutes(2));
    NewTask gang = new_task("gang");
    gang.spec.gpus = 2;
    gang_ = desk_.submit(std::move(gang)).task;
    desk_.wait(seconds(3));
    EXPECT_EQ(desk_.agent.stops.size(), 1U);
    return task;
  }
  AttemptLine first_attempt(TaskNo task) const {
    return desk_.view.read(
        [&](const Board& board) { return board.tasks().find(task)->attempts.at(0); });
  }
  TaskNo gang_;
};

TEST_F(PutBack, AnAttemptEndsWithItsProcessesAndTheTaskStartsOnlyThen) {
  const TaskNo task = stopped_for_a_gang();
  EXPECT_EQ(desk_.state_of(task), TaskState::pending);
  EXPECT_EQ(first_attempt(task).ended, Time::never());
  desk_.control(CancelTasks{{gang_}});  // both GPUs have room; it waits for itself
  desk_.wait(seconds(5));
  EXPECT_EQ(desk_.agent.leases.size(), 1U);
  EXPECT_EQ(desk_.state_of(task), TaskState::pending);

  const Time before_end = desk_.now;
  desk_.agent.finish(desk_.agent.leases.at(0));
  desk_.turn();
  EXPECT_EQ(first_attempt(task).ended, before_end);
  ASSERT_EQ(desk_.agent.leases.size(), 2U);
  EXPECT_EQ(desk_.state_of(task), TaskState::running);

  // Its logs and its history are kept by this number.
  EXPECT_EQ(desk_.agent.leases.at(0).tasks(0).attempt(), 1U);
  EXPECT_EQ(desk_.agent.leases.at(1).tasks(0).attempt(), 2U);
  desk_.agent.finish(desk_.agent.leases.at(1));
  desk_.turn();
  const TaskLine& ended = desk_.ended.back();
  ASSERT_EQ(ended.attempts.size(), 2U);
  EXPECT_EQ(ended.attempts[0].number, 1U);
  EXPECT_EQ(ended.attempts[1].number, 2U);
}

TEST_F(PutBack, OneThatIsCancelledMeanwhileEndsWithItsProcesses) {
  const TaskNo task = stopped_for_a_gang();
  const ControlOutcome outcome = desk_.control(CancelTasks{{task}});
  EXPECT_EQ(outcome.stopping, 1U);
  EXPECT_TRUE(desk_.ended.empty());
  desk_.agent.finish(desk_.agent.leases.at(0));
  desk_.turn();
  ASSERT_EQ(desk_.ended.size(), 1U);
  EXPECT_EQ(desk_.ended[0].state, TaskState::cancelled);
  const auto steps = steps_of(desk_, task);
  ASSERT_GE(steps.size(), 2U);
  EXPECT_EQ(steps[steps.size() - 2], std::pair(TaskState::running, ReasonCode::cancelling));
}

// ---- What a lease costs
// --------------------------------------------------------------------------

TEST_F(Stopping, NobodyPaysForTheTimeWithoutAServer) {
  desk_.submit(new_task("a"));
  desk_.wait(seconds(16));
  desk_.agent.ended_ago_ms = 15'000;
  desk_.agent.finish(desk_.agent.leases.at(0));
  desk_.turn();
  ASSERT_EQ(desk_.ended.size(), 1U);
  EXPECT_EQ(desk_.ended[0].attempts.at(0).charge_us, 1'000'000);
  const AttemptLine& attempt = desk_.ended[0].attempts.at(0);
  EXPECT_EQ(attempt.ended - attempt.started, seconds(1));
  EXPECT_EQ(desk_.ended[0].ended, attempt.ended);
}

TEST_F(Stopping, AfterAnotherBootTheRunItselfIsPaid) {
  desk_.submit(new_task("a"));
  desk_.wait(minutes(60));
  desk_.agent.ran_ms = 2'500;
  desk_.agent.finish(desk_.agent.leases.at(0));
  desk_.turn();
  EXPECT_EQ(desk_.ended.at(0).attempts.at(0).charge_us, 2'500'000);
}

TEST_F(Stopping, WhatWasLostWithTheAgentIsPaidByNobody) {
  desk_.submit(new_task("a"));
  desk_.wait(seconds(16));
  desk_.agent.hello(2, 40'000);
  desk_.turn();
  const auto [released, engine, replayed] = desk_.ledgers();
  // It has started again: what is charged is the start of the second lease.
  EXPECT_EQ(engine.at(0).net_us(), 1'000'000);
}

// ---- Promises that were not taken up
// -------------------------------------------------------------

class Promises : public Stopping {
 protected:
  NewTask at_most_once(const std::string& id) {
    NewTask task = new_task(id);
    task.spec.retry.on |= core::kLossEndsIt;
    return task;
  }
  void greet_again(bool knows_all, const std::vector<std::uint64_t>& held = {}) {
    desk_.agent.knows_all = knows_all;
    desk_.agent.hello(2, 40'000, held);
    desk_.turn();
  }
};

TEST_F(Promises, ATaskThatWasNeverBegunStartsAgainAsIfNothingHadBeen) {
  desk_.agent.starts_at_once = false;
  const TaskNo task = desk_.submit(at_most_once("a")).task;
  for (std::size_t rounds = 2; rounds < 30; ++rounds) {
    greet_again(true);
    ASSERT_EQ(desk_.agent.leases.size(), rounds);
    EXPECT_EQ(desk_.agent.leases.back().tasks(0).attempt(), rounds);
  }
  EXPECT_TRUE(desk_.ended.empty());
  EXPECT_EQ(desk_.state_of(task), TaskState::starting);
}

TEST_F(Promises, ATaskThatHadStartedIsLost) {
  desk_.submit(at_most_once("a"));
  greet_again(true);
  ASSERT_EQ(desk_.ended.size(), 1U);
  EXPECT_EQ(desk_.ended[0].reason.code, ReasonCode::infrastructure_lost);
}

TEST_F(Promises, AnAgentThatMayHaveLostSomethingIsNotBelieved) {
  desk_.agent.starts_at_once = false;
  desk_.submit(at_most_once("a"));
  greet_again(false);
  ASSERT_EQ(desk_.ended.size(), 1U);
  EXPECT_EQ(desk_.ended[0].reason.code, ReasonCode::infrastructure_lost);
}

TEST_F(Promises, OfALeaseThatWasTakenInByHalfTheOtherHalfIsPutBack) {
  desk_.control(SetQueuePaused{"llm", true});
  desk_.submit(at_most_once("a"));
  const TaskNo second = desk_.submit(at_most_once("b")).task;
  desk_.control(SetQueuePaused{"llm", false});
  v1::Lease& lease = desk_.agent.leases.at(0);
  ASSERT_EQ(lease.tasks_size(), 2);
  lease.mutable_tasks()->RemoveLast();  // of which it wrote nothing down
  greet_again(true, {lease.id()});
  EXPECT_TRUE(desk_.ended.empty());
  ASSERT_EQ(desk_.agent.leases.size(), 2U);
  EXPECT_EQ(desk_.agent.leases[1].tasks(0).task_no(), second.value);
  EXPECT_EQ(desk_.agent.leases[1].tasks(0).attempt(), 2U);
}

// ---- Signals
// -------------------------------------------------------------------------------------

TEST_F(Stopping, ASignalTellsHowManyItReleased) {
  constexpr int kWaiters = 1'000;  // far more than one step makes ready
  std::vector<NewTask> tasks;
  for (int i = 0; i < kWaiters; ++i) {
    tasks.push_back(new_task("w" + std::to_string(i)));
    tasks.back().depends_on = {"signal:go"};
  }
  tasks.push_back(new_task("other"));
  tasks.back().depends_on = {"signal:go", "signal:later"};
  desk_.submit(std::move(tasks));
  EXPECT_EQ(desk_.control(ResolveSignal{"alice", "go"}).count, std::uint64_t{kWaiters});
  EXPECT_EQ(desk_.control(ResolveSignal{"alice", "go"}).count, 0U);
  EXPECT_EQ(desk_.control(ResolveSignal{"alice", "later"}).count, 1U);
}

}  // namespace
}  // namespace berth::service::stopping_test
