// What the service does for its disk: segments go although old tasks live, snapshots come by bytes,
// a damaged history is made anew, and a folder whose parts do not fit is refused.
#include <fstream>

#include <gtest/gtest.h>

#include "service/rebuild_history.h"
#include "service/testing/running_service.h"
#include "store/fsck.h"
#include "store/identity.h"
#include "store/layout.h"
#include "store/segment.h"
#include "store/snapshots.h"
#include "store/testing/temp_folder.h"

namespace berth::service::disk_care_test {
namespace {

namespace fs = std::filesystem;
using testing::new_task;
using testing::RunningService;

class DiskCare : public ::testing::Test {
 protected:
  static ServiceOptions options() {
    ServiceOptions options;
    options.segment_bytes = 1U << 16U;
    options.snapshot_every_events = 300;
    options.keep_snapshots = 1;
    options.journal_retention = Duration{0};
    return options;
  }
  std::uint64_t first_segment() const {
    return store::segment_numbers(store::journal_folder(data_))->front();
  }
  static std::string spec_of(RunningService& running, TaskNo task) {
    const CardPtr card = running.service().view().read(
        [&](const Board& board) { return board.tasks().find(task)->card; });
    const Result<std::string> spec = running.service().spec_of(*card);
    return spec ? *spec : spec.error().message;
  }
  // Work until the disk's first segment is another one, or too much was done.
  void work_until_first_segment_is_gone(RunningService& running) {
    const std::uint64_t first = first_segment();
    for (int i = 0; i < 300 && first_segment() == first; ++i) {
      std::vector<NewTask> tasks;
      for (int k = 0; k < 50; ++k)
        tasks.push_back(new_task("w" + std::to_string(counter_++)));
      running.submit(std::move(tasks));
      while (running.service().view().read([](const Board& b) { return b.queues().at(0).pending; }))
        std::this_thread::yield();
    }
    EXPECT_GT(first_segment(), first);
  }

  store::testing::TempFolder folder_;
  fs::path data_ = folder_.path() / "data";
  int counter_ = 0;
};

TEST_F(DiskCare, ALargeSpecOfAnOldTaskDoesNotKeepTheJournal) {
  const std::string large(30'000, 'x');
  TaskNo number;
  {
    RunningService running(data_, options());
    ASSERT_EQ(running.error, "");
    running.control(DefineQueue{"late", "", {}});
    running.control(SetQueuePaused{"late", true});
    NewTask task = new_task("old", "late");
    task.card->spec = large;
    number = running.submit(std::move(task)).task;
    for (int i = 0; i < 3; ++i) {
      work_until_first_segment_is_gone(running);
      EXPECT_EQ(spec_of(running, number), large);
    }
  }
  RunningService again(data_, options());
  ASSERT_EQ(again.error, "");
  EXPECT_EQ(spec_of(again, number), large);
  again.control(SetQueuePaused{"late", false});
  again.settle();
  auto row = again.service().history().find(number.value);
  while (row.ok() && !row->has_value())
    row = again.service().history().find(number.value);
  ASSERT_TRUE(row.ok()) << row.error().message;
  EXPECT_EQ((*row)->state, "completed");
  EXPECT_EQ((*row)->spec.size(), large.size());
  EXPECT_TRUE(store::fsck(data_).healthy());
}

TEST_F(DiskCare, ASnapshotIsMadeAfterSoManyBytes) {
  ServiceOptions by_bytes = options();
  by_bytes.snapshot_every_events = 1'000'000;
  by_bytes.snapshot_every_bytes = 100'000;
  RunningService running(data_, by_bytes);
  for (int i = 0; i < 2'000 && running.service().stats().snapshots < 3; ++i)
    running.submit(new_task("b" + std::to_string(i)));
  EXPECT_GE(running.service().stats().snapshots, 3u);
}

// Restarts count too: each reads again what the one before did, so the sum is what matters.
TEST_F(DiskCare, WhatWasReadAtTheStartCountsForTheNextSnapshot) {
  ServiceOptions by_bytes = options();
  by_bytes.snapshot_every_events = 1'000'000;
  by_bytes.snapshot_every_bytes = 40'000;
  {
    RunningService running(data_, options());
    for (int i = 0; i < 100; ++i)
      running.submit(new_task("c" + std::to_string(i)));
    running.settle();
  }
  fs::remove_all(store::snapshot_folder(data_));
  RunningService again(data_, by_bytes);
  ASSERT_EQ(again.error, "");
  again.submit(new_task("one more"));
  for (int i = 0; i < 500 && again.service().stats().snapshots == 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(again.service().stats().snapshots, 1u);
}

class History : public DiskCare {
 protected:
  static constexpr int kTasks = 200;
  void SetUp() override {
    ServiceOptions whole = options();
    whole.journal_retention = minutes(60);
    RunningService running(data_, whole);
    for (int i = 0; i < kTasks; ++i)
      running.submit(new_task("h" + std::to_string(i)));
    running.settle();
  }
  std::vector<store::EndedTask> rows() const {
    const auto reader = store::HistoryReader::open(store::history_path(data_));
    if (!reader) return {};
    store::HistoryFilter filter;
    filter.limit = 100'000;
    filter.bodies = true;
    const auto page = (*reader)->list(filter);
    return page ? page->tasks : std::vector<store::EndedTask>();
  }
  // Each byte of these pages becomes another one.
  void spoil(std::uint64_t from_page, std::uint64_t pages) const {
    constexpr std::uint64_t kPage = 4096;
    std::fstream file(store::history_path(data_), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(from_page * kPage));
    file << std::string(pages * kPage, '\x5a');
  }
};

TEST_F(History, ThatIsDamagedIsMadeAnewFromTheJournal) {
  const std::vector<store::EndedTask> intact = rows();
  ASSERT_EQ(intact.size(), static_cast<std::size_t>(kTasks));
  const std::uint64_t pages = fs::file_size(store::history_path(data_)) / 4096;
  spoil(pages / 2, 4);
  ASSERT_FALSE(store::fsck(data_).healthy());
  EXPECT_NE(rows(), intact);
  const auto done = rebuild_history(data_, minutes(7 * 24 * 60));
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(done->from_journal, static_cast<std::uint64_t>(kTasks));
  EXPECT_TRUE(fs::exists(done->kept));
  EXPECT_TRUE(store::fsck(data_).healthy()) << store::fsck(data_).damage();
  EXPECT_EQ(rows(), intact);
  RunningService again(data_, options());
  EXPECT_EQ(again.error, "");
  EXPECT_EQ(again.submit(new_task("h1")).kind, SubmitOutcome::Kind::duplicate);
}

TEST_F(History, KeepsItsGoodRowsWhereTheJournalIsGone) {
  const std::vector<store::EndedTask> intact = rows();
  // The journal from the last snapshot on has none of them.
  {
    RunningService shorter(data_, options());
    work_until_first_segment_is_gone(shorter);
    shorter.settle();
  }
  const std::size_t before = rows().size();
  const std::uint64_t pages = fs::file_size(store::history_path(data_)) / 4096;
  spoil(pages / 3, 2);
  const auto done = rebuild_history(data_, minutes(7 * 24 * 60));
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_GT(done->unread, 0u);
  EXPECT_GT(done->from_old, 0u);
  const std::vector<store::EndedTask> after = rows();
  EXPECT_GT(after.size() + 100, before) << "at most two pages of rows are lost";
  EXPECT_TRUE(store::fsck(data_).healthy()) << store::fsck(data_).damage();
  std::size_t kept = 0;
  for (const store::EndedTask& task : intact)
    kept += static_cast<std::size_t>(std::ranges::count(after, task));
  EXPECT_GT(kept, intact.size() / 2);
}

TEST_F(History, WithoutItsJournalIsRefusedAndSoIsOneThatIsAhead) {
  const fs::path kept = folder_.path() / "kept";
  store::testing::copy_folder(data_, kept);
  fs::remove_all(store::journal_folder(data_));
  fs::remove_all(store::snapshot_folder(data_));
  {
    const RunningService refused(data_, options());
    EXPECT_NE(refused.error.find("the journal is gone"), std::string::npos) << refused.error;
  }
  EXPECT_TRUE(fs::is_empty(data_) || !fs::exists(store::journal_folder(data_)))
      << "a refusal begins no journal";
  // A journal that was put back from an earlier day.
  store::testing::copy_folder(kept, data_);
  { RunningService(data_, options()).submit(new_task("later")); }
  fs::remove_all(store::journal_folder(data_));
  fs::remove_all(store::snapshot_folder(data_));
  fs::copy(store::journal_folder(kept), store::journal_folder(data_));
  const RunningService refused(data_, options());
  EXPECT_NE(refused.error.find("the history is complete up to message"), std::string::npos)
      << refused.error;
}

TEST_F(History, OfAnotherFolderIsRefusedAndSoIsASnapshot) {
  const fs::path other = folder_.path() / "other";
  { RunningService(other, options()).submit(new_task("other")); }
  const fs::path kept = folder_.path() / "kept";
  store::testing::copy_folder(data_, kept);
  for (const char* const part : {"", "-wal", "-shm"}) {
    const fs::path to = store::history_path(data_).string() + part;
    const fs::path from = store::history_path(other).string() + part;
    fs::remove(to);
    if (fs::exists(from)) fs::copy_file(from, to);
  }
  {
    const RunningService refused(data_, options());
    EXPECT_NE(refused.error.find("the history carries the identity"), std::string::npos)
        << refused.error;
  }
  store::testing::copy_folder(kept, data_);
  fs::remove_all(store::snapshot_folder(data_));
  fs::copy(store::snapshot_folder(other), store::snapshot_folder(data_));
  const RunningService refused(data_, options());
  EXPECT_NE(refused.error.find("the snapshot "), std::string::npos) << refused.error;
  EXPECT_FALSE(store::fsck(data_).healthy());
}

}  // namespace
}  // namespace berth::service::disk_care_test
