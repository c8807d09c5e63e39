// Writes and syncs that fail, and crash points: an error is said, durability is never claimed.
#include <cerrno>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/crash_points.h"
#include "store/durable_mark.h"
#include "store/faults.h"
#include "store/journal.h"
#include "store/testing/journal_feed.h"
#include "store/testing/temp_folder.h"

namespace berth::store::journal_faults_test {
namespace {

using testing::JournalFeed;
using testing::payloads_of;
using testing::scanned;
using testing::TempFolder;

constexpr std::uint64_t kSmall = 4096;

class JournalFaults : public ::testing::Test {
 protected:
  void TearDown() override {
    set_faults({});
    disarm_crash_points();
  }
  TempFolder folder_;
};

TEST_F(JournalFaults, AFailedAppendMayBeTriedAgain) {
  JournalFeed feed({folder_.path(), kSmall});
  feed.feed(3);
  feed.sync();
  const testing::FedGroup longer = feed.build(2, 500);
  set_faults({.write = {.error = ENOSPC, .nth = 1, .times = 2}});
  const Result<GroupAt> full = feed.append(longer);
  ASSERT_FALSE(full.ok());
  EXPECT_NE(full.error().message.find("No space left"), std::string::npos);
  EXPECT_NE(full.error().message.find("free some room"), std::string::npos);

  JournalScan scan;  // half of it stands there
  EXPECT_EQ(scanned(folder_.path(), 0, scan), payloads_of(feed.groups()));
  EXPECT_TRUE(scan.usable());
  EXPECT_GT(scan.cut_bytes, 0u);

  EXPECT_FALSE(feed.append(longer).ok());
  ASSERT_TRUE(feed.append(longer).ok());
  feed.sync();
  EXPECT_EQ(scanned(folder_.path(), 0, scan), payloads_of(feed.groups()));
  EXPECT_FALSE(scan.finding);
}

TEST_F(JournalFaults, WhatAFailedAppendLeftIsZeroedBeforeAShorterGroup) {
  JournalFeed feed({folder_.path(), kSmall});
  const JournalEnd start = feed.writer().end();
  const testing::FedGroup longer = feed.build(1, 1'000);
  set_faults({.write = {.error = EIO, .nth = 1}});
  EXPECT_FALSE(feed.append(longer).ok());
  set_faults({});
  journal::RunningHash hash(start.hash);
  journal::GroupBuilder builder(hash);
  builder.add_note(std::vector<std::byte>(4, std::byte{9}));
  ASSERT_TRUE(feed.writer().append(builder.seal({.seq = 0, .epoch = 1}).view(), hash.state()).ok());
  JournalScan scan;
  EXPECT_EQ(scanned(folder_.path(), 0, scan).size(), 1u);
  EXPECT_FALSE(scan.finding) << scan.finding->message;
}

TEST_F(JournalFaults, AfterAFailedSyncNothingIsAcceptedAndNothingWasClaimed) {
  JournalFeed feed({folder_.path(), kSmall});
  feed.feed(2);
  feed.sync();
  const auto mark = read_durable_mark(folder_.path()).mark;
  feed.feed(1);
  set_faults({.sync = {.error = EIO, .nth = 1}});
  EXPECT_FALSE(feed.writer().sync().ok());
  EXPECT_FALSE(feed.writer().sync().ok());
  const Result<GroupAt> later = feed.append(feed.build(1));
  ASSERT_FALSE(later.ok());
  EXPECT_NE(later.error().message.find("restart the server"), std::string::npos);
  EXPECT_EQ(read_durable_mark(folder_.path()).mark, mark);
}

// Wherever a segment's roll fails, the groups before it stay. What is appended next, also a small
// group that fits the old segment, is read again, whether the writer goes on or is opened anew.
TEST_F(JournalFaults, ARollThatFailsAnywhereLosesNothing) {
  int refused = 0;
  for (const bool write : {true, false}) {
    for (std::uint64_t nth = 1; nth <= 3; ++nth) {
      const TempFolder folder;
      JournalFeed feed({folder.path(), kSmall});
      do {
        feed.feed(1);
      } while (feed.writer().end().at.offset + 2'000 < kSmall);
      feed.sync();
      const CallFault fault{.error = ENOSPC, .nth = nth};
      set_faults({.write = write ? fault : CallFault{}, .sync = write ? CallFault{} : fault});
      (void)feed.append(feed.build(0, 2'500));
      set_faults({});
      std::vector<testing::FedGroup> all = feed.groups();
      JournalScan scan;
      EXPECT_EQ(feed.writer().has_failed(), !write && nth <= 2);
      if (feed.writer().sync().ok()) {
        feed.feed(1, 0);
        feed.sync();
        all = feed.groups();
      } else {
        ++refused;
        EXPECT_EQ(scanned(folder.path(), 0, scan), payloads_of(all));
        ASSERT_TRUE(scan.usable());
        JournalFeed again({folder.path(), kSmall}, scan.end);
        again.feed(1);
        all.push_back(again.groups().back());
      }
      EXPECT_EQ(scanned(folder.path(), 0, scan), payloads_of(all));
      EXPECT_FALSE(scan.finding) << scan.finding->message;
    }
  }
  EXPECT_EQ(refused, 2);  // the syncs of the new segment and of the folder
}

TEST_F(JournalFaults, ASpareSegmentIsUsedWhenThereIsNoRoomForAnother) {
  JournalFeed feed({folder_.path(), kSmall});
  ASSERT_TRUE(feed.writer().has_spare());
  feed.feed(1, 3'000);
  set_faults({.write = {.error = ENOSPC, .nth = 1}});  // the header of the next one
  ASSERT_TRUE(feed.append(feed.build(1, 3'000)).ok());
  EXPECT_EQ(feed.writer().segment(), 2u);
  EXPECT_FALSE(feed.writer().has_spare());
  EXPECT_FALSE(std::filesystem::exists(spare_path(folder_.path())));
  const testing::FedGroup third = feed.build(1, 3'000);
  set_faults({.write = {.error = ENOSPC, .nth = 1}});
  EXPECT_FALSE(feed.append(third).ok()) << "there is only one";
  set_faults({});
  ASSERT_TRUE(feed.append(third).ok());
  feed.sync();
  JournalScan scan;
  EXPECT_EQ(scanned(folder_.path(), 0, scan), payloads_of(feed.groups()));
  EXPECT_FALSE(scan.finding) << scan.finding->message;
  ASSERT_TRUE(feed.writer().make_spare().ok());
  EXPECT_EQ(std::filesystem::file_size(spare_path(folder_.path())), kSmall + spare_slack(kSmall));
}

TEST_F(JournalFaults, OpeningOnAFullDiskIsAnErrorThatLeavesRoom) {
  set_faults({.write = {.error = ENOSPC, .nth = 1}});
  EXPECT_FALSE(JournalWriter::open({folder_.path(), kSmall}, {}).ok());
  set_faults({});
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
  EXPECT_TRUE(JournalWriter::open({folder_.path(), kSmall}, {}).ok());
}

std::optional<CrashPoint> crashed_at;
void note_crash(CrashPoint point) { crashed_at = point; }

TEST_F(JournalFaults, AppendAndSyncPassTheirCrashPoints) {
  using enum CrashPoint;
  for (const CrashPoint point : {before_append, inside_append, after_append, after_sync,
                                 durable_noted, segment_written, segment_created}) {
    const TempFolder folder;
    crashed_at.reset();
    arm_crash_point(point, 1, note_crash);
    JournalFeed feed({folder.path(), kSmall});
    feed.feed(1);
    feed.sync();
    EXPECT_EQ(crashed_at, point) << name_of(point);
  }
}

TEST_F(JournalFaults, ACrashPointCountsUntilItsTurn) {
  JournalFeed feed({folder_.path(), kSmall});
  crashed_at.reset();
  arm_crash_point(CrashPoint::after_append, 3, note_crash);
  feed.feed(2);
  EXPECT_FALSE(crashed_at);
  feed.feed(1);
  EXPECT_EQ(crashed_at, CrashPoint::after_append);
}

// The process dies inside an append, as by kill -9; what the kernel has is a torn tail.
TEST_F(JournalFaults, DyingInsideAnAppendLeavesATornTail) {
  EXPECT_EXIT(
      {
        JournalFeed feed({folder_.path(), kSmall});
        feed.feed(2);
        feed.sync();
        arm_crash_point(CrashPoint::inside_append, 1);
        feed.feed(1);
      },
      ::testing::KilledBySignal(SIGKILL), "");
  JournalScan scan;
  EXPECT_EQ(scanned(folder_.path(), 0, scan).size(), 2u);
  ASSERT_TRUE(scan.finding);
  EXPECT_EQ(scan.finding->kind, JournalFinding::Kind::torn_tail);
}

TEST_F(JournalFaults, FaultsAreReadFromText) {
  ASSERT_TRUE(arm_faults("write=ENOSPC@2,sync=EIO@1+,crash=store.after_append@5").ok());
  EXPECT_EQ(detail::next_write_fault(), 0);
  EXPECT_EQ(detail::next_write_fault(), ENOSPC);
  EXPECT_EQ(detail::next_write_fault(), 0);
  EXPECT_EQ(detail::next_sync_fault(), EIO);
  EXPECT_EQ(detail::next_sync_fault(), EIO);
  EXPECT_TRUE(crash_points_armed());
  for (const char* wrong : {"write", "write=ENOSPC", "write=EWHAT@1", "write=EIO@0", "sync=EIO@x",
                            "crash=nowhere", "sync_delay=soon", "other=1"}) {
    EXPECT_FALSE(arm_faults(wrong).ok()) << wrong;
  }
}

TEST_F(JournalFaults, EveryCrashPointIsFoundByItsName) {
  for (std::size_t i = 0; i < kCrashPoints; ++i) {
    EXPECT_EQ(crash_point_named(kCrashPointNames[i]), static_cast<CrashPoint>(i));
  }
  EXPECT_FALSE(crash_point_named("store"));
}

}  // namespace
}  // namespace berth::store::journal_faults_test
