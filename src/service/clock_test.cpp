// Engine time over restarts, other boots and wall clocks that are set.
#include "service/clock.h"

#include <gtest/gtest.h>

#include "service/testing/running_service.h"
#include "store/layout.h"
#include "store/segment.h"
#include "store/testing/temp_folder.h"

namespace berth::service::clock_test {
namespace {

constexpr Duration kHour = minutes(60);
constexpr Duration days(std::int64_t n) { return minutes(n * 24 * 60); }
constexpr Duration kDay = days(1);
constexpr Duration kWeek = days(7);
constexpr Time kLast{1'000'000 * seconds(1).ns};
constexpr std::int64_t kBooted = 500 * seconds(1).ns;

// The last event came 10 s after the epoch had begun.
const ClockMapped kMapped{"boot 1", kBooted, kLast - seconds(10), {}};

ClockReading same_boot(Duration passed, Time wall) {
  return {"boot 1", kBooted + (seconds(10) + passed).ns, wall.ns};
}
ClockReading other_boot(Time wall) { return {"boot 2", 7, wall.ns}; }

TEST(Clock, WithinABootItsClockTellsWhatHasPassed) {
  for (const Duration set : {Duration{0}, kDay, days(60), days(-1), days(-20'000)}) {
    const Time wall = kLast + kHour + set;
    const Resumed resumed = resume_time(kMapped, kLast, same_boot(kHour, wall), kWeek);
    EXPECT_EQ(resumed.clock.at, kLast + kHour);
    EXPECT_EQ(resumed.clock.ahead, set);
    EXPECT_EQ(resumed.remark.empty(), set == Duration{0}) << resumed.remark;
    EXPECT_EQ(wall_time(resumed.clock.at, resumed.clock), wall);
    EXPECT_EQ(engine_time(wall + kHour, resumed.clock), kLast + kHour + kHour);
  }
}

TEST(Clock, ADowntimeThatNobodyWouldBelieveCountsAsNone) {
  const Time wall = kLast + days(60);
  const Resumed resumed = resume_time(kMapped, kLast, same_boot(days(60), wall), kWeek);
  EXPECT_EQ(resumed.clock.at, kLast);
  EXPECT_EQ(resumed.clock.ahead, days(60));
  EXPECT_NE(resumed.remark.find("by the boot-time clock 60 d have passed"), std::string::npos)
      << resumed.remark;
}

TEST(Clock, BetweenBootsTheWallClockIsBelievedWithinBounds) {
  const auto resumed_at = [](Duration after) {
    return resume_time(kMapped, kLast, other_boot(kLast + after), kWeek);
  };
  EXPECT_EQ(resumed_at(kDay).clock.at, kLast + kDay);
  EXPECT_EQ(resumed_at(kDay).clock.ahead, Duration{0});
  EXPECT_EQ(resumed_at(kDay).remark, "");
  EXPECT_EQ(resumed_at(kWeek).clock.at, kLast + kWeek);

  const Resumed far = resumed_at(days(60));
  EXPECT_EQ(far.clock.at, kLast);
  EXPECT_EQ(far.clock.ahead, days(60));
  EXPECT_NE(far.remark.find("60 d have passed since the last event, more than "
                            "server.max_downtime, 7 d"),
            std::string::npos)
      << far.remark;

  const Resumed back = resumed_at(days(-1));
  EXPECT_EQ(back.clock.at, kLast);
  EXPECT_EQ(back.clock.ahead, days(-1));
  EXPECT_NE(back.remark.find("24 h earlier"), std::string::npos) << back.remark;
}

TEST(Clock, AWallClockThatComesBackTakesItsMappingBack) {
  const Resumed wrong = resume_time(kMapped, kLast, other_boot(kLast + kDay), kHour);
  ASSERT_EQ(wrong.clock.at, kLast);
  const Resumed right = resume_time(wrong.clock, kLast, {"boot 3", 9, kLast.ns}, kHour);
  EXPECT_EQ(right.clock.at, kLast);
  EXPECT_EQ(right.clock.ahead, Duration{0});
}

TEST(Clock, ABootTimeClockThatWentBackIsAnotherBoots) {
  const ClockReading restored{"boot 1", kBooted - 1, (kLast + kHour).ns};
  EXPECT_EQ(resume_time(kMapped, kLast, restored, kWeek).clock.at, kLast + kHour);
  const ClockReading unknown{"", kBooted + 1, (kLast + kHour).ns};
  EXPECT_EQ(resume_time({}, kLast, unknown, kWeek).clock.at, kLast + kHour);
}

TEST(Clock, TheTimeBetweenTwoReadingsMapsNothingAnew) {
  EXPECT_FALSE(mapped_anew(kMapped, kLast, (kLast + milliseconds(900)).ns).has_value());
  EXPECT_FALSE(mapped_anew(kMapped, kLast, (kLast - milliseconds(900)).ns).has_value());
  const auto anew = mapped_anew(kMapped, kLast, (kLast + kHour).ns);
  ASSERT_TRUE(anew.has_value());
  EXPECT_EQ(anew->ahead, kHour);
  EXPECT_EQ(anew->at, kMapped.at);
  EXPECT_EQ(change_text(kMapped, *anew), "60 min later");
}

// ---- The whole service
// ---------------------------------------------------------------------------

using testing::new_task;
using testing::RunningService;
using Kind = SubmitOutcome::Kind;

class ServiceTime : public ::testing::Test {
 protected:
  ServiceOptions options() {
    ServiceOptions options;
    options.boot = boot_;
    options.clock = [this] { return Time{booted_ns_.load()}; };
    options.wall_clock = [this] { return wall_ns_.load(); };
    options.history_retention = days(30);
    options.log = [this](const std::string& text) {
      const std::lock_guard lock(mutex_);
      log_ += text + "\n";
    };
    return options;
  }
  void pass(Duration time) {
    booted_ns_ += time.ns;
    wall_ns_ += time.ns;
  }
  void set_wall(Duration by) { wall_ns_ += by.ns; }
  void boot() {
    boot_ += "'";
    booted_ns_ = 1;
  }
  std::string log() {
    const std::lock_guard lock(mutex_);
    return std::exchange(log_, "");
  }
  static ClockMapped clock_of(RunningService& running) {
    return running.service().view().read([](const Board& board) { return board.names().clock(); });
  }
  static Time now_of(RunningService& running) { return running.service().options().clock(); }

  store::testing::TempFolder folder_;
  std::string boot_ = "boot";
  std::atomic<std::int64_t> booted_ns_{500};
  std::atomic<std::int64_t> wall_ns_{1'800'000'000 * seconds(1).ns};
  std::mutex mutex_;
  std::string log_;
};

TEST_F(ServiceTime, AStartWithAWrongClockForgetsNothingAndPoisonsNothing) {
  TaskNo task;
  Time before;
  {
    RunningService running(folder_.path(), options());
    ASSERT_EQ(running.error, "");
    task = running.submit(new_task("a")).task;
    running.settle();
    before = now_of(running);
    EXPECT_EQ(before.ns, wall_ns_.load());
  }
  pass(minutes(1));
  for (const Duration wrong : {kDay, days(60)}) {
    for (const bool another_boot : {false, true}) {
      set_wall(wrong);
      if (another_boot) boot();
      {
        ServiceOptions strict = options();
        strict.max_downtime = kHour;
        RunningService running(folder_.path(), strict);
        ASSERT_EQ(running.error, "");
        EXPECT_EQ(running.submit(new_task("a")).kind, Kind::duplicate);
        running.submit(new_task());  // the group of the epoch is released
        EXPECT_LE(now_of(running), before + minutes(10));
        EXPECT_EQ(clock_of(running).ahead, wrong);
        EXPECT_NE(log().find("the wall clock was set while the server was down"),
                  std::string::npos);
        const auto row = running.service().history().find(task.value);
        EXPECT_TRUE(row.ok() && row->has_value());
      }
      set_wall(Duration{-wrong.ns});
      pass(minutes(1));
      RunningService right(folder_.path(), options());
      right.submit(new_task());
      EXPECT_EQ(clock_of(right).ahead, Duration{0});
      log();
    }
  }
  RunningService running(folder_.path(), options());
  EXPECT_EQ(running.submit(new_task("a")).kind, Kind::duplicate);
  EXPECT_EQ(clock_of(running).ahead, Duration{0});
}

// What falls due while no server is there starts when one is, and is paid for from then on; what
// waited too long meanwhile does not start at all.
TEST_F(ServiceTime, NothingStartsWhileNoServerIsThere) {
  TaskNo later;
  TaskNo late;
  {
    RunningService running(folder_.path(), options());
    ASSERT_EQ(running.error, "");
    NewTask task = new_task("later");
    task.spec.not_before = now_of(running) + seconds(10);
    later = running.submit(std::move(task)).task;
    task = new_task("late");
    task.spec.not_before = now_of(running) + seconds(10);
    task.card->deadline = now_of(running) + seconds(20);
    task.spec.tolerated_wait = seconds(20);
    late = running.submit(std::move(task)).task;
  }
  pass(minutes(10));
  RunningService running(folder_.path(), options());
  ASSERT_EQ(running.error, "");
  running.settle();
  const auto row_of = [&](TaskNo task) {
    for (int tries = 0; tries < 10'000; ++tries) {
      const auto row = running.service().history().find(task.value);
      if (row.ok() && row->has_value()) return **row;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ADD_FAILURE() << "not in the history: " << task.value;
    return store::EndedTask{};
  };
  EXPECT_EQ(row_of(later).state, "completed");
  EXPECT_LT(row_of(later).charge_us, seconds(60).ns / 1000);
  EXPECT_EQ(row_of(late).state, "expired");
  EXPECT_EQ(row_of(late).reason.code, "deadline_passed");
  EXPECT_TRUE(row_of(late).attempts.empty());
}

TEST_F(ServiceTime, AWallClockSetWhileItRunsIsMappedAnewAndKept) {
  {
    RunningService running(folder_.path(), options());
    ASSERT_EQ(running.error, "");
    const Time before = now_of(running);
    set_wall(days(-1));
    running.submit(new_task("a"));
    running.submit(new_task("b"));  // the group of the mapping is released
    EXPECT_EQ(clock_of(running).ahead, days(-1));
    EXPECT_EQ(now_of(running), before);
    EXPECT_NE(log().find("was set to 24 h earlier"), std::string::npos);
  }
  // From the snapshot, and from the journal alone.
  for (const bool with_snapshot : {true, false}) {
    if (!with_snapshot) std::filesystem::remove_all(folder_.path() / "snapshots");
    RunningService running(folder_.path(), options());
    ASSERT_EQ(running.error, "");
    running.submit(new_task());
    EXPECT_EQ(clock_of(running).ahead, days(-1));
    EXPECT_EQ(log(), "");
  }
}

TEST_F(ServiceTime, SegmentsOfTheJournalStayByEngineTime) {
  ServiceOptions often = options();
  often.snapshot_every_events = 50;
  often.segment_bytes = 16'384;
  often.journal_retention = kDay;
  RunningService running(folder_.path(), often);
  ASSERT_EQ(running.error, "");
  const auto make_snapshots = [&](std::uint64_t count) {
    const std::uint64_t upto = running.service().stats().snapshots + count;
    for (int i = 0; i < 100'000 && running.service().stats().snapshots < upto; ++i)
      running.submit(new_task());
  };
  const auto first = store::segment_path(store::journal_folder(folder_.path()), 1);
  set_wall(days(60));
  make_snapshots(4);
  EXPECT_TRUE(std::filesystem::exists(first));
  pass(days(2));
  make_snapshots(4);
  EXPECT_FALSE(std::filesystem::exists(first));
}

TEST_F(ServiceTime, MidnightIsTheWallClocks) {
  ServiceOptions with_days = options();
  std::atomic<int> asked{0};
  with_days.next_day = [&](Time wall) {
    ++asked;
    return Time{(wall.ns / kDay.ns + 1) * kDay.ns};
  };
  wall_ns_ = 1'800'000'000 * seconds(1).ns / kDay.ns * kDay.ns + kHour.ns;  // one in the morning
  RunningService running(folder_.path(), with_days);
  ASSERT_EQ(running.error, "");
  EXPECT_EQ(asked, 1);
  set_wall(minutes(22 * 60));  // an hour is left
  running.submit(new_task("a"));
  EXPECT_EQ(asked, 2);
  pass(minutes(59));
  running.submit(new_task("b"));
  EXPECT_EQ(asked, 2);
  pass(minutes(1));
  running.submit(new_task("c"));
  EXPECT_EQ(asked, 3);
}

}  // namespace
}  // namespace berth::service::clock_test
