// Packing's table beside a live engine: when it is learned, that it is in the journal, after a
// restart and in a replay, and that a stop does not wait for a play.
#include "service/learner.h"

#include <algorithm>
#include <chrono>

#include <gtest/gtest.h>

#include "base/rng.h"
#include "core/packing/packing_table.h"
#include "journal/group.h"
#include "service/replay_check.h"
#include "service/testing/running_service.h"
#include "store/journal.h"
#include "store/layout.h"
#include "store/testing/temp_folder.h"

namespace berth::service::learner_test {
namespace {

using testing::Desk;
using testing::new_task;
using testing::RunningService;

// Six nodes of eight GPUs.
v1::Hello cluster() {
  v1::Hello hello;
  hello.set_node("local");
  for (int i = 0; i < 6; ++i) {
    v1::Node& node = *hello.add_nodes();
    node.set_name("n" + std::to_string(i));
    node.set_cpu_milli(96'000);
    node.set_memory_mb(400'000);
    for (int k = 0; k < 8; ++k) {
      v1::Gpu& gpu = *hello.add_gpus();
      gpu.set_node(node.name());
      gpu.set_name(node.name() + "/" + std::to_string(k));
      gpu.set_uuid("GPU-" + gpu.name());
      gpu.set_kind("A100");
      gpu.set_vram_mb(40'000);
    }
  }
  return hello;
}

NewTask task_of(std::int64_t share, std::int64_t cpu) {
  NewTask task = new_task();
  task.spec.share = Milli{share};
  task.spec.cpu = Milli{cpu};
  task.spec.memory = Mib{8000};
  return task;
}

std::vector<NewTask> arrivals() {
  std::vector<NewTask> tasks;
  const auto add = [&](int count, std::int64_t share, std::int64_t cpu) {
    for (int i = 0; i < count; ++i)
      tasks.push_back(task_of(share, cpu));
  };
  add(40, 1000, 11'000);
  add(20, 810, 3'000);
  add(15, 470, 8'000);
  add(8, 190, 2'000);
  return tasks;
}

std::vector<NewTask> shuffled(std::vector<NewTask> tasks, std::uint64_t seed) {
  Rng rng(seed);
  for (std::size_t i = tasks.size(); i > 1; --i) {
    const std::int64_t other = rng.between(0, static_cast<std::int64_t>(i) - 1);
    std::swap(tasks[i - 1], tasks[static_cast<std::size_t>(other)]);
  }
  return tasks;
}

void pack(RunningService& running) {
  core::PolicySpec policy;
  policy.packing = core::Packing::frag;
  policy.gpu_load_threshold = Milli{1000};
  running.control(DefinePolicy{policy});
}

void submit(RunningService& running, std::vector<NewTask> tasks) {
  for (const SubmitOutcome& outcome : running.submit(std::move(tasks)))
    ASSERT_EQ(outcome.kind, SubmitOutcome::Kind::accepted);
}

std::vector<std::uint8_t> table_of(RunningService& running) {
  return running.control(ReadPacking{}).packing.value().table;
}

// Of all tables in the journal.
std::vector<std::uint64_t> versions_in(const std::filesystem::path& data) {
  std::vector<std::uint64_t> versions;
  const auto scan = store::scan_journal(
      store::journal_folder(data), 0,
      [&](store::GroupAt, const store::SegmentInfo&, const journal::Group& group) {
        journal::GroupCursor cursor(group);
        while (cursor.next()) {
          if (cursor.kind() != journal::GroupCursor::Kind::event) continue;
          if (const auto* table = std::get_if<core::PutTable>(&cursor.event().body)) {
            versions.push_back(table->version);
          }
        }
        return cursor.ok();
      });
  EXPECT_TRUE(scan.ok());
  return versions;
}

// Short plays: enough for a table that does better than none.
ServiceOptions quick_plays() {
  ServiceOptions options;
  options.self_play.rounds = 3;
  options.self_play.arrivals_least = 2048;
  return options;
}

class LiveLearning : public ::testing::Test {
 protected:
  store::testing::TempFolder folder_;
};

TEST_F(LiveLearning, ATableIsInTheJournalAfterARestartAndInAReplay) {
  std::vector<std::string> told;
  ServiceOptions options = quick_plays();
  options.inform = [&](const std::string& text) { told.push_back(text); };
  std::vector<std::uint8_t> table;
  std::int64_t since = 0;
  std::uint64_t hash = 0;
  {
    RunningService running(folder_.path(), options, cluster());
    pack(running);
    submit(running, arrivals());
    running.service().learn_now();
    const ServiceStats stats = running.service().stats();
    EXPECT_EQ(stats.packing_table_version, 1U);
    since = stats.packing_table_since_ns;
    EXPECT_GT(since, 0);
    table = table_of(running);
    EXPECT_TRUE(core::decode_packing_table(table).ok());
    submit(running, arrivals());  // which the table places
    running.settle();
    running.stop();
    hash = running.service().stats().hash;
  }
  EXPECT_EQ(told,
            std::vector<std::string>{"packing has table 1, learned from 4 shapes on 6 nodes"});
  EXPECT_EQ(versions_in(folder_.path()), std::vector<std::uint64_t>{1});
  const Result<ReplayReport> replayed = replay(folder_.path());
  ASSERT_TRUE(replayed.ok()) << replayed.error().message;
  EXPECT_FALSE(replayed->difference);
  EXPECT_EQ(replayed->hash, hash);

  for (const bool by_snapshot : {true, false}) {
    if (!by_snapshot) std::filesystem::remove_all(store::snapshot_folder(folder_.path()));
    RunningService again(folder_.path(), options, cluster());
    ASSERT_EQ(again.error, "");
    EXPECT_EQ(again.service().stats().packing_table_version, 1U);
    EXPECT_EQ(again.service().stats().packing_table_since_ns, since);
    EXPECT_EQ(table_of(again), table);
    // It does not know what was played before; the same comes of it.
    again.service().learn_now();
    EXPECT_EQ(again.service().stats().packing_plays, 1U);
    EXPECT_EQ(again.service().stats().packing_table_version, 1U);
  }
}

TEST_F(LiveLearning, ShuffledArrivalsGiveTheSameTable) {
  std::vector<std::uint8_t> table;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    const store::testing::TempFolder folder;
    RunningService running(folder.path(), quick_plays(), cluster());
    pack(running);
    submit(running, shuffled(arrivals(), seed));
    running.service().learn_now();
    ASSERT_EQ(running.service().stats().packing_table_version, 1U);
    if (seed == 0) table = table_of(running);
    EXPECT_EQ(table_of(running), table) << seed;
  }
}

TEST_F(LiveLearning, NothingIsPlayedWithoutAReason) {
  RunningService running(folder_.path(), quick_plays(), cluster());
  Service& service = running.service();
  submit(running, arrivals());
  service.learn_now();
  EXPECT_EQ(service.stats().packing_plays, 0U) << "packing asks for no table";
  pack(running);
  service.learn_now();
  EXPECT_EQ(service.stats().packing_plays, 1U);
  service.learn_now();
  EXPECT_EQ(service.stats().packing_plays, 1U) << "nothing has changed";
  submit(running, {task_of(1000, 11'000)});
  service.learn_now();
  EXPECT_EQ(service.stats().packing_plays, 1U) << "one task makes no other mix";
  std::vector<NewTask> others(100);
  std::ranges::generate(others, [] { return task_of(350, 1'000); });
  submit(running, std::move(others));
  service.learn_now();
  EXPECT_EQ(service.stats().packing_plays, 2U);
  EXPECT_EQ(service.stats().packing_table_version, 2U);
  // So does another idea of how full a GPU may be.
  core::PolicySpec policy = service.view().read([](const Board& b) { return b.names().policy(); });
  policy.gpu_load_threshold = Milli{850};
  running.control(DefinePolicy{policy});
  service.learn_now();
  EXPECT_EQ(service.stats().packing_plays, 3U);
}

TEST_F(LiveLearning, FewArrivalsTeachNothing) {
  RunningService running(folder_.path(), quick_plays(), cluster());
  pack(running);
  running.service().learn_now();
  std::vector<NewTask> few = arrivals();
  few.resize(63);
  submit(running, std::move(few));
  running.service().learn_now();
  EXPECT_EQ(running.service().stats().packing_plays, 0U);
  submit(running, {task_of(190, 2'000)});
  running.service().learn_now();
  EXPECT_EQ(running.service().stats().packing_plays, 1U);
}

TEST_F(LiveLearning, TheThreadLearnsByItself) {
  RunningService running(folder_.path(), quick_plays(), cluster());
  pack(running);
  submit(running, arrivals());
  running.service().learn_every(milliseconds(1));
  while (running.service().stats().packing_table_version == 0)
    std::this_thread::yield();
  running.service().learn_every(Duration{0});
}

TEST_F(LiveLearning, AStopDoesNotWaitForAPlay) {
  ServiceOptions options;
  options.table_every = milliseconds(1);
  options.self_play.rounds = 1'000'000'000;  // of ten milliseconds and more
  RunningService running(folder_.path(), options, cluster());
  pack(running);
  submit(running, arrivals());
  while (running.service().stats().packing_plays == 0)
    std::this_thread::yield();
  const auto begin = std::chrono::steady_clock::now();
  running.stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_EQ(running.service().stats().packing_table_version, 0U);
  EXPECT_TRUE(versions_in(folder_.path()).empty());
}

// ---- The command --------------------------------------------------------------------------------

TEST(PackingTables, VersionsRiseAndTheSameTableIsNoChange) {
  Desk desk;
  desk.furnish();
  const std::vector<std::uint8_t> first = core::encode(core::PackingTable{});
  core::PackingTable other;
  other.values.any[0][1] = 7;
  const auto put = [&](const std::vector<std::uint8_t>& bytes) {
    return desk.control(PutPackingTable{bytes}).packing.value();
  };
  EXPECT_EQ(put({}).version, 0U) << "there was none";
  EXPECT_EQ(put(first).version, 1U);
  const std::uint64_t events = desk.sequencer.next_seq();
  EXPECT_EQ(put(first).version, 1U);
  EXPECT_EQ(desk.sequencer.next_seq(), events);
  EXPECT_EQ(put(core::encode(other)).version, 2U);
  desk.wait(seconds(1));
  EXPECT_EQ(put({}).version, 3U);
  EXPECT_TRUE(put({}).table.empty());
  const TableEntry entry =
      desk.view.read([](const Board& board) { return board.names().packing_table(); });
  EXPECT_EQ(entry.version, 3U);
  EXPECT_EQ(entry.since, desk.now);

  EXPECT_EQ(desk.differences(), std::vector<std::uint32_t>{});
  Replayer restored(minutes(24 * 60));
  ASSERT_TRUE(restored.restore(desk.snapshot()).ok());
  EXPECT_EQ(restored.board().names().packing_table().version, 3U);
  EXPECT_EQ(restored.board().names().packing_table().since, desk.now);
}

TEST(AnotherMix, IsOneOfWhichATwentiethIsNew) {
  core::TypicalShape small;
  small.shape.gpus = 1;
  small.shape.share = 200;
  small.memory = 1000;
  core::TypicalShape large = small;
  large.shape.share = 1000;
  const auto mix = [&](std::uint32_t percent_large) {
    small.weight = core::kWeightTotal / 100 * (100 - percent_large);
    large.weight = core::kWeightTotal - small.weight;
    return core::TypicalMix{small, large};
  };
  EXPECT_FALSE(is_another_mix(mix(50), mix(50)));
  EXPECT_FALSE(is_another_mix(mix(50), mix(54)));
  EXPECT_TRUE(is_another_mix(mix(50), mix(57)));
  EXPECT_TRUE(is_another_mix({}, mix(50)));
  const core::TypicalMix before = mix(50);
  small.memory = 1100;
  EXPECT_FALSE(is_another_mix(before, mix(50)));
  small.memory = 1200;
  EXPECT_TRUE(is_another_mix(before, mix(50)));
}

}  // namespace
}  // namespace berth::service::learner_test
