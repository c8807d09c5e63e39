// fsck, backup, restore and the cut, on real folders, with and without a server that appends.
#include "store/backup.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "journal/snapshot.h"
#include "store/durable_mark.h"
#include "store/folder_lock.h"
#include "store/fsck.h"
#include "store/history.h"
#include "store/layout.h"
#include "store/snapshots.h"
#include "store/testing/ended_tasks.h"
#include "store/testing/journal_feed.h"
#include "store/testing/temp_folder.h"

namespace berth::store::backup_test {
namespace {

using testing::FedGroup;
using testing::flip_byte;
using testing::JournalFeed;
using testing::payloads_of;
using testing::scanned;
using testing::TempFolder;

constexpr std::uint64_t kSmall = 4096;

void snapshot_at(const std::filesystem::path& data, std::uint64_t seq) {
  journal::SnapshotWriter writer({.version = 1, .seq = seq});
  writer.section(1, std::vector<std::byte>(100, std::byte{5}));
  ASSERT_TRUE(write_snapshot(snapshot_folder(data), seq, writer.finish().view()).ok());
}

// A data folder as a server leaves it.
class DataFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(make_folder(data_).ok());
    feed_ = std::make_unique<JournalFeed>(JournalOptions{journal_folder(data_), kSmall});
    feed_->feed(60);
    feed_->sync();
    snapshot_at(data_, 90);
    snapshot_at(data_, 120);
    auto history = HistoryWriter::open(history_path(data_));
    ASSERT_TRUE(history.ok());
    ASSERT_TRUE((*history)->add(testing::ended_tasks(1, 40), 100).ok());
  }

  TempFolder folder_;
  std::filesystem::path data_ = folder_ / "data";
  std::filesystem::path to_ = folder_ / "backup";
  std::unique_ptr<JournalFeed> feed_;
};

TEST_F(DataFolder, AHealthyOneHasNoFindings) {
  const FsckReport report = fsck(data_);
  EXPECT_TRUE(report.healthy());
  EXPECT_TRUE(report.findings.empty()) << report.findings[0].what;
  EXPECT_EQ(report.journal.events, 180u);
  EXPECT_EQ(report.snapshots, 2u);
  EXPECT_EQ(report.snapshot_seq, 120u);
  EXPECT_TRUE(report.history);
  EXPECT_EQ(report.server_pid, 0);
}

TEST_F(DataFolder, FsckSaysHowBadItIs) {
  EXPECT_FALSE(fsck(folder_ / "nowhere").healthy());

  ASSERT_TRUE(feed_->append(feed_->build(1)).ok());
  const FedGroup last = feed_->groups().back();
  testing::blank_from(segment_path(journal_folder(data_), last.at.segment), last.at.offset + 60);
  flip_byte(durable_mark_path(journal_folder(data_)), 3);
  FsckReport report = fsck(data_);
  EXPECT_TRUE(report.healthy());
  ASSERT_EQ(report.findings.size(), 2u);
  EXPECT_EQ(report.findings[0].severity, Severity::harmless);
  EXPECT_EQ(report.findings[1].severity, Severity::torn_tail);

  flip_byte(list_snapshots(snapshot_folder(data_))->front().path, 70);
  report = fsck(data_);
  EXPECT_FALSE(report.healthy());
  EXPECT_EQ(report.snapshot_seq, 90u);
  EXPECT_NE(report.damage().find(".bsnap"), std::string::npos);
}

TEST_F(DataFolder, FsckFindsAStateThatCannotBeRebuilt) {
  snapshot_at(data_, 181);  // the journal ends before event 180
  EXPECT_FALSE(fsck(data_).healthy());
  std::filesystem::remove_all(snapshot_folder(data_));
  EXPECT_TRUE(fsck(data_).healthy());  // from the journal alone
  ASSERT_TRUE(remove_segments_before(journal_folder(data_), 2).ok());
  EXPECT_FALSE(fsck(data_).healthy());
  snapshot_at(data_, 1);  // too old for what is left
  EXPECT_FALSE(fsck(data_).healthy());
  snapshot_at(data_, 120);
  EXPECT_TRUE(fsck(data_).healthy());
}

// Checksums are right, but the actions are not those that the hash was taken of.
TEST_F(DataFolder, FsckFindsActionsThatDoNotMatchTheirHash) {
  journal::RunningHash other(journal::RunningHash::State{.hash = 99});
  journal::GroupBuilder builder(other);
  journal::testing::Random random(1);
  builder.add_action(journal::testing::random_action(random));
  const auto group = builder.seal({.seq = feed_->next_seq(), .epoch = 1});
  ASSERT_TRUE(feed_->writer().append(group.view(), other.state()).ok());
  const FsckReport report = fsck(data_);
  EXPECT_FALSE(report.healthy());
  EXPECT_NE(report.damage().find("hash"), std::string::npos) << report.damage();
}

TEST_F(DataFolder, ABackupComesBack) {
  const Result<BackupReport> made = backup(data_, to_);
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made->next_seq, 180u);
  EXPECT_FALSE(backup(data_, to_).ok()) << "into a folder that is not empty";

  const auto again = folder_ / "again";
  const Result<BackupReport> restored = restore(to_, again);
  ASSERT_TRUE(restored.ok()) << restored.error().message;
  EXPECT_FALSE(restore(to_, again).ok());
  JournalScan scan;
  EXPECT_EQ(scanned(journal_folder(again), 0, scan), payloads_of(feed_->groups()));
  EXPECT_FALSE(scan.finding);
  EXPECT_EQ(read_newest_snapshot(snapshot_folder(again))->file->seq, 120u);
  const auto history = HistoryWriter::open(history_path(again));
  ASSERT_TRUE(history.ok()) << history.error().message;
  EXPECT_EQ((*history)->projected(), 100u);
  EXPECT_EQ(**(*HistoryReader::open(history_path(again)))->find(40), testing::ended_task(40));

  JournalFeed goes_on({journal_folder(again), kSmall}, scan.end);
  goes_on.feed(5);
  goes_on.sync();
  EXPECT_TRUE(fsck(again).healthy());
}

TEST_F(DataFolder, ADamagedFolderIsNotBackedUpNorRestored) {
  ASSERT_TRUE(backup(data_, to_).ok());
  flip_byte(segment_path(journal_folder(data_), 1), 200);
  const auto other = folder_ / "other";
  const Result<BackupReport> refused = backup(data_, other);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("backup"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(journal_folder(other)));

  flip_byte(segment_path(journal_folder(to_), 1), 200);
  EXPECT_FALSE(restore(to_, folder_ / "again").ok());
  EXPECT_FALSE(backup(folder_ / "nowhere", other).ok());
}

TEST_F(DataFolder, ABackupWhileAServerAppendsHoldsADurablePrefix) {
  const auto lock = FolderLock::take(data_);
  ASSERT_TRUE(lock.ok());
  auto history = HistoryWriter::open(history_path(data_));
  ASSERT_TRUE(history.ok());
  std::atomic<bool> done = false;
  std::atomic<std::uint64_t> durable = feed_->next_seq();
  std::thread server([&] {
    for (std::uint64_t no = 41; !done; ++no) {
      feed_->feed(5);
      feed_->sync();
      durable = feed_->next_seq();
      ASSERT_TRUE((*history)->add(testing::ended_tasks(no, no), durable).ok());
    }
  });
  std::vector<std::uint64_t> ends;
  for (int i = 0; i < 5; ++i) {
    const auto to = folder_ / ("backup-" + std::to_string(i));
    const std::uint64_t before = durable;
    const Result<BackupReport> made = backup(data_, to);
    EXPECT_TRUE(made.ok()) << made.error().message;
    if (!made) break;
    EXPECT_GE(made->next_seq, before);
    ends.push_back(made->next_seq);
  }
  done = true;
  server.join();
  const auto whole = payloads_of(feed_->groups());
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const auto to = folder_ / ("backup-" + std::to_string(i));
    JournalScan scan;
    const auto groups = scanned(journal_folder(to), 0, scan);
    EXPECT_EQ(groups.size(), ends[i] / 3);
    EXPECT_TRUE(std::equal(groups.begin(), groups.end(), whole.begin()));
    EXPECT_LE((*HistoryWriter::open(history_path(to)))->projected(), ends[i]);
  }
  EXPECT_EQ(ends.size(), 5u);
}

TEST_F(DataFolder, ACutKeepsWhatIsWholeAndMovesTheRest) {
  EXPECT_FALSE(cut_journal(data_).ok()) << "nothing is damaged";
  const FedGroup& victim = feed_->groups()[33];
  ASSERT_LT(victim.at.segment, feed_->writer().segment());
  flip_byte(segment_path(journal_folder(data_), victim.at.segment), victim.at.offset + 70);
  {
    const auto lock = FolderLock::take(data_);
    EXPECT_FALSE(cut_journal(data_).ok()) << "a server runs";
  }
  const Result<CutReport> cut = cut_journal(data_);
  ASSERT_TRUE(cut.ok()) << cut.error().message;
  EXPECT_EQ(cut->next_seq, victim.seq);
  JournalScan scan;
  EXPECT_EQ(scanned(journal_folder(data_), 0, scan).size(), 33u);
  EXPECT_FALSE(scan.finding);
  const FsckReport report = fsck(data_);
  EXPECT_TRUE(report.healthy()) << report.damage();
  EXPECT_EQ(report.snapshot_seq, 90u);
  EXPECT_TRUE(std::filesystem::exists(cut->moved_to / "history.sqlite"));
  EXPECT_TRUE(std::filesystem::exists(cut->moved_to / "00000000000000000120.bsnap"));
  JournalFeed goes_on({journal_folder(data_), kSmall}, scan.end);
  goes_on.feed(50);
  goes_on.sync();
  EXPECT_TRUE(fsck(data_).healthy());
}

}  // namespace
}  // namespace berth::store::backup_test
