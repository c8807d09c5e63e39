// The snapshot container: sections come back; any cut, any added byte, any flipped bit is found.
#include "journal/snapshot.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "journal/crc32c.h"
#include "journal/testing/random_values.h"

namespace berth::journal::snapshot_test {
namespace {

using testing::copy_of;
using testing::for_each_flip;
using testing::packed;
using testing::prefix_of;
using testing::Random;
using testing::random_bytes;
using testing::to_hex;

constexpr SnapshotInfo kInfo = {
    .version = 1, .behaviour = 2, .seq = 3, .epoch = 4, .hash = {.hash = 5, .count = 6}};

struct Sample {
  std::vector<std::byte> first;
  std::vector<std::byte> second;
  std::vector<std::byte> bytes;
};

Sample sample() {
  Random random(1);
  Sample s{random_bytes(random, 100), random_bytes(random, 33), {}};
  SnapshotWriter writer(kInfo);
  writer.section(10, s.first);
  writer.section(20, {});
  Writer& out = writer.begin_section(30);
  out.bytes(ByteView(s.second).first(20));
  out.bytes(ByteView(s.second).subspan(20));
  s.bytes = copy_of(writer.finish().view());
  return s;
}

void repair_checksums(std::vector<std::byte>& bytes) {
  const std::size_t table_at = load_le<std::uint64_t>(bytes.data() + 48);
  store_le(bytes.data() + 56, crc32c(ByteView(bytes).subspan(table_at)));
  store_le(bytes.data() + 60, crc32c(ByteView(bytes).first(60)));
}

TEST(Snapshot, SectionsComeBack) {
  const Sample s = sample();
  DecodeError error;
  const auto snapshot = SnapshotReader::open(s.bytes, &error);
  ASSERT_TRUE(snapshot) << error.expected;
  EXPECT_EQ(snapshot->info(), kInfo);
  EXPECT_EQ(to_hex(*snapshot->section(10)), to_hex(s.first));
  EXPECT_TRUE(snapshot->section(20)->empty());
  EXPECT_EQ(to_hex(*snapshot->section(30)), to_hex(s.second));
  EXPECT_FALSE(snapshot->section(40));
}

TEST(Snapshot, MayBeEmpty) {
  SnapshotWriter writer(kInfo);
  const Writer bytes = writer.finish();
  EXPECT_EQ(bytes.size(), kSnapshotHeaderSize);
  const auto snapshot = SnapshotReader::open(bytes.view());
  ASSERT_TRUE(snapshot);
  EXPECT_EQ(snapshot->info(), kInfo);
}

TEST(Snapshot, FixedBytes) {
  SnapshotWriter writer(kInfo);
  writer.section(7, testing::bytes_of({1, 2, 3}));
  EXPECT_EQ(to_hex(writer.finish().view()),
            packed("42534e50 01000000 02000000 "           // magic, version, behaviour
                   "01000000 "                             // sections
                   "0300000000000000 0400000000000000 "    // seq, epoch
                   "0500000000000000 0600000000000000 "    // hash, count
                   "4300000000000000 "                     // place of the table
                   "7e5bdc0f 42b1148f "                    // checksums of table and header
                   "010203 "                               // the section
                   "07000000 1ef230f1 "                    // its id and checksum
                   "4000000000000000 0300000000000000"));  // its place and size
}

TEST(Snapshot, EveryTruncationAndExtensionIsFound) {
  auto bytes = sample().bytes;
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(SnapshotReader::open(prefix_of(bytes, size))) << size;
  }
  for (int i = 0; i < 100; ++i) {
    bytes.push_back(std::byte{0});
    EXPECT_FALSE(SnapshotReader::open(bytes));
  }
}

TEST(Snapshot, EveryFlippedBitIsFound) {
  for_each_flip(sample().bytes, [](ByteView bytes, std::size_t bit) {
    DecodeError error;
    EXPECT_FALSE(SnapshotReader::open(bytes, &error)) << "bit " << bit;
    EXPECT_NE(std::string(error.expected), "");
  });
}

// Right checksums over a wrong header or table, as a faulty writer would make them.
TEST(Snapshot, NeverStepsOutsideWhateverTheTableSays) {
  const auto bytes = sample().bytes;
  const std::size_t table_at = load_le<std::uint64_t>(bytes.data() + 48);
  Random random(2);
  for (int round = 0; round < 20'000; ++round) {
    auto changed = bytes;
    const std::size_t entry = random.below(3);
    const std::size_t field = 8 + 8 * random.below(2);
    const std::uint64_t value = random.below(2) == 0 ? random.next() : random.below(400);
    store_le(changed.data() + table_at + entry * 24 + field, value);
    repair_checksums(changed);
    if (changed != bytes) {
      EXPECT_FALSE(SnapshotReader::open(changed));
    }
  }
  for (std::uint64_t place = 0; place < bytes.size() + 50; ++place) {
    auto changed = bytes;
    store_le(changed.data() + 48, place);
    if (place == table_at) continue;
    store_le(changed.data() + 60, crc32c(ByteView(changed).first(60)));
    EXPECT_FALSE(SnapshotReader::open(changed));
  }
}

TEST(Snapshot, RefusesASectionNamedTwice) {
  auto bytes = sample().bytes;
  const std::size_t table_at = load_le<std::uint64_t>(bytes.data() + 48);
  store_le(bytes.data() + table_at + 24, std::uint32_t{10});
  repair_checksums(bytes);
  DecodeError error;
  EXPECT_FALSE(SnapshotReader::open(bytes, &error));
  EXPECT_EQ(std::string(error.expected), "a section named once");
}

}  // namespace
}  // namespace berth::journal::snapshot_test
