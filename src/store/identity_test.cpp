// One identity ties the parts of a folder; what does not belong together is found, whichever part
// was exchanged or is gone.
#include "store/identity.h"

#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "store/backup.h"
#include "store/durable_mark.h"
#include "store/file.h"
#include "store/fsck.h"
#include "store/history.h"
#include "store/layout.h"
#include "store/segment.h"
#include "store/testing/journal_feed.h"
#include "store/testing/temp_folder.h"

namespace berth::store::identity_test {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSmall = 4096;

// A folder as a server leaves it: several segments, a history that has caught up, an agent's
// folder.
Identity make_data(const fs::path& data, std::uint64_t seed) {
  EXPECT_TRUE(make_folder(data).ok());
  const Result<Identity> identity = settle_identity(data);
  EXPECT_TRUE(identity.ok()) << identity.error().message;
  auto history = HistoryWriter::open(history_path(data), *identity);
  EXPECT_TRUE(history.ok());
  testing::JournalFeed feed({journal_folder(data), kSmall, *identity, data}, {}, seed);
  while (feed.writer().segment() < 3)
    feed.feed(1);
  feed.feed(1);
  feed.sync();
  const JournalEnd& end = feed.writer().end();
  EXPECT_TRUE((*history)->add({}, end.next_seq + end.hash.count).ok());
  return *identity;
}

class Identities : public ::testing::Test {
 protected:
  Identities() : own_(make_data(data_, 1)) {}

  // What is wrong with the folder; "": nothing. The same for a server's start and for fsck.
  std::string wrong() const {
    const FsckReport report = fsck(data_);
    const Result<Identity> settled = settle_identity(data_);
    if (!settled) {
      EXPECT_FALSE(report.healthy()) << settled.error().message;
      return settled.error().message;
    }
    return report.damage();
  }
  void expect_wrong(const std::string& part) const {
    const std::string said = wrong();
    EXPECT_NE(said.find(part), std::string::npos) << said;
  }

  testing::TempFolder folder_;
  fs::path data_ = folder_.path() / "data";
  Identity own_;
};

TEST_F(Identities, AFolderKeepsItsOwn) {
  EXPECT_NE(own_, 0u);
  EXPECT_EQ(wrong(), "");
  EXPECT_EQ(*settle_identity(data_), own_);
  EXPECT_EQ(read_identity_mark(data_)->segment, 3u);
  EXPECT_NE(own_, make_data(folder_.path() / "other", 2));
}

TEST_F(Identities, AMarkThatIsLostOrDamagedIsWrittenAnew) {
  for (const auto& spoil : std::initializer_list<std::function<void()>>{
           [&] { fs::remove(identity_path(data_)); },
           [&] { testing::flip_byte(identity_path(data_), 3); },
           [&] { fs::resize_file(identity_path(data_), 5); }}) {
    spoil();
    EXPECT_EQ(*settle_identity(data_), own_);
    EXPECT_EQ(read_identity_mark(data_)->identity, own_);
    EXPECT_EQ(wrong(), "");
  }
}

TEST_F(Identities, APartOfAnotherFolderIsNamed) {
  const fs::path other = folder_.path() / "other";
  make_data(other, 2);
  const fs::path kept = folder_.path() / "kept";
  testing::copy_folder(data_, kept);
  const std::pair<fs::path, std::string> parts[] = {{"history.sqlite", "the history carries"},
                                                    {"agent", "the agent's folder carries"},
                                                    {"journal", "the folder itself carries"}};
  for (const auto& [part, said] : parts) {
    testing::copy_folder(kept, data_);
    fs::remove_all(data_ / part);
    fs::copy(other / part, data_ / part, fs::copy_options::recursive);
    expect_wrong(said);
  }
}

TEST_F(Identities, ASegmentOfAnotherJournalIsDamage) {
  const fs::path other = folder_.path() / "other";
  make_data(other, 1);  // the same content
  fs::copy_file(segment_path(journal_folder(other), 2), segment_path(journal_folder(data_), 2),
                fs::copy_options::overwrite_existing);
  expect_wrong("is of another journal");
}

TEST_F(Identities, AFolderWithoutItsJournalIsRefused) {
  fs::remove_all(journal_folder(data_));
  expect_wrong("the journal is gone");
  fs::remove(identity_path(data_));
  expect_wrong("the journal is gone");
  fs::remove(history_path(data_));
  EXPECT_EQ(wrong(), "") << "nothing of the old work is left to be confused with new";
}

TEST_F(Identities, ALastSegmentThatIsGoneWithTheDurableMarkIsDamage) {
  fs::remove(segment_path(journal_folder(data_), 3));
  fs::remove(durable_mark_path(journal_folder(data_)));
  expect_wrong("segment 3 was begun");
  fs::remove(identity_path(data_));
  expect_wrong("the history is complete up to message");
  ASSERT_TRUE(cut_journal(data_).ok());
  EXPECT_EQ(wrong(), "");
  EXPECT_EQ(*settle_identity(data_), own_);
}

TEST_F(Identities, WhatCannotBeKnownIsSaid) {
  fs::remove(segment_path(journal_folder(data_), 3));
  fs::remove(durable_mark_path(journal_folder(data_)));
  fs::remove(identity_path(data_));
  fs::remove(history_path(data_));
  const FsckReport report = fsck(data_);
  EXPECT_TRUE(report.healthy());
  ASSERT_FALSE(report.findings.empty());
  EXPECT_NE(report.findings.front().what.find("can be told only as far as"), std::string::npos);
}

// A folder of a version that knew no identity; its first start may be cut short after any part.
TEST_F(Identities, AnOldFolderGetsOneAtWhateverPointItsFirstStartIsCutShort) {
  for (int steps = 0; steps <= 3; ++steps) {
    const fs::path old = folder_.path() / ("old" + std::to_string(steps));
    JournalEnd end;
    {
      testing::JournalFeed feed({journal_folder(old), kSmall});
      feed.feed(5);
      feed.sync();
      end = feed.writer().end();
      ASSERT_TRUE(HistoryWriter::open(history_path(old)).ok());
      ASSERT_TRUE(make_folder(agent_folder(old)).ok());
    }
    EXPECT_EQ(read_identity(old).identity, 0u);
    EXPECT_TRUE(fsck(old).healthy());
    Identity first = 0;
    for (int start = 0; start < 2; ++start) {
      const int upto = start == 0 ? steps : 3;
      const Result<Identity> settled = settle_identity(old);
      ASSERT_TRUE(settled.ok()) << settled.error().message;
      EXPECT_TRUE(first == 0 || *settled == first);
      first = *settled;
      if (upto >= 2) {
        ASSERT_TRUE(HistoryWriter::open(history_path(old), first).ok());
      }
      if (upto < 3) continue;
      const auto scan = scan_journal(journal_folder(old), 0, nullptr);
      auto writer = JournalWriter::open({journal_folder(old), kSmall, first, old}, scan->end);
      ASSERT_TRUE(writer.ok());
    }
    EXPECT_TRUE(fsck(old).healthy()) << fsck(old).damage();
    const auto scan = scan_journal(journal_folder(old), 0, nullptr);
    EXPECT_EQ(scan->identity(), first);
    EXPECT_EQ(scan->end.next_seq, end.next_seq);
    EXPECT_EQ(scan->end.hash, end.hash);
  }
}

TEST_F(Identities, ABackupKeepsItAndARestoredFolderToo) {
  const fs::path copy = folder_.path() / "backup";
  const fs::path again = folder_.path() / "again";
  ASSERT_TRUE(backup(data_, copy).ok());
  ASSERT_TRUE(restore(copy, again).ok());
  EXPECT_EQ(read_identity(again).identity, own_);
  EXPECT_EQ(*settle_identity(again), own_);
  EXPECT_TRUE(fsck(again).healthy()) << fsck(again).damage();
}

}  // namespace
}  // namespace berth::store::identity_test
