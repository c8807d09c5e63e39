// The whole service with its threads, on real files: answers, restart, damage, large specs,
// streams.
#include "service/service.h"

#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "service/testing/running_service.h"
#include "store/layout.h"
#include "store/testing/temp_folder.h"

namespace berth::service::service_test {
namespace {

using testing::new_task;
using testing::RunningService;
using Kind = SubmitOutcome::Kind;

class WholeService : public ::testing::Test {
 protected:
  store::testing::TempFolder folder_;
};

TEST_F(WholeService, AnsweredTasksAreInTheHistoryAfterwards) {
  TaskNo task;
  {
    RunningService running(folder_.path());
    ASSERT_EQ(running.error, "");
    const SubmitOutcome outcome = running.submit(new_task("a"));
    ASSERT_EQ(outcome.kind, Kind::accepted);
    task = outcome.task;
    running.settle();
  }
  RunningService again(folder_.path());
  const auto row = again.service().history().find(task.value);
  ASSERT_TRUE(row.ok() && row->has_value());
  EXPECT_EQ((*row)->state, "completed");
  EXPECT_EQ((*row)->task_id, "a");
  EXPECT_EQ((*row)->attempts.size(), 1U);
  EXPECT_EQ(again.submit(new_task("a")).kind, Kind::duplicate);
}

TEST_F(WholeService, AHistoryThatFellBehindIsCaughtUp) {
  const std::filesystem::path history = store::history_path(folder_.path());
  const std::filesystem::path older = folder_.path() / "older.db";
  TaskNo first;
  TaskNo second;
  {
    RunningService running(folder_.path());
    first = running.submit(new_task("a")).task;
    running.settle();
  }
  std::filesystem::copy_file(history, older);
  {
    RunningService running(folder_.path());
    second = running.submit(new_task("b")).task;
    running.settle();
  }
  // As if the second run's rows had never been written, although its last snapshot was.
  for (const bool lost : {false, true}) {
    std::filesystem::remove(history);
    if (!lost) std::filesystem::copy_file(older, history);
    { RunningService again(folder_.path()); }
    const auto reader = store::HistoryReader::open(history);
    ASSERT_TRUE(reader.ok());
    for (const TaskNo task : {first, second}) {
      const auto row = (*reader)->find(task.value);
      ASSERT_TRUE(row.ok());
      EXPECT_TRUE(row->has_value()) << task.value << (lost ? ", history lost" : ", history older");
    }
  }
}

TEST_F(WholeService, WhatTheHistoryCannotTakeNowItTakesLater) {
  RunningService running(folder_.path());
  running.submit(new_task("a"));
  running.settle();
  auto other = store::Connection::open_to_write(store::history_path(folder_.path()));
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE(other
                  ->run("CREATE TRIGGER refuse BEFORE INSERT ON ended "
                        "BEGIN SELECT RAISE(ABORT, 'no room'); END")
                  .ok());
  const TaskNo task = running.submit(new_task("b")).task;
  running.settle();
  while (running.service().stats().history_failures == 0)
    std::this_thread::yield();
  EXPECT_TRUE(running.service().view().find_ended(task));
  ASSERT_TRUE(other->run("DROP TRIGGER refuse").ok());
  while (running.service().stats().history_lag > 0)
    std::this_thread::yield();
  const auto row = running.service().history().find(task.value);
  ASSERT_TRUE(row.ok());
  EXPECT_TRUE(row->has_value());
}

TEST_F(WholeService, WaitingTasksSurviveARestartAndThenRun) {
  std::vector<NewTask> tasks;
  for (int i = 0; i < 500; ++i)
    tasks.push_back(new_task("task " + std::to_string(i)));
  {
    RunningService running(folder_.path());
    running.control(SetQueuePaused{"llm", true});
    for (const SubmitOutcome& outcome : running.submit(std::move(tasks)))
      ASSERT_EQ(outcome.kind, Kind::accepted);
  }
  RunningService again(folder_.path());
  ASSERT_EQ(again.error, "");
  EXPECT_EQ(again.service().view().read([](const Board& b) { return b.tasks().size(); }), 500U);
  again.control(SetQueuePaused{"llm", false});
  again.settle();
  EXPECT_EQ(
      again.service().view().read([](const Board& b) { return b.queues().at(0).ends.completed; }),
      500U);
}

TEST_F(WholeService, TheJournalAloneIsEnough) {
  {
    RunningService running(folder_.path());
    running.control(SetQueuePaused{"llm", true});
    running.submit(new_task("a"));
  }
  std::filesystem::remove_all(store::snapshot_folder(folder_.path()));
  RunningService again(folder_.path());
  ASSERT_EQ(again.error, "");
  EXPECT_EQ(again.submit(new_task("a")).kind, Kind::duplicate);
}

TEST_F(WholeService, ALargeSpecStaysOnDiskUntilItIsNeeded) {
  const std::string large(100'000, 'x');
  NewTask task = new_task("large");
  task.card->spec = large;
  TaskNo number;
  {
    RunningService running(folder_.path());
    running.control(SetQueuePaused{"llm", true});
    number = running.submit(std::move(task)).task;
  }
  RunningService again(folder_.path());
  const CardPtr card = again.service().view().read(
      [&](const Board& board) { return board.tasks().find(number)->card; });
  EXPECT_TRUE(card->spec.empty());
  const Result<std::string> spec = again.service().spec_of(*card);
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(*spec, large);
}

TEST_F(WholeService, StreamsGoOnFromTheJournal) {
  ServiceOptions small;
  small.feed_capacity = 8;
  RunningService running(folder_.path(), small);
  const std::uint64_t begin = running.service().feed().last();
  for (int i = 0; i < 20; ++i)
    running.submit(new_task("task " + std::to_string(i)));
  running.settle();
  running.stop();
  EXPECT_TRUE(running.service().feed().read(begin, 1000).too_old);
  const auto read = running.service().read_journal(begin, 1000);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_FALSE(read->too_old);
  // Accepted, starting, running, completed, of each.
  EXPECT_EQ(read->changes.size(), 80U);
  const Feed::Answer ring =
      running.service().feed().read(running.service().feed().read(0, 0).oldest, 100);
  EXPECT_EQ(ring.changes.size(), 8U);
  for (const TaskChange& change : ring.changes) {
    const auto same = std::find_if(read->changes.begin(), read->changes.end(),
                                   [&](const auto& c) { return c.sequence == change.sequence; });
    ASSERT_NE(same, read->changes.end());
    EXPECT_EQ(same->card->task, change.card->task);
    EXPECT_EQ(same->state, change.state);
    EXPECT_EQ(same->at, change.at);
  }
}

// A reader is told, and does not take what comes before for all there is.
TEST_F(WholeService, AReaderOfADamagedJournalIsTold) {
  RunningService running(folder_.path());
  const std::uint64_t begin = running.service().feed().last();
  for (int i = 0; i < 30; ++i)
    running.submit(new_task("task " + std::to_string(i)));
  running.settle();
  running.stop();
  const std::filesystem::directory_iterator segments(store::journal_folder(folder_.path()));
  store::testing::flip_byte(segments->path(), 4'000);
  const Result<Feed::Answer> read = running.service().read_journal(begin, 10'000);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message.find("the journal cannot be read on"), std::string::npos)
      << read.error().message;
}

// The same steps, whether a stream hears them as they happen or reads them later.
TEST_F(WholeService, TheJournalTellsWhatTheFeedTold) {
  RunningService running(folder_.path());
  const std::uint64_t begin = running.service().feed().last();
  for (int i = 0; i < 30; ++i) {
    NewTask task = new_task("task " + std::to_string(i));
    if (i % 3 == 1) task.depends_on = {"task " + std::to_string(i - 1)};
    if (i % 5 == 2) task.depends_on.push_back("signal:go");
    if (i % 7 == 3) task.spec.not_before = testing::steady_now() + milliseconds(50);
    const TaskNo number = running.submit(std::move(task)).task;
    if (i % 4 == 0) running.control(HoldTask{number});
    if (i % 8 == 0) running.control(CancelTasks{{number}});
    if (i % 8 == 4) running.control(ReleaseTask{number});
  }
  running.control(ResolveSignal{"alice", "go"});
  running.settle();
  running.stop();
  const Feed::Answer told = running.service().feed().read(begin, 10'000);
  const Result<Feed::Answer> read = running.service().read_journal(begin, 10'000);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->last, told.last);
  ASSERT_EQ(read->changes.size(), told.changes.size());
  std::set<core::TaskState> states;
  for (std::size_t i = 0; i < told.changes.size(); ++i) {
    const TaskChange& a = told.changes[i];
    const TaskChange& b = read->changes[i];
    EXPECT_EQ(a.sequence, b.sequence) << i;
    EXPECT_GT(a.sequence, i == 0 ? begin : told.changes[i - 1].sequence);
    EXPECT_EQ(a.at, b.at) << i;
    EXPECT_EQ(a.card->task, b.card->task) << i;
    EXPECT_EQ(a.state, b.state) << i;
    EXPECT_EQ(a.reason.code, b.reason.code) << i;
    EXPECT_EQ(a.attempt, b.attempt) << i;
    EXPECT_EQ(a.gpus, b.gpus) << i;
    states.insert(a.state);
  }
  EXPECT_EQ(states.size(), 6U) << "waiting, pending, starting, running, completed, cancelled";
  // In pieces they are the same.
  std::size_t pieces = 0;
  for (std::uint64_t after = begin; after < told.last;) {
    const Result<Feed::Answer> piece = running.service().read_journal(after, 7);
    ASSERT_TRUE(piece.ok());
    ASSERT_GT(piece->last, after);
    after = piece->last;
    pieces += piece->changes.size();
  }
  EXPECT_EQ(pieces, told.changes.size());
}

TEST_F(WholeService, NumbersOfEventsOutliveARestart) {
  std::vector<std::uint64_t> before;
  std::uint64_t begin = 0;
  {
    RunningService running(folder_.path());
    begin = running.service().feed().last();
    running.control(SetQueuePaused{"llm", true});
    for (int i = 0; i < 16; ++i)
      running.submit(new_task("task " + std::to_string(i)));
    running.control(SetQueuePaused{"llm", false});
    running.settle();
    for (const TaskChange& change : running.service().feed().read(begin, 1000).changes)
      before.push_back(change.sequence);
  }
  ASSERT_EQ(before.size(), 64U);
  RunningService again(folder_.path());
  EXPECT_TRUE(again.service().feed().read(before[0], 1000).too_old);
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto rest = again.service().read_journal(before[i], 1000);
    ASSERT_TRUE(rest.ok());
    ASSERT_EQ(rest->changes.size(), before.size() - i - 1);
    for (std::size_t k = 0; k < rest->changes.size(); ++k)
      EXPECT_EQ(rest->changes[k].sequence, before[i + 1 + k]);
  }
}

TEST_F(WholeService, TheJournalTellsOfCancelsWhatTheFeedTold) {
  RunningService running(folder_.path());
  running.agent().finishes_at_once = false;
  running.agent().finishes_when_stopped = true;
  const std::uint64_t begin = running.service().feed().last();
  for (int i = 0; i < 5; ++i) {
    const TaskNo number = running.submit(new_task("task " + std::to_string(i))).task;
    running.control(CancelTasks{{number}});
  }
  running.settle();
  running.stop();
  const Feed::Answer told = running.service().feed().read(begin, 10'000);
  const Result<Feed::Answer> read = running.service().read_journal(begin, 10'000);
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->changes.size(), told.changes.size());
  int cancelling = 0;
  int cancelled = 0;
  for (std::size_t i = 0; i < told.changes.size(); ++i) {
    const TaskChange& a = told.changes[i];
    const TaskChange& b = read->changes[i];
    EXPECT_EQ(a.sequence, b.sequence) << i;
    EXPECT_EQ(a.card->task, b.card->task) << i;
    EXPECT_EQ(a.state, b.state) << i;
    EXPECT_EQ(a.reason.code, b.reason.code) << i;
    EXPECT_EQ(a.attempt, b.attempt) << i;
    EXPECT_EQ(a.gpus, b.gpus) << i;
    cancelling += a.reason.code == core::ReasonCode::cancelling ? 1 : 0;
    cancelled += a.state == core::TaskState::cancelled ? 1 : 0;
  }
  EXPECT_EQ(cancelling, 5);
  EXPECT_EQ(cancelled, 5);
}

TEST_F(WholeService, SnapshotsAreMadeFromDiskWhileItRuns) {
  ServiceOptions often;
  often.snapshot_every_events = 50;
  often.segment_bytes = 16'384;
  often.journal_retention = Duration{0};
  {
    RunningService running(folder_.path(), often);
    int submitted = 0;
    while (running.service().stats().snapshots < 3) {
      running.submit(new_task("task " + std::to_string(++submitted)));
      ASSERT_LT(submitted, 100'000);
    }
  }
  RunningService again(folder_.path());
  ASSERT_EQ(again.error, "");
  EXPECT_EQ(again.submit(new_task("task 1")).kind, Kind::duplicate);
}

TEST_F(WholeService, ASecondServerOnTheFolderIsRefused) {
  RunningService running(folder_.path());
  RunningService second(folder_.path());
  EXPECT_NE(second.error, "");
}

TEST_F(WholeService, AFullRingRefusesAndTakesAgainLater) {
  ServiceOptions tiny;
  tiny.submit_ring = 4;
  RunningService running(folder_.path(), tiny);
  std::atomic<int> answered{0};
  int refused = 0;
  int taken = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<NewTask> one;
    one.push_back(new_task());
    const bool ok = running.service().offer(
        SubmitCommand{std::move(one), false, [&](std::span<const SubmitOutcome>) { ++answered; }});
    ++(ok ? taken : refused);
  }
  EXPECT_GT(refused, 0);
  running.stop();
  EXPECT_EQ(answered, taken);
}

}  // namespace
}  // namespace berth::service::service_test
