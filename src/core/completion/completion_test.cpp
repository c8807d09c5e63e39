// Completion: when a failed task is tried again, held or given up, to the nanosecond; what its
// dependants are told.
#include "core/completion/completion.h"

#include <gtest/gtest.h>

#include "core/testing/core_world.h"

namespace berth::core::completion_test {
namespace {

class Completion : public testing::Test {
 protected:
  Completion() {
    world_.tenant();
    world_.queue();
    world_.gpu(Mib{10'000});
  }
  // A task that has been started so many times.
  static TaskRow tried(int attempts, const RetryRule& rule) {
    TaskRow row;
    row.no = TaskNo{7};
    row.attempts = static_cast<std::uint8_t>(attempts);
    row.max_attempts = rule.max_attempts;
    row.retry_on = rule.on;
    row.backoff = rule.backoff;
    return row;
  }
  Action judge(const TaskRow& row, Failure failure = Failure::error) const {
    return judge_failure(world_.state(), row, failure);
  }
  // How long until it is tried again.
  Duration backoff_of(const TaskRow& row) const {
    const auto deferred = std::get<TaskDeferred>(judge(row));
    EXPECT_EQ(deferred.reason.code, ReasonCode::waits_for_time);
    EXPECT_EQ(deferred.reason.at, deferred.eligible_at);
    return deferred.eligible_at - world_.now();
  }

  CoreWorld world_;
};

Action failed(ReasonCode code, std::int64_t need, std::int64_t have, std::uint64_t subject = 7) {
  return TaskFinished{TaskNo{7}, TaskState::failed, {code, need, have, subject, Time::never()}};
}

TaskSpec after(std::uint64_t task, OnDependencyFailure on_failure = OnDependencyFailure::fail) {
  TaskSpec spec = task_spec();
  spec.depends_on = {{Dependency::Kind::task, task}};
  spec.on_dependency_failure = on_failure;
  return spec;
}

// ---- Failures -----------------------------------------------------------------------------------

TEST_F(Completion, TheBackoffDoublesAfterEachAttemptUpToADay) {
  world_.wait(seconds(3));
  const RetryRule rule{.max_attempts = 255, .backoff = milliseconds(1500)};
  EXPECT_EQ(backoff_of(tried(1, rule)), milliseconds(1500));
  EXPECT_EQ(backoff_of(tried(2, rule)), milliseconds(3000));
  EXPECT_EQ(backoff_of(tried(3, rule)), milliseconds(6000));
  EXPECT_EQ(backoff_of(tried(16, rule)), milliseconds(1500 * 32768));
  EXPECT_EQ(backoff_of(tried(17, rule)), minutes(24 * 60));
  EXPECT_EQ(backoff_of(tried(254, rule)), minutes(24 * 60));
  EXPECT_EQ(backoff_of(tried(9, {.max_attempts = 255})), Duration{0});
}

TEST_F(Completion, AttemptsAreLimited) {
  const RetryRule rule{.max_attempts = 3};
  EXPECT_TRUE(std::holds_alternative<TaskDeferred>(judge(tried(2, rule))));
  EXPECT_EQ(judge(tried(3, rule)), failed(ReasonCode::attempts_spent, 3, 3));
}

TEST_F(Completion, OnlyTheFailuresOfTheRuleAreRetried) {
  const RetryRule rule{.max_attempts = 9, .on = mask_of(Failure::crash)};
  EXPECT_TRUE(std::holds_alternative<TaskDeferred>(judge(tried(1, rule), Failure::crash)));
  EXPECT_EQ(judge(tried(1, rule), Failure::error), failed(ReasonCode::not_retried, 0, 0));
}

TEST_F(Completion, AttemptsThatWereAskedForAreGiven) {
  TaskRow row = tried(8, {.max_attempts = 9});
  row.like_failures = 8;
  EXPECT_EQ(std::get<TaskDeferred>(judge(row)).reason.code, ReasonCode::waits_for_time);
}

TEST_F(Completion, LikeFailuresInARowHoldATaskWhereThePolicySaysSo) {
  PolicySpec policy;
  policy.poison_after = 3;
  world_.feed(SetPolicy{policy});
  TaskRow row = tried(3, {.max_attempts = 9});
  row.like_failures = 1;
  EXPECT_EQ(std::get<TaskDeferred>(judge(row)).reason.code, ReasonCode::waits_for_time);
  row.like_failures = 2;
  const Reason poisoned{ReasonCode::poison_held, 3, 3, 7, Time::never()};
  EXPECT_EQ(judge(row), Action(TaskDeferred{TaskNo{7}, poisoned, Time::never(), Failure::error}));
  // Another kind of failure begins to count anew.
  EXPECT_EQ(std::get<TaskDeferred>(judge(row, Failure::crash)).reason.code,
            ReasonCode::waits_for_time);
}

// ---- Lost GPUs ----------------------------------------------------------------------------------

TEST_F(Completion, ALossCostsNoAttemptUntilThereAreTooMany) {
  TaskRow row = tried(1, {.max_attempts = 1});
  row.eligible = Time{5};
  row.losses = 9;
  const Action back = judge_loss(world_.state(), row, GpuId{0});
  const Reason lost{ReasonCode::gpu_lost, 0, 0, 0, Time::never()};
  EXPECT_EQ(back, Action(TaskDeferred{TaskNo{7}, lost, Time{5}, Failure::infrastructure}));
  row.losses = 10;
  EXPECT_EQ(judge_loss(world_.state(), row, GpuId{0}),
            failed(ReasonCode::infrastructure_lost, 11, 10, 0));
  EXPECT_EQ(judge(row, Failure::infrastructure),
            failed(ReasonCode::infrastructure_lost, 11, 10, Reason::kNoSubject));
}

TEST_F(Completion, ATaskThatMayStartOnceEndsWithItsGpu) {
  TaskSpec spec = task_spec();
  spec.retry.on = kRetryOnAny | kLossEndsIt;
  const TaskNo task = world_.submit(spec);
  world_.feed(GpuLost{GpuId{0}});
  const auto ended = world_.all<TaskFinished>();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended.front().task, task);
  EXPECT_EQ(ended.front().state, TaskState::failed);
  EXPECT_EQ(ended.front().reason.code, ReasonCode::infrastructure_lost);
}

TEST_F(Completion, ATaskWhoseGpuWasLostGoesBackToItsPlace) {
  const TaskNo first = world_.submit(task_spec());
  const TaskNo second = world_.submit(task_spec());
  world_.feed(GpuLost{GpuId{0}});
  EXPECT_EQ(world_.row(first).state, TaskState::pending);
  EXPECT_EQ(world_.row(first).attempts, 0);
  EXPECT_EQ(world_.row(first).losses, 1);
  world_.feed(GpuReturned{GpuId{0}});
  const auto started = world_.all<BatchStarted>();
  ASSERT_EQ(started.size(), 1U);
  EXPECT_EQ(started.front().tasks.front().task, first);
  EXPECT_EQ(started.front().tasks.front().attempt, 2U);  // a number of its own
  EXPECT_EQ(world_.row(first).attempts, 1);              // but the only one that counts
  EXPECT_EQ(world_.row(second).state, TaskState::pending);
}

// A number that was used names one run for good: its log, its line in the history.
TEST_F(Completion, EachStartHasItsOwnNumberWhateverItCounts) {
  TaskSpec spec = task_spec();
  spec.retry = {.max_attempts = 2};
  const TaskNo task = world_.submit(spec);
  std::uint64_t lease = 0;
  std::uint32_t number = 1;
  for (const Failure failure : {Failure::not_started, Failure::infrastructure, Failure::error,
                                Failure::infrastructure, Failure::not_started}) {
    EXPECT_EQ(world_.row(task).starts, number);
    world_.feed(LeaseEnded{LeaseId{lease++}, {{task, false, failure}}});
    if (failure == Failure::error) world_.wait(nanoseconds(1));  // a retry has its own instant
    const auto started = world_.all<BatchStarted>();
    ASSERT_EQ(started.size(), 1U) << number;
    EXPECT_EQ(started.front().tasks.front().attempt, ++number);
  }
  EXPECT_EQ(world_.row(task).attempts, 2);
  world_.feed(LeaseEnded{LeaseId{lease}, {{task, false, Failure::error}}});
  ASSERT_EQ(world_.all<TaskFinished>().size(), 1U);
  const Reason reason = world_.all<TaskFinished>().front().reason;
  EXPECT_EQ(reason.code, ReasonCode::attempts_spent);
  EXPECT_EQ(reason.need, 2);
}

// The agent says that it never began: the server was killed between the promise and the start.
TEST_F(Completion, ATaskThatNeverBeganIsPutBackWithoutAnAttemptOrALoss) {
  TaskSpec spec = task_spec();
  spec.retry.on = kRetryOnAny | kLossEndsIt;  // at most once
  const TaskNo task = world_.submit(spec);
  for (std::uint64_t lease = 0; lease < 20; ++lease) {
    world_.feed(
        LeaseEndedAfter{{LeaseId{lease}, {{task, false, Failure::not_started}}}, Duration{0}});
    const auto back = world_.all<TaskDeferred>();
    ASSERT_EQ(back.size(), 1U);
    EXPECT_EQ(back.front().reason.code, ReasonCode::not_started);
    const auto closed = world_.all<LeaseClosed>();
    ASSERT_EQ(closed.size(), 1U);
    EXPECT_EQ(closed.front().ran, Duration{0});
    const auto started = world_.all<BatchStarted>();  // the GPU is free: it starts again at once
    ASSERT_EQ(started.size(), 1U);
    EXPECT_EQ(started.front().tasks.front().attempt, lease + 2);
    EXPECT_EQ(world_.row(task).attempts, 1);
    EXPECT_EQ(world_.row(task).losses, 0);
  }
}

TEST_F(Completion, ATaskWhoseDeadlinePassesWhileItRunsHasExpired) {
  TaskSpec spec = task_spec();
  spec.retry = {.max_attempts = 9};  // nothing is tried again after the deadline
  const TaskNo task = world_.submit(spec);
  world_.wait(seconds(3));
  world_.feed(LeaseEnded{LeaseId{0}, {{task, false, Failure::deadline}}});
  const auto ended = world_.all<TaskFinished>();
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(ended.front().state, TaskState::expired);
  EXPECT_EQ(ended.front().reason.code, ReasonCode::deadline_passed);
}

TEST_F(Completion, WhatIsChargedIsHowLongTheLeaseRan) {
  const TaskNo task = world_.submit(task_spec(Mib{1000}, seconds(1)));
  world_.wait(seconds(15));  // nobody was there to hear that it had ended
  world_.feed(LeaseEndedAfter{{LeaseId{0}, {}}, seconds(1)});
  EXPECT_EQ(world_.all<TaskFinished>().front(), (TaskFinished{task, TaskState::completed, {}}));
  EXPECT_EQ(world_.all<LeaseClosed>().front().ran, seconds(1));
  EXPECT_EQ(world_.state().tenant(TenantId{0}).ledger.net_us(), 1'000'000);
}

// However long it is said to have run, it did not begin before it was promised.
TEST_F(Completion, NobodyIsChargedForMoreThanTheTimeSinceTheStart) {
  world_.submit(task_spec(Mib{1000}, seconds(1)));
  world_.wait(seconds(2));
  world_.feed(LeaseEndedAfter{{LeaseId{0}, {}}, seconds(900)});
  EXPECT_EQ(world_.all<LeaseClosed>().front().ran, seconds(2));
}

// ---- The way through the engine -----------------------------------------------------------------

TEST_F(Completion, AFailedTaskIsTriedAgainAtItsInstant) {
  TaskSpec spec = task_spec();
  spec.retry = {.max_attempts = 2, .backoff = seconds(2)};
  const TaskNo task = world_.submit(spec);
  world_.wait(seconds(1));
  world_.feed(LeaseEnded{LeaseId{0}, {{task, false, Failure::error}}});
  EXPECT_EQ(world_.row(task).state, TaskState::waiting);
  world_.wait(seconds(2) - nanoseconds(1));
  EXPECT_TRUE(world_.actions().empty());
  world_.wait(nanoseconds(1));
  EXPECT_EQ(world_.all<TaskReady>(), std::vector{TaskReady{task}});
  ASSERT_EQ(world_.all<BatchStarted>().size(), 1U);
  EXPECT_EQ(world_.all<BatchStarted>().front().tasks.front().attempt, 2U);
  world_.feed(LeaseEnded{LeaseId{1}, {{task, false, Failure::error}}});
  ASSERT_EQ(world_.all<TaskFinished>().size(), 1U);
  EXPECT_EQ(world_.all<TaskFinished>().front().reason.code, ReasonCode::attempts_spent);
}

TEST_F(Completion, AReleasedPoisonTaskMayFailAsOftenAgain) {
  world_.feed(SetPolicy{{.poison_after = 1}});
  TaskSpec spec = task_spec();
  spec.retry = {.max_attempts = 9};
  const TaskNo task = world_.submit(spec);
  world_.feed(LeaseEnded{LeaseId{0}, {{task, false, Failure::crash}}});
  EXPECT_EQ(world_.row(task).held, ReasonCode::poison_held);
  world_.feed(Release{task});
  EXPECT_EQ(world_.row(task).like_failures, 0);
  EXPECT_EQ(world_.row(task).state, TaskState::starting);
}

// ---- Dependants ---------------------------------------------------------------------------------

TEST_F(Completion, ACompletedTaskReleasesItsDependants) {
  const TaskNo first = world_.submit(task_spec());
  const TaskNo dependant = world_.submit(after(first.value));
  EXPECT_EQ(world_.row(dependant).state, TaskState::waiting);
  world_.wait(seconds(1));
  world_.feed(LeaseEnded{LeaseId{0}, {}});
  EXPECT_EQ(world_.row(dependant).state, TaskState::starting);
  EXPECT_EQ(world_.row(dependant).eligible, world_.now());
}

TEST_F(Completion, AFailedTaskDoomsThemUnlessTheyRunAnyway) {
  const TaskNo first = world_.submit(task_spec());
  const TaskNo doomed = world_.submit(after(first.value));
  const TaskNo anyway = world_.submit(after(first.value, OnDependencyFailure::release));
  world_.feed(LeaseEnded{LeaseId{0}, {{first, false, Failure::error}}});
  const auto finished = world_.all<TaskFinished>();
  ASSERT_EQ(finished.size(), 2U);
  EXPECT_EQ(finished[1],
            (TaskFinished{
                doomed, TaskState::failed, {ReasonCode::dependency_failed, 0, 0, first.value}}));
  EXPECT_EQ(world_.row(anyway).state, TaskState::starting);
}

TEST_F(Completion, ASignalReleasesWhatWaitsForItNowAndLater) {
  TaskSpec spec = task_spec(Mib{1000});
  spec.share = Milli{100};
  spec.depends_on = {{Dependency::Kind::signal, 3}, {Dependency::Kind::signal, 4}};
  const TaskNo early = world_.submit(spec);
  world_.feed(ResolveSignal{SignalId{3}});
  world_.feed(ResolveSignal{SignalId{3}});
  EXPECT_EQ(world_.row(early).state, TaskState::waiting);
  world_.feed(ResolveSignal{SignalId{4}});
  EXPECT_EQ(world_.row(early).state, TaskState::starting);
  const TaskNo late = world_.submit(spec);
  EXPECT_EQ(world_.row(late).state, TaskState::starting);
}

}  // namespace
}  // namespace berth::core::completion_test
