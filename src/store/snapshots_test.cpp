// Snapshots: written whole or not at all, every flip found, the older one taken instead.
#include "store/snapshots.h"

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <vector>

#include <gtest/gtest.h>

#include "journal/snapshot.h"
#include "journal/testing/random_values.h"
#include "store/crash_points.h"
#include "store/faults.h"
#include "store/file.h"
#include "store/testing/temp_folder.h"

namespace berth::store::snapshots_test {
namespace {

using journal::testing::Random;
using testing::flip_byte;
using testing::TempFolder;

std::vector<std::byte> snapshot_of(std::uint64_t seq, std::size_t size = 500) {
  Random random(seq);
  journal::SnapshotWriter writer({.version = 1, .seq = seq});
  writer.section(1, journal::testing::random_bytes(random, size));
  writer.section(2, journal::testing::random_bytes(random, 30));
  return journal::testing::copy_of(writer.finish().view());
}

TEST(Snapshots, ComeBackTheNewestFirst) {
  const TempFolder folder;
  EXPECT_TRUE(list_snapshots(folder / "none")->empty());
  for (const std::uint64_t seq : {7u, 900u, 80u}) {
    ASSERT_TRUE(write_snapshot(folder / "snapshots", seq, snapshot_of(seq)).ok());
  }
  const auto files = *list_snapshots(folder / "snapshots");
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files[0].seq, 900u);
  EXPECT_EQ(files[2].seq, 7u);
  EXPECT_EQ(files[0].messages, 900u);
  EXPECT_EQ(files[0].path.filename(), "00000000000000000900.bsnap");
  EXPECT_EQ(*read_snapshot(files[1].path), snapshot_of(80));
  EXPECT_EQ(read_newest_snapshot(folder / "snapshots")->bytes, snapshot_of(900));
}

TEST(Snapshots, ADamagedOneIsNamedAndTheOlderOneTaken) {
  const TempFolder folder;
  ASSERT_TRUE(write_snapshot(folder.path(), 1, snapshot_of(1)).ok());
  ASSERT_TRUE(write_snapshot(folder.path(), 2, snapshot_of(2)).ok());
  const auto newest = list_snapshots(folder.path())->front();
  for (std::uint64_t at = 0; at < newest.bytes; ++at) {
    flip_byte(newest.path, at, static_cast<std::byte>(1 + at % 255));
    const Result<NewestSnapshot> read = read_newest_snapshot(folder.path());
    ASSERT_TRUE(read.ok());
    ASSERT_TRUE(read->file) << at;
    EXPECT_EQ(read->file->seq, 1u) << at;
    ASSERT_EQ(read->damaged.size(), 1u);
    EXPECT_NE(read->damaged[0].find(newest.path.string()), std::string::npos);
    flip_byte(newest.path, at, static_cast<std::byte>(1 + at % 255));
  }
  std::filesystem::resize_file(newest.path, newest.bytes - 1);
  EXPECT_EQ(read_newest_snapshot(folder.path())->file->seq, 1u);
}

TEST(Snapshots, OneUnderAnothersNameIsRefused) {
  const TempFolder folder;
  ASSERT_TRUE(write_snapshot(folder.path(), 5, snapshot_of(6)).ok());
  EXPECT_FALSE(read_newest_snapshot(folder.path())->file);
}

TEST(Snapshots, OldOnesAndLeftoversGo) {
  const TempFolder folder;
  for (std::uint64_t seq = 1; seq <= 5; ++seq) {
    ASSERT_TRUE(write_snapshot(folder.path(), seq, snapshot_of(seq)).ok());
  }
  ASSERT_TRUE(File::create(folder / "00000000000000000009.bsnap.new").ok());
  ASSERT_TRUE(remove_old_snapshots(folder.path()).ok());
  const auto files = *list_snapshots(folder.path());
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[1].seq, 4u);
  EXPECT_FALSE(std::filesystem::exists(folder / "00000000000000000009.bsnap.new"));
  const std::uint64_t older = list_snapshots(folder.path())->back().seq;
  ASSERT_TRUE(remove_old_snapshots(folder.path(), 1, older).ok());
  EXPECT_EQ(list_snapshots(folder.path())->back().seq, older);
  ASSERT_TRUE(remove_old_snapshots(folder.path(), 0).ok());
  EXPECT_EQ(list_snapshots(folder.path())->size(), 1u);
}

TEST(Snapshots, AFullDiskLeavesTheOlderOneAndNoHalfFile) {
  const TempFolder folder;
  ASSERT_TRUE(write_snapshot(folder.path(), 1, snapshot_of(1)).ok());
  set_faults({.write = {.error = ENOSPC, .nth = 1}});
  EXPECT_FALSE(write_snapshot(folder.path(), 2, snapshot_of(2)).ok());
  set_faults({.sync = {.error = EIO, .nth = 1}});
  EXPECT_FALSE(write_snapshot(folder.path(), 2, snapshot_of(2)).ok());
  set_faults({});
  EXPECT_EQ(read_newest_snapshot(folder.path())->file->seq, 1u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Snapshots, DyingBeforeTheNameLeavesTheOlderOne) {
  const TempFolder folder;
  ASSERT_TRUE(write_snapshot(folder.path(), 1, snapshot_of(1)).ok());
  for (const auto& [point, newest] :
       {std::pair(CrashPoint::snapshot_written, 1u), std::pair(CrashPoint::snapshot_renamed, 2u)}) {
    EXPECT_EXIT(
        {
          arm_crash_point(point, 1);
          (void)write_snapshot(folder.path(), 2, snapshot_of(2));
        },
        ::testing::KilledBySignal(SIGKILL), "");
    EXPECT_EQ(read_newest_snapshot(folder.path())->file->seq, newest);
  }
}

}  // namespace
}  // namespace berth::store::snapshots_test
