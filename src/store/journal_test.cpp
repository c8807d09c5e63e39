// The journal on disk, unharmed: what is appended comes back, across segments and restarts.
#include "store/journal.h"

#include <cstdint>
#include <filesystem>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "store/durable_mark.h"
#include "store/testing/journal_feed.h"
#include "store/testing/temp_folder.h"

namespace berth::store::journal_test {
namespace {

using testing::FedGroup;
using testing::JournalFeed;
using testing::payloads_of;
using testing::scanned;
using testing::TempFolder;

constexpr std::uint64_t kSmall = 4096;

TEST(Journal, AnEmptyFolderHasNoEnd) {
  const TempFolder folder;
  JournalScan scan;
  EXPECT_TRUE(scanned(folder / "journal", 0, scan).empty());
  EXPECT_FALSE(scan.finding);
  EXPECT_EQ(scan.end, JournalEnd{});
  EXPECT_TRUE(scan.has_its_beginning());
}

TEST(Journal, GroupsComeBackInOrderAcrossSegments) {
  const TempFolder folder;
  JournalFeed feed({folder.path(), kSmall}, {.next_seq = 1});
  feed.feed(200);
  feed.sync();
  ASSERT_GT(feed.writer().segment(), 3u);

  JournalScan scan;
  EXPECT_EQ(scanned(folder.path(), 1, scan), payloads_of(feed.groups()));
  EXPECT_FALSE(scan.finding) << scan.finding->message;
  EXPECT_EQ(scan.end, feed.writer().end());
  EXPECT_EQ(scan.end.next_seq, 601u);
  EXPECT_EQ(scan.end.hash.count, 600u);
  EXPECT_EQ(scan.groups, 200u);
  EXPECT_EQ(scan.events, 600u);
  EXPECT_EQ(scan.segments.size(), feed.writer().segment());
}

TEST(Journal, ASegmentsHeaderSaysWhatStandsBeforeIt) {
  const TempFolder folder;
  JournalFeed feed({folder.path(), kSmall});
  feed.feed(100);
  JournalScan scan;
  (void)scanned(folder.path(), 0, scan);
  for (const SegmentInfo& info : scan.segments) {
    if (info.header.number == 1) continue;
    JournalEnd before;
    for (const FedGroup& group : feed.groups()) {
      if (group.at.segment < info.header.number) before = group.end_after;
    }
    EXPECT_EQ(info.header.first_seq, before.next_seq);
    EXPECT_EQ(info.header.hash, before.hash);
    EXPECT_EQ(info.bytes, kSmall);
  }
}

TEST(Journal, AScanBeginsWithTheGroupThatHoldsTheSeq) {
  const TempFolder folder;
  JournalFeed feed({folder.path(), kSmall});
  feed.feed(100);
  const auto all = payloads_of(feed.groups());
  for (const std::uint64_t from : {0u, 1u, 2u, 3u, 150u, 151u, 299u}) {
    JournalScan scan;
    const auto rest = scanned(folder.path(), from, scan);
    const std::size_t skipped = from / 3;
    EXPECT_EQ(rest, decltype(rest)(all.begin() + static_cast<std::ptrdiff_t>(skipped), all.end()))
        << from;
    EXPECT_FALSE(scan.finding);
    EXPECT_EQ(scan.end, feed.writer().end());
  }
  JournalScan scan;
  EXPECT_TRUE(scanned(folder.path(), 300, scan).empty());
  EXPECT_FALSE(scan.finding);
}

TEST(Journal, GroupsWithoutEventsAreVisitedAtTheirSeq) {
  const TempFolder folder;
  JournalFeed feed({folder.path(), kSmall});
  for (std::uint32_t i = 0; i < 200; ++i) {
    feed.feed(1, i % 3 == 0 ? 1 : 0);
  }
  ASSERT_GT(feed.writer().segment(), 2u);
  for (std::uint64_t from = 1; from < feed.next_seq(); ++from) {
    std::vector<FedGroup> expected;
    for (const FedGroup& group : feed.groups()) {
      if (group.seq >= from) expected.push_back(group);
    }
    JournalScan scan;
    EXPECT_EQ(scanned(folder.path(), from, scan), payloads_of(expected)) << from;
    EXPECT_FALSE(scan.finding);
  }
}

TEST(Journal, AVisitorThatHasEnoughStopsTheScan) {
  const TempFolder folder;
  JournalFeed feed({folder.path(), kSmall});
  feed.feed(50);
  int visits = 0;
  Result<JournalScan> scan =
      scan_journal(folder.path(), 0, [&](GroupAt at, const SegmentInfo& segment, const auto&) {
        EXPECT_EQ(at.segment, segment.header.number);
        return ++visits < 30;
      });
  ASSERT_TRUE(scan.ok());
  EXPECT_EQ(visits, 30);
  EXPECT_EQ(scan->end, feed.groups()[29].end_after);
  EXPECT_FALSE(scan->finding);
}

TEST(Journal, AGroupLargerThanASegmentGetsASegmentOfItsOwn) {
  const TempFolder folder;
  JournalFeed feed({folder.path(), kSmall});
  ASSERT_TRUE(feed.append(feed.build(1, 3 * kSmall)).ok());  // in the first, still empty one
  ASSERT_TRUE(feed.append(feed.build(1, 10)).ok());
  ASSERT_TRUE(feed.append(feed.build(1, 5 << 20)).ok());  // wider than the reader's window
  ASSERT_TRUE(feed.append(feed.build(1, 10)).ok());
  feed.sync();
  EXPECT_EQ(feed.writer().segment(), 4u);
  JournalScan scan;
  EXPECT_EQ(scanned(folder.path(), 0, scan), payloads_of(feed.groups()));
  EXPECT_FALSE(scan.finding);
  EXPECT_EQ(scan.end, feed.writer().end());
}

TEST(Journal, GoesOnWhereItEnded) {
  const TempFolder folder;
  std::vector<FedGroup> all;
  JournalEnd end;
  for (std::uint64_t round = 1; round <= 20; ++round) {
    JournalFeed feed({folder.path(), kSmall}, end, round);
    feed.set_epoch(round);
    feed.feed(7);
    feed.sync();
    all.insert(all.end(), feed.groups().begin(), feed.groups().end());
    JournalScan scan;
    EXPECT_EQ(scanned(folder.path(), 0, scan), payloads_of(all));
    EXPECT_FALSE(scan.finding);
    EXPECT_EQ(scan.end, feed.writer().end());
    EXPECT_EQ(scan.end.epoch, round);
    end = scan.end;
  }
}

TEST(Journal, ANewJournalIsNotBegunOverAnOldOne) {
  const TempFolder folder;
  JournalFeed feed({folder.path(), kSmall});
  feed.feed(50);
  EXPECT_FALSE(JournalWriter::open({folder.path(), kSmall}, {}).ok());
  EXPECT_FALSE(JournalWriter::open({folder.path(), kSmall}, feed.groups()[0].end_after).ok());
}

TEST(Journal, NotesAreReadAgainByTheirPlaceFromManyThreads) {
  const TempFolder folder;
  JournalFeed feed({folder.path(), kSmall});
  feed.feed(600);
  ASSERT_GT(feed.writer().segment(), 20u);  // more than the reader keeps open
  SegmentReader reader(folder.path());
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < feed.groups().size(); i += 2) {
        const FedGroup& group = feed.groups()[i];
        const auto bytes = reader.read(group.note);
        ASSERT_TRUE(bytes.ok()) << bytes.error().message;
        EXPECT_EQ(*bytes, group.note_bytes);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(*read_bytes(folder.path(), feed.groups()[5].note), feed.groups()[5].note_bytes);
  EXPECT_FALSE(reader.read({1, kSmall - 2, 3}).ok());
  EXPECT_FALSE(reader.read({1, ~0ull, 3}).ok());
  EXPECT_FALSE(reader.read({99'999, 0, 3}).ok());
}

TEST(Journal, OldSegmentsGoAndTheRestIsReadFromWhereItBegins) {
  const TempFolder folder;
  JournalFeed feed({folder.path(), kSmall});
  feed.feed(100);
  feed.sync();
  ASSERT_TRUE(remove_segments_before(folder.path(), 3).ok());
  ASSERT_TRUE(remove_segments_before(folder.path(), 3).ok());
  JournalScan scan;
  std::vector<FedGroup> rest;
  for (const FedGroup& group : feed.groups()) {
    if (group.at.segment >= 3) rest.push_back(group);
  }
  EXPECT_EQ(scanned(folder.path(), 0, scan), payloads_of(rest));
  EXPECT_FALSE(scan.finding);
  EXPECT_FALSE(scan.has_its_beginning());
  EXPECT_EQ(scanned(folder.path(), rest.front().seq, scan), payloads_of(rest));
  EXPECT_FALSE(scan.finding);

  (void)scanned(folder.path(), rest.front().seq - 1, scan);
  ASSERT_TRUE(scan.finding);
  EXPECT_EQ(scan.finding->kind, JournalFinding::Kind::gap);
  EXPECT_FALSE(remove_segments_before(folder.path(), feed.writer().segment() + 1).ok());
}

TEST(Journal, TheDurableMarkFollowsTheSync) {
  const TempFolder folder;
  JournalFeed feed({folder.path(), kSmall});
  const DurableMark none{0, {1, kSegmentHeaderSize}};
  EXPECT_EQ(read_durable_mark(folder.path()).mark, none);
  feed.feed(2);
  EXPECT_EQ(read_durable_mark(folder.path()).mark, none);
  feed.sync();
  const DurableMark mark{feed.writer().end().next_seq, feed.writer().end().at};
  EXPECT_EQ(read_durable_mark(folder.path()).mark, mark);
  feed.feed(1);
  EXPECT_EQ(read_durable_mark(folder.path()).mark, mark);
}

TEST(Journal, AWriterThatGoesOnNotesWhatIsDurableThen) {
  const TempFolder folder;
  JournalEnd end;
  {
    JournalFeed feed({folder.path(), kSmall});
    feed.feed(2);  // never synced, but all there: the process died, not the machine
    end = feed.writer().end();
  }
  const JournalFeed again({folder.path(), kSmall}, end);
  EXPECT_EQ(read_durable_mark(folder.path()).mark, (DurableMark{end.next_seq, end.at}));
}

TEST(Journal, ASnapshotAheadOfTheJournalIsAGap) {
  const TempFolder folder;
  JournalFeed feed({folder.path(), kSmall});
  feed.feed(10);
  JournalScan scan;
  (void)scanned(folder.path(), 31, scan);
  ASSERT_TRUE(scan.finding);
  EXPECT_EQ(scan.finding->kind, JournalFinding::Kind::gap);
  EXPECT_FALSE(scan.usable());
}

}  // namespace
}  // namespace berth::store::journal_test
