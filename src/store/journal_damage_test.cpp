// The journal cut, flipped, shortened and robbed: all of it found, or harmless, never read as data.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "journal/crc32c.h"
#include "store/durable_mark.h"
#include "store/journal.h"
#include "store/testing/journal_feed.h"
#include "store/testing/temp_folder.h"

namespace berth::store::journal_damage_test {
namespace {

using journal::testing::Random;
using testing::blank_from;
using testing::copy_folder;
using testing::FedGroup;
using testing::flip_byte;
using testing::JournalFeed;
using testing::payloads_of;
using testing::scanned;
using testing::set_byte;
using testing::TempFolder;
using Kind = JournalFinding::Kind;

constexpr std::uint64_t kSmall = 4096;

std::vector<FedGroup> all_but_last(std::vector<FedGroup> groups) {
  groups.pop_back();
  return groups;
}

TEST(JournalDamage, CutAtEveryByteOfTheLastGroupIsATornTailThatGoesOn) {
  const TempFolder folder;
  JournalFeed feed({folder / "journal", kSmall});
  feed.feed(30);
  feed.sync();
  ASSERT_TRUE(feed.append(feed.build(1)).ok());  // never synced
  const FedGroup last = feed.groups().back();
  const auto kept = all_but_last(feed.groups());
  for (std::uint64_t cut = 0; cut < last.bytes.size(); ++cut) {
    for (const bool zeros : {true, false}) {
      const auto copy = folder / "copy";
      copy_folder(folder / "journal", copy);
      const auto file = segment_path(copy, last.at.segment);
      if (zeros) {
        blank_from(file, last.at.offset + cut);
      } else {
        std::filesystem::resize_file(file, last.at.offset + cut);
      }
      JournalScan scan;
      EXPECT_EQ(scanned(copy, 0, scan), payloads_of(kept));
      ASSERT_TRUE(scan.usable()) << scan.finding->message;
      EXPECT_EQ(scan.end, kept.back().end_after);
      EXPECT_EQ(scan.finding.has_value(), scan.cut_bytes != 0);
      EXPECT_LE(scan.cut_bytes, cut);
      if (cut % 16 != 3) continue;

      JournalFeed again({copy, kSmall}, scan.end, 99);
      again.feed(40);
      again.sync();
      std::vector<FedGroup> both = kept;
      both.insert(both.end(), again.groups().begin(), again.groups().end());
      EXPECT_EQ(scanned(copy, 0, scan), payloads_of(both)) << "cut at " << cut;
      EXPECT_FALSE(scan.finding);
    }
  }
}

TEST(JournalDamage, ADurableGroupThatIsGoneIsDamageHoweverItLooks) {
  const TempFolder folder;
  JournalFeed feed({folder / "journal", kSmall});
  feed.feed(30);
  feed.sync();
  const FedGroup last = feed.groups().back();
  for (std::uint64_t cut = 0; cut < last.bytes.size(); cut += 7) {
    const auto copy = folder / "copy";
    copy_folder(folder / "journal", copy);
    std::filesystem::resize_file(segment_path(copy, last.at.segment), last.at.offset + cut);
    JournalScan scan;
    (void)scanned(copy, 0, scan);
    ASSERT_TRUE(scan.finding);
    EXPECT_EQ(scan.finding->kind, Kind::damage);
    EXPECT_NE(scan.finding->message.find("3 events are missing"), std::string::npos)
        << scan.finding->message;
    EXPECT_NE(scan.finding->repair.find("backup"), std::string::npos);
  }
}

TEST(JournalDamage, LostSegmentsAreFound) {
  const TempFolder folder;
  JournalFeed feed({folder / "journal", kSmall});
  feed.feed(100);
  feed.sync();
  const std::uint64_t last = feed.writer().segment();
  for (std::uint64_t lost = 2; lost <= last; ++lost) {
    const auto copy = folder / "copy";
    copy_folder(folder / "journal", copy);
    std::filesystem::remove(segment_path(copy, lost));
    JournalScan scan;
    (void)scanned(copy, 0, scan);
    EXPECT_FALSE(scan.usable()) << lost;
  }
  std::filesystem::remove_all(segment_path(folder / "journal", 1).parent_path() / "durable");
  for (std::uint64_t number = 1; number <= last; ++number) {
    std::filesystem::remove(segment_path(folder / "journal", number));
  }
  JournalScan scan;
  (void)scanned(folder / "journal", 5, scan);  // a snapshot that needs it
  EXPECT_FALSE(scan.usable());
}

// Flips single bytes over the whole journal. Each must be found, or change nothing that is read.
TEST(JournalDamage, SingleByteFlipsAreFoundOrHarmless) {
  const TempFolder folder;
  JournalFeed feed({folder / "journal", kSmall});
  feed.feed(60);
  feed.sync();
  const auto whole = payloads_of(feed.groups());
  const std::uint64_t segments = feed.writer().segment();
  Random random(7);
  int found = 0;
  int harmless = 0;
  for (int i = 0; i < 600; ++i) {
    const std::uint64_t number = 1 + random.below(segments);
    const auto file = segment_path(folder / "journal", number);
    const std::uint64_t offset = random.below(std::filesystem::file_size(file));
    const auto with = static_cast<std::byte>(1 + random.below(255));
    flip_byte(file, offset, with);
    JournalScan scan;
    const auto groups = scanned(folder / "journal", 0, scan);
    if (scan.usable()) {
      ++harmless;
      EXPECT_EQ(groups, whole) << "byte " << offset << " of segment " << number;
    } else {
      ++found;
      EXPECT_FALSE(scan.finding->message.empty());
      ASSERT_LE(groups.size(), whole.size());
      EXPECT_TRUE(std::equal(groups.begin(), groups.end(), whole.begin()));
    }
    flip_byte(file, offset, with);
  }
  EXPECT_GT(found, 300);
  EXPECT_GT(harmless, 5);  // in the zeros behind the last group of a segment
}

TEST(JournalDamage, ADamagedMarkIsNotBelieved) {
  const TempFolder folder;
  JournalFeed feed({folder.path(), kSmall});
  feed.feed(5);
  feed.sync();
  for (std::uint64_t at = 0; at < 28; ++at) {
    flip_byte(durable_mark_path(folder.path()), at);
    EXPECT_TRUE(read_durable_mark(folder.path()).damaged);
    JournalScan scan;
    EXPECT_EQ(scanned(folder.path(), 0, scan), payloads_of(feed.groups()));
    EXPECT_FALSE(scan.finding);
    flip_byte(durable_mark_path(folder.path()), at);
  }
}

// A user's payload may hold the bytes of a group. Torn, it is still a torn tail, not damage.
TEST(JournalDamage, AGroupInsideATornGroupsPayloadIsNotAGroup) {
  const TempFolder folder;
  JournalFeed feed({folder.path(), kSmall});
  feed.feed(3);
  feed.sync();
  journal::RunningHash hash;
  journal::GroupBuilder inner(hash);
  inner.add_note(std::vector<std::byte>(8));
  const auto forged = journal::testing::copy_of(inner.seal({.seq = 1'000}).view());
  journal::GroupBuilder outer(hash);
  outer.add_note(forged);
  outer.add_note(std::vector<std::byte>(64, std::byte{7}));
  const auto group =
      journal::testing::copy_of(outer.seal({.seq = feed.next_seq(), .epoch = 1}).view());
  const Result<GroupAt> at = feed.writer().append(group, hash.state());
  ASSERT_TRUE(at.ok());
  blank_from(segment_path(folder.path(), at->segment), at->offset + group.size() - 10);
  JournalScan scan;
  EXPECT_EQ(scanned(folder.path(), 0, scan), payloads_of(feed.groups()));
  ASSERT_TRUE(scan.finding);
  EXPECT_EQ(scan.finding->kind, Kind::torn_tail) << scan.finding->message;
}

TEST(JournalDamage, AZeroedHeaderBeforeAWholeGroupIsDamage) {
  const TempFolder folder;
  JournalFeed feed({folder.path(), 1 << 16});
  feed.feed(10);
  const FedGroup& victim = feed.groups()[4];
  for (std::uint64_t i = 0; i < journal::kGroupHeaderSize; ++i) {
    set_byte(segment_path(folder.path(), 1), victim.at.offset + i, std::byte{0});
  }
  JournalScan scan;
  EXPECT_EQ(scanned(folder.path(), 0, scan).size(), 4u);
  ASSERT_TRUE(scan.finding);
  EXPECT_EQ(scan.finding->kind, Kind::damage);
  EXPECT_EQ(scan.finding->at, victim.at);
}

TEST(JournalDamage, AGroupOfAnEarlierEpochIsRefused) {
  const TempFolder folder;
  JournalFeed feed({folder.path(), kSmall});
  feed.set_epoch(5);
  feed.feed(2);
  feed.set_epoch(4);
  feed.feed(1);
  JournalScan scan;
  EXPECT_EQ(scanned(folder.path(), 0, scan).size(), 2u);
  EXPECT_FALSE(scan.usable());
}

// Any bytes at all may stand in a segment. The scan ends with a sentence.
TEST(JournalDamage, HostileSegmentsNeverCrashTheScan) {
  const TempFolder folder;
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::byte> bytes(64 + random.below(2'000));
    for (std::byte& byte : bytes) {
      byte = random.below(3) == 0 ? std::byte{0} : static_cast<std::byte>(random.next());
    }
    for (std::size_t at = 0; at + 60 < bytes.size(); at += 1 + random.below(200)) {
      journal::store_le(bytes.data() + at, journal::kGroupMagic);
      journal::store_le(bytes.data() + at + 4, 1u);
      journal::store_le(bytes.data() + at + 8, static_cast<std::uint32_t>(random.below(3'000)));
      if (random.below(2) == 0) continue;
      journal::store_le(bytes.data() + at + 52,
                        journal::crc32c(journal::ByteView(bytes).subspan(at, 52)));
    }
    const SegmentHeader header{.number = 1, .first_seq = random.below(2) * ~0ull};
    Result<File> file = prepare_segment(folder.path(), header, 64);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(publish_segment(*file, folder.path(), 1).ok());
    ASSERT_TRUE(file->write_at(round % 2 == 0 ? 64 : 0, bytes).ok());
    JournalScan scan;
    EXPECT_TRUE(scanned(folder.path(), 0, scan).empty());
    EXPECT_TRUE(scan.finding);
  }
}

}  // namespace
}  // namespace berth::store::journal_damage_test
