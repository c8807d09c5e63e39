// A data disk that is short of room, and one that takes nothing: who is refused, who is not.
#include "service/disk_room.h"

#include <cerrno>

#include <gtest/gtest.h>

#include "service/testing/desk.h"
#include "service/testing/running_service.h"
#include "store/faults.h"
#include "store/testing/temp_folder.h"

namespace berth::service::disk_room_test {
namespace {

using testing::Desk;
using testing::new_task;
using testing::RunningService;
using Kind = SubmitOutcome::Kind;
using namespace std::chrono_literals;

TEST(DiskRoom, IsShortBelowItsReserveAndWithoutASpare) {
  const store::testing::TempFolder folder;
  const DiskRoom::Clock::time_point begin{};
  DiskRoom some(folder.path(), 1);
  EXPECT_TRUE(some.look(1, begin));
  EXPECT_FALSE(some.shortage().has_value());
  EXPECT_FALSE(some.look(1, begin + 100ms)) << "not so often";
  EXPECT_TRUE(some.look(2, begin + 100ms));
  some.note_spare(false);
  EXPECT_TRUE(some.shortage().has_value());

  DiskRoom all(folder.path(), std::uint64_t{1} << 62);
  all.look(1, begin);
  ASSERT_TRUE(all.shortage().has_value());
  EXPECT_EQ(all.shortage()->free_bytes, all.free_bytes());
  EXPECT_GT(all.free_bytes(), 0U);
}

TEST(DiskRoom, TellsThoseWhoWaitForAStalledJournalAfterAWhile) {
  const DiskRoom::Clock::time_point begin{};
  DiskRoom room("/", 0);
  EXPECT_FALSE(room.is_out_of_patience(begin));
  room.stall(begin);
  room.stall(begin + 900ms);
  EXPECT_TRUE(room.shortage().has_value());
  EXPECT_FALSE(room.is_out_of_patience(begin + 900ms));
  EXPECT_TRUE(room.is_out_of_patience(begin + 1s));
  room.go_on();
  EXPECT_FALSE(room.is_out_of_patience(begin + 2s));
}

TEST(DiskRoom, OnlyNewTasksAreRefusedForIt) {
  Desk desk;
  desk.furnish();
  desk.submit(new_task("a"));
  desk.sequencer.set_room(ShortRoom{5U << 20, 256U << 20});
  const std::uint64_t events = desk.sequencer.next_seq();
  const SubmitOutcome refused = desk.submit(new_task("b"));
  EXPECT_EQ(refused.kind, Kind::no_room);
  EXPECT_EQ(refused.reason.need, 256);
  EXPECT_EQ(refused.reason.have, 5);
  EXPECT_EQ(desk.submit(new_task("a")).kind, Kind::duplicate);
  NewTask stranger = new_task("c");
  stranger.tenant = "carol";
  EXPECT_EQ(desk.submit(std::move(stranger)).kind, Kind::no_room);
  std::vector<NewTask> flow;
  flow.push_back(new_task("x"));
  flow.push_back(new_task("y"));
  EXPECT_EQ(desk.submit(std::move(flow), true).at(1).kind, Kind::no_room);
  EXPECT_EQ(desk.sequencer.next_seq(), events) << "nothing was written";
  EXPECT_EQ(desk.control(SetQueuePaused{"llm", true}).kind, ControlOutcome::Kind::done);
  desk.sequencer.set_room(std::nullopt);
  EXPECT_EQ(desk.submit(new_task("b")).kind, Kind::accepted);
}

class StalledJournal : public ::testing::Test {
 protected:
  void TearDown() override { store::set_faults({}); }
  store::testing::TempFolder folder_;
};

TEST_F(StalledJournal, SaysWhatIsNotKnownAndRefusesTheRest) {
  RunningService running(folder_.path());
  ASSERT_EQ(running.error, "");
  running.submit(new_task("before"));
  running.settle();
  store::set_faults({.write = {.error = ENOSPC, .nth = 1, .times = UINT64_MAX}});
  EXPECT_EQ(running.submit(new_task("a")).kind, Kind::in_doubt);
  EXPECT_TRUE(running.service().stats().stalled);
  EXPECT_TRUE(running.service().stats().short_of_room);
  EXPECT_EQ(running.submit(new_task("b")).kind, Kind::no_room);
  EXPECT_EQ(running.submit(new_task("before")).kind, Kind::no_room);
  EXPECT_EQ(running.control(SetQueuePaused{"llm", true}).kind, ControlOutcome::Kind::in_doubt);
  store::set_faults({});
  // What was in doubt was taken; the id tells. What was refused was not.
  while (running.service().stats().stalled)
    std::this_thread::yield();
  EXPECT_EQ(running.submit(new_task("a")).kind, Kind::duplicate);
  EXPECT_EQ(running.submit(new_task("b")).kind, Kind::accepted);
  EXPECT_TRUE(running.service().view().read([](const Board& board) {
    return board.names().queues()[board.names().queue("llm").value].paused;
  }));
}

// The first that the stalled journal meets is a cancel: it waits no longer than a submit does, and
// so does a question.
TEST_F(StalledJournal, KeepsNoCommandWaiting) {
  RunningService running(folder_.path());
  ASSERT_EQ(running.error, "");
  running.control(SetQueuePaused{"llm", true});
  const TaskNo task = running.submit(new_task("before")).task;
  store::set_faults({.write = {.error = ENOSPC, .nth = 1, .times = UINT64_MAX}});
  const ControlOutcome cancelled = running.control(CancelTasks{{task}});
  EXPECT_EQ(cancelled.kind, ControlOutcome::Kind::in_doubt);
  EXPECT_TRUE(running.service().stats().stalled);
  EXPECT_EQ(running.control(ExplainTask{task}).kind, ControlOutcome::Kind::in_doubt);
  EXPECT_EQ(running.control(DefineTenant{.name = "carol"}).kind, ControlOutcome::Kind::in_doubt);
  store::set_faults({});
  running.settle();
  EXPECT_EQ(running.control(CancelTasks{{task}}).count, 0U) << "it was done when there was room";
}

// What the open group has no room for is not taken, and said to be so; nothing is left without an
// answer.
TEST_F(StalledJournal, RefusesCommandsThatItCannotKeep) {
  RunningService running(folder_.path());
  ASSERT_EQ(running.error, "");
  running.submit(new_task("before"));
  store::set_faults({.write = {.error = ENOSPC, .nth = 1, .times = UINT64_MAX}});
  const auto resolve = [&](int i) {
    const std::string signal = std::to_string(i) + std::string(1U << 20, 'x');
    return running.control(ResolveSignal{"alice", signal});
  };
  EXPECT_EQ(resolve(0).kind, ControlOutcome::Kind::in_doubt);
  int kept = 1;
  while (kept < 100 && resolve(kept).kind == ControlOutcome::Kind::in_doubt)
    ++kept;
  EXPECT_GT(kept, 8);
  EXPECT_LT(kept, 32);
  EXPECT_EQ(resolve(kept).kind, ControlOutcome::Kind::no_room);
  store::set_faults({});
}

TEST_F(StalledJournal, IsNotReachedWhileAReserveIsKept) {
  ServiceOptions options;
  options.reserve_bytes = std::uint64_t{1} << 62;
  RunningService running(folder_.path(), options);
  ASSERT_EQ(running.error, "");
  EXPECT_EQ(running.submit(new_task("a")).kind, Kind::no_room);
  EXPECT_FALSE(running.service().stats().stalled);
  EXPECT_EQ(running.control(SetQueuePaused{"llm", true}).kind, ControlOutcome::Kind::done);
}

}  // namespace
}  // namespace berth::service::disk_room_test
