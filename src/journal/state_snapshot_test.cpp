// Snapshots of engines: there and back byte for byte, going on alike, and no bytes that crash.
#include "journal/state_snapshot.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/state/state.h"
#include "journal/crc32c.h"
#include "journal/state_records.h"
#include "journal/testing/engine_world.h"
#include "journal/testing/random_values.h"

namespace berth::journal::state_snapshot_test {
namespace {

using testing::copy_of;
using testing::EngineWorld;
using testing::for_each_flip;
using testing::prefix_of;
using testing::Random;

core::Engine restored(const std::vector<std::byte>& bytes) {
  SnapshotError error;
  auto snapshot = decode_snapshot(bytes, &error);
  EXPECT_TRUE(snapshot) << to_string(error);
  return snapshot ? std::move(snapshot->engine) : core::Engine();
}

// An engine that events are sent to one by one, a millisecond apart unless said otherwise.
struct Bench {
  core::Engine engine;
  Time now{0};
  core::Actions actions;  // of the last step

  void send(core::EventBody body, Duration after = milliseconds(1)) {
    now = now + after;
    actions.clear();
    engine.step({now, std::move(body)}, actions);
  }
  core::TaskSpec spec(std::uint32_t queue) const {
    core::TaskSpec task;
    task.tenant = TenantId{0};
    task.queue = QueueId{queue};
    task.vram = Mib{1000};
    task.expected_run = seconds(5);
    return task;
  }
  TaskNo submit(core::TaskSpec task) {
    const TaskNo no = engine.next_task_no();
    send(core::Submit{no, std::move(task)});
    return no;
  }
  // One tenant, a queue without a model (0) and one with (1), two GPUs of 10 GiB.
  void set_up() {
    send(core::PutTenant{TenantId{0}, {}});
    send(core::PutModel{ModelId{0}, {.weights = Mib{4000}, .keep_alive = seconds(60)}});
    send(core::PutQueue{QueueId{0}, {}});
    send(core::PutQueue{QueueId{1}, {.model = ModelId{0}, .max_batch_size = 4}});
    for (std::uint32_t i = 0; i < 2; ++i) {
      send(core::PutGpu{GpuId{i}, {.node = NodeId{i}, .vram = Mib{10'240}}});
    }
  }
};

// A state in which every kind of record occurs.
Bench rich_bench() {
  Bench bench;
  bench.set_up();
  bench.send(core::SetPolicy{{.order = core::Order::cost_aware, .patience = milliseconds(1)}});
  bench.send(core::PutTenant{TenantId{1}, {.token_bucket_size = 50, .max_gpus = Milli{500}}});

  core::TaskSpec gang = bench.spec(0);
  gang.gpus = 2;
  gang.priority = 100;
  gang.retry = {.max_attempts = 3, .backoff = seconds(1)};
  bench.submit(gang);  // runs on both GPUs
  bench.send(core::PutGpu{GpuId{2}, {.node = NodeId{2}, .vram = Mib{10'240}}});
  core::TaskSpec lone = bench.spec(0);
  lone.expected_run = minutes(60);
  bench.submit(lone);  // runs on the third
  core::TaskSpec waiting = bench.spec(0);
  waiting.depends_on = {{core::Dependency::Kind::task, 0}, {core::Dependency::Kind::signal, 7}};
  waiting.group = GroupId{3};
  waiting.on_dependency_failure = core::OnDependencyFailure::release;
  bench.submit(waiting);
  core::TaskSpec late = bench.spec(0);
  late.not_before = bench.now + seconds(100);
  late.tolerated_wait = seconds(200);
  late.checkpoint_interval = minutes(10);
  late.restart_cost = seconds(30);
  bench.submit(late);
  core::TaskSpec held = bench.spec(0);
  held.held = true;
  held.tenant = TenantId{1};
  held.share = Milli{400};
  bench.submit(held);
  bench.send(core::ResolveSignal{SignalId{9}});
  bench.send(core::LeaseStarted{LeaseId{0}});
  bench.submit(gang);
  bench.send(core::GpuLost{GpuId{1}});  // the first gang stops, its lease lives on without the GPU
  bench.send(core::GpuReturned{GpuId{1}});
  bench.submit(bench.spec(1));  // loads its model
  bench.submit(bench.spec(1));
  bench.send(core::ModelLoaded{GpuId{1}, ModelId{0}, true, seconds(2), LoadId{0}}, seconds(2));
  bench.send(core::Tick{}, seconds(1));  // the other gang is overdue by now: a GPU is held for it
  return bench;
}

// ---- There and back -----------------------------------------------------------------------------

TEST(StateSnapshot, AnEmptyEngineComesBack) {
  const auto bytes = encode_snapshot(core::Engine());
  EXPECT_EQ(encode_snapshot(restored(bytes)), bytes);
}

TEST(StateSnapshot, CarriesTheRunningHashAndThePlaceInTheJournal) {
  const SnapshotInfo info{.seq = 3, .epoch = 4, .hash = {.hash = 5, .count = 6}};
  const auto snapshot = decode_snapshot(encode_snapshot(core::Engine(), info));
  ASSERT_TRUE(snapshot);
  EXPECT_EQ(snapshot->info.seq, 3U);
  EXPECT_EQ(snapshot->info.epoch, 4U);
  EXPECT_EQ(snapshot->info.hash, info.hash);
  EXPECT_EQ(snapshot->info.behaviour, core::kBehaviour);
}

TEST(StateSnapshot, ARichStateHasEveryKindOfRecordAndComesBack) {
  const Bench bench = rich_bench();
  const core::State& state = bench.engine.state();
  EXPECT_EQ(state.running.leases, 2U);
  EXPECT_FALSE(state.kept.empty());
  EXPECT_FALSE(state.gpu(GpuId{1}).residences.empty());
  EXPECT_EQ(state.groups.size(), 1U);
  EXPECT_TRUE(state.leases.front().tasks.front().stopping);
  EXPECT_GT(state.tenant(TenantId{0}).usage.sum_us, 0);
  EXPECT_EQ(state.tenant(TenantId{1}).queued, 1U);

  const auto bytes = encode_snapshot(bench.engine);
  const core::Engine engine = restored(bytes);
  EXPECT_EQ(encode_snapshot(engine), bytes);
  EXPECT_EQ(engine.next_wakeup(), bench.engine.next_wakeup());
  const core::State& back = engine.state();
  EXPECT_EQ(back.tenant(TenantId{0}).in_use, state.tenant(TenantId{0}).in_use);
  EXPECT_EQ(back.tenant(TenantId{0}).live, state.tenant(TenantId{0}).live);
  EXPECT_EQ(back.queue(QueueId{0}).in_use, state.queue(QueueId{0}).in_use);
  EXPECT_EQ(back.gpu(GpuId{0}).leased, state.gpu(GpuId{0}).leased);
  EXPECT_EQ(back.gpu(GpuId{1}).weights_busy, state.gpu(GpuId{1}).weights_busy);
  const core::TaskExtra* late = back.tasks.find_extra(back.tasks.slot_of(TaskNo{3}));
  ASSERT_NE(late, nullptr);
  EXPECT_EQ(late->checkpoint_interval, minutes(10));
  EXPECT_EQ(late->restart_cost, seconds(30));
  EXPECT_EQ(back.signals.at(SignalId{7}).waiters, std::vector<TaskNo>{TaskNo{2}});
}

TEST(StateSnapshot, BytesDoNotDependOnSlots) {
  Bench bench;
  bench.set_up();
  for (int i = 0; i < 5; ++i)
    bench.submit(bench.spec(0));
  bench.send(core::Cancel{TaskNo{3}});
  bench.send(core::Cancel{TaskNo{4}});
  bench.submit(bench.spec(0));
  const auto bytes = encode_snapshot(bench.engine);
  core::Engine engine = restored(bytes);
  EXPECT_NE(engine.state().tasks.slots(), bench.engine.state().tasks.slots());
  EXPECT_EQ(encode_snapshot(engine), bytes);
}

// An engine that comes from the journal never asked, and yet has the same bytes.
TEST(StateSnapshot, APlanAskedForInVainIsForgottenWithTheNextChange) {
  Bench bench;
  bench.set_up();
  core::TaskSpec gang = bench.spec(0);
  gang.gpus = 2;
  bench.submit(gang);
  gang.tier = 1;
  bench.submit(gang);
  bench.send(core::Tick{}, seconds(2));
  const Time again = bench.engine.state().placed.no_plan_before;
  EXPECT_GT(again, bench.now);
  EXPECT_EQ(restored(encode_snapshot(bench.engine)).state().placed.no_plan_before, again);
  bench.send(core::PutTenant{TenantId{1}, {}});
  EXPECT_EQ(restored(encode_snapshot(bench.engine)).state().placed.no_plan_before, Time{0});
}

TEST(StateSnapshot, EndsOfTasksAreRememberedAcrossPages) {
  Bench bench;
  bench.set_up();
  core::TaskSpec held = bench.spec(0);
  held.held = true;
  for (std::uint64_t i = 0; i < 9000; ++i) {
    bench.submit(held);
    if (i % 100 != 0) bench.send(core::Cancel{TaskNo{i}});
  }
  const auto bytes = encode_snapshot(bench.engine);
  const core::Engine engine = restored(bytes);
  EXPECT_EQ(encode_snapshot(engine), bytes);
  EXPECT_EQ(engine.next_task_no(), TaskNo{9000});
  for (std::uint64_t i = 0; i < 9000; ++i) {
    ASSERT_EQ(engine.state().tasks.ended(TaskNo{i}), bench.engine.state().tasks.ended(TaskNo{i}));
  }
}

// ---- Going on -----------------------------------------------------------------------------------

// A restored engine takes the same events; each must lead to the same actions.
void expect_to_go_on_alike(std::uint64_t seed, int steps, int restore_every) {
  Random random(seed);
  EngineWorld world;
  core::Engine original;
  core::Engine copy;
  const auto setup = world.setup(random.next());
  for (int i = 0; i < steps; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const core::Event event = at < setup.size() ? setup[at] : world.next(random.next(), original);
    core::Actions actions;
    core::Actions of_copy;
    original.step(event, actions);
    copy.step(event, of_copy);
    world.note(actions);
    ASSERT_EQ(actions, of_copy) << "seed " << seed << " step " << i;
    const auto bytes = encode_snapshot(original);
    ASSERT_EQ(encode_snapshot(copy), bytes) << "seed " << seed << " step " << i;
    if (i % restore_every != 0) continue;
    copy = restored(bytes);
    ASSERT_EQ(encode_snapshot(copy), bytes) << "seed " << seed << " step " << i;
    ASSERT_EQ(copy.next_wakeup(), original.next_wakeup());
  }
}

TEST(StateSnapshot, RestoredAfterEveryStepTheEngineGoesOnAlike) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    expect_to_go_on_alike(seed, 200, 1);
}

TEST(StateSnapshot, RestoredNowAndThenTheEngineGoesOnAlike) {
  for (std::uint64_t seed = 21; seed <= 45; ++seed)
    expect_to_go_on_alike(seed, 200, 23);
}

// A pass looks at three tasks: two that get reservations, and `once`, which would delay the first
// of them. Seven seconds later the counts say that it would delay the second wherever it ran: it is
// not looked at any more, and `brief` behind it is. The engine that was saved must notice too,
// though nothing but time has changed.
TEST(StateSnapshot, WhoIsLookedAtFollowsTime) {
  Bench bench;
  bench.send(
      core::SetPolicy{{.order = core::Order::fifo, .reservations = 2, .backfill_visits = 3}});
  bench.send(core::PutTenant{TenantId{0}, {}});
  bench.send(core::PutQueue{QueueId{0}, {}});
  bench.send(core::PutNode{NodeId{0}, {RackId{0}, Milli{16'000}, Mib{8'000}}});
  bench.send(core::PutNode{NodeId{1}, {RackId{0}, Milli{2'000}, Mib{64'000}}});
  for (std::uint32_t i = 0; i < 4; ++i)
    bench.send(core::PutGpu{GpuId{i}, {.node = NodeId{i / 2}, .vram = Mib{10'240}}});
  const auto submit = [&](std::uint16_t gpus, std::int64_t cpu, std::int64_t memory, Duration run) {
    core::TaskSpec task = bench.spec(0);
    task.gpus = gpus;
    task.cpu = Milli{cpu};
    task.memory = Mib{memory};
    task.expected_run = run;
    if (gpus == 2) {
      task.within = core::Level::node;
      task.required = true;
    }
    return bench.submit(task);
  };
  submit(1, 4'000, 0, seconds(20));
  submit(1, 1'000, 16'000, seconds(100));
  submit(2, 0, 0, seconds(5));
  submit(4, 0, 0, seconds(10));
  const TaskNo once = submit(1, 4'000, 0, seconds(90));
  const TaskNo brief = submit(1, 1'000, 0, seconds(5));
  const auto state_of = [](const core::Engine& engine, TaskNo task) {
    const core::TaskTable& tasks = engine.state().tasks;
    return tasks.row(tasks.slot_of(task)).state;
  };
  EXPECT_EQ(state_of(bench.engine, once), core::TaskState::pending);
  EXPECT_EQ(state_of(bench.engine, brief), core::TaskState::pending);

  core::Engine copy = restored(encode_snapshot(bench.engine));
  bench.send(core::PutModel{ModelId{0}, {.weights = Mib{4000}}}, seconds(10));
  core::Actions of_copy;
  copy.step({bench.now, core::PutModel{ModelId{0}, {.weights = Mib{4000}}}}, of_copy);
  EXPECT_EQ(bench.actions, of_copy);
  EXPECT_EQ(state_of(bench.engine, once), core::TaskState::pending);
  EXPECT_EQ(state_of(bench.engine, brief), core::TaskState::starting);
}

// A tick stops after a count of rounds and timers. What it left is due at the very instant of the
// snapshot, and the restored engine must not take it for done.
TEST(StateSnapshot, ATickCutShortGoesOnAlike) {
  constexpr std::uint32_t kQueues = 16 * 256 + 40;
  Bench bench;
  bench.send(core::PutTenant{TenantId{0}, {}});
  for (std::uint32_t i = 0; i < kQueues; ++i) {
    bench.send(core::PutQueue{QueueId{i}, {.max_batch_size = 4, .max_batch_wait = seconds(100)}});
  }
  bench.send(core::PutGpu{GpuId{0}, {.vram = Mib{10'240}}});
  core::SubmitWorkflow submit{TaskNo{0}, {}};
  for (std::uint32_t i = 0; i < kQueues; ++i) {
    submit.tasks.push_back(bench.spec(i));
    submit.tasks.back().tier = static_cast<std::uint8_t>(i % 2);
    submit.tasks.back().priority = static_cast<std::int16_t>(i % 100);
  }
  bench.send(submit);
  bench.send(core::Tick{}, seconds(101));
  const core::State& state = bench.engine.state();
  ASSERT_LE(state.timers.next(1)->due, state.now) << "nothing was left";

  const auto bytes = encode_snapshot(bench.engine);
  core::Engine copy = restored(bytes);
  EXPECT_EQ(encode_snapshot(copy), bytes);
  for (int i = 0; i < 5; ++i) {
    bench.send(core::Tick{}, i == 3 ? minutes(11) : milliseconds(1));
    core::Actions of_copy;
    copy.step({bench.now, core::Tick{}}, of_copy);
    EXPECT_EQ(of_copy, bench.actions);
    EXPECT_EQ(encode_snapshot(copy), encode_snapshot(bench.engine));
  }
}

// ---- Bad data -----------------------------------------------------------------------------------

TEST(StateSnapshot, EveryTruncationIsRefused) {
  const auto bytes = encode_snapshot(rich_bench().engine);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    SnapshotError error;
    EXPECT_FALSE(decode_snapshot(prefix_of(bytes, size), &error)) << size;
    EXPECT_NE(std::string(error.expected), "");
  }
}

TEST(StateSnapshot, EveryFlippedBitIsFound) {
  for_each_flip(encode_snapshot(rich_bench().engine), [](ByteView bytes, std::size_t bit) {
    EXPECT_FALSE(decode_snapshot(bytes)) << "bit " << bit;
  });
}

// Gives the sections right checksums again, as a faulty or hostile writer would.
std::vector<std::byte> resealed(std::vector<std::byte> bytes) {
  const auto table_at = load_le<std::uint64_t>(bytes.data() + 48);
  const auto sections = load_le<std::uint32_t>(bytes.data() + 12);
  for (std::size_t i = 0; i < sections; ++i) {
    std::byte* entry = bytes.data() + table_at + i * 24;
    const auto offset = load_le<std::uint64_t>(entry + 8);
    const auto size = load_le<std::uint64_t>(entry + 16);
    store_le(entry + 4, crc32c(ByteView(bytes).subspan(offset, size)));
  }
  store_le(bytes.data() + 56, crc32c(ByteView(bytes).subspan(table_at)));
  store_le(bytes.data() + 60, crc32c(ByteView(bytes).first(60)));
  return bytes;
}

TEST(StateSnapshot, HostileBytesWithRightChecksumsNeverCrash) {
  std::vector<std::vector<std::byte>> samples = {encode_snapshot(rich_bench().engine)};
  for (std::uint64_t seed = 100; seed < 103; ++seed) {
    Random random(seed);
    EngineWorld world;
    core::Engine engine;
    core::Actions actions;
    for (const core::Event& event : world.setup(random.next()))
      engine.step(event, actions);
    for (int i = 0; i < 80; ++i) {
      actions.clear();
      engine.step(world.next(random.next(), engine), actions);
      world.note(actions);
    }
    samples.push_back(encode_snapshot(engine));
  }
  Random random(1);
  int refused = 0;
  for (const auto& sample : samples) {
    const auto end = load_le<std::uint64_t>(sample.data() + 48);
    for (std::size_t at = kSnapshotHeaderSize; at < end; ++at) {
      auto bytes = sample;
      const std::uint64_t changes = random.below(8) == 0 ? 4 : 1;
      for (std::uint64_t i = 0; i < changes; ++i) {
        const std::size_t where = i == 0 ? at : at + random.below(end - at);
        bytes[where] = static_cast<std::byte>(random.below(3) == 0 ? 0xff : random.next());
      }
      SnapshotError error;
      if (decode_snapshot(resealed(bytes), &error)) continue;
      ++refused;
      EXPECT_NE(std::string(error.section), "");
      EXPECT_NE(std::string(error.expected), "");
    }
  }
  EXPECT_GT(refused, 1000);
}

// ---- What an error says -------------------------------------------------------------------------

std::vector<std::byte> with_section(const std::vector<std::byte>& bytes, StateSection which,
                                    ByteView content) {
  const auto snapshot = SnapshotReader::open(bytes);
  SnapshotWriter writer(snapshot->info());
  for (std::uint32_t id = 1; id <= static_cast<std::uint32_t>(StateSection::leases); ++id) {
    writer.section(id, id == static_cast<std::uint32_t>(which) ? content : *snapshot->section(id));
  }
  return copy_of(writer.finish().view());
}

std::string refusal(const std::vector<std::byte>& bytes) {
  SnapshotError error;
  return decode_snapshot(bytes, &error) ? "" : to_string(error);
}

// The records of one section of a snapshot, each changed.
template <class Record, class Change>
std::vector<std::byte> with_records(const std::vector<std::byte>& bytes, StateSection section,
                                    Change change) {
  Reader in(*SnapshotReader::open(bytes)->section(static_cast<std::uint32_t>(section)));
  Writer out;
  out.u32(in.u32());
  Record record;
  while (!in.at_end() && decode(in, record)) {
    change(record);
    encode(out, record);
  }
  return with_section(bytes, section, out.view());
}
template <class Change>
std::vector<std::byte> with_leases(const std::vector<std::byte>& bytes, Change change) {
  return with_records<LeaseRecord>(bytes, StateSection::leases, change);
}

TEST(StateSnapshot, RecordsThatContradictOneAnotherAreRefused) {
  const auto bytes = encode_snapshot(rich_bench().engine);
  EXPECT_EQ(refusal(with_leases(bytes, [](LeaseRecord&) {})), "");
  EXPECT_EQ(refusal(with_leases(bytes, [](LeaseRecord& lease) { ++lease.parts; })),
            "state: expected records that agree at byte 0");
}

TEST(StateSnapshot, ARestartOutOfRangeIsRefused) {
  const auto bytes = encode_snapshot(rich_bench().engine);
  const auto with_restart = [&](RestartRecord restart) {
    return refusal(with_records<TaskRecord>(bytes, StateSection::tasks,
                                            [&](TaskRecord& task) { task.restart = restart; }));
  };
  EXPECT_EQ(with_restart({seconds(1), Duration{0}}), "");
  for (const RestartRecord& wrong :
       {RestartRecord{}, {Duration{-1}, seconds(1)}, {seconds(1), Duration::forever()}}) {
    EXPECT_NE(with_restart(wrong).find("a restart in range"), std::string::npos)
        << with_restart(wrong);
  }
}

TEST(StateSnapshot, ALedgerOutOfRangeIsRefused) {
  const auto bytes = encode_snapshot(rich_bench().engine);
  for (const core::LedgerLine& wrong :
       {core::LedgerLine{1, 2}, {INT64_MIN, 7}, {5, -1}, {INT64_MAX, INT64_MIN}}) {
    const std::string said = refusal(with_records<TenantRecord>(
        bytes, StateSection::tenants, [&](TenantRecord& tenant) { tenant.ledger = wrong; }));
    EXPECT_NE(said.find("a ledger in range"), std::string::npos) << said;
  }
}

// A queue whose only copy is busy is left alone while tenants are charged, but not where the leader
// decides whether a batch is full: a restored engine would know better than the one that was saved.
TEST(StateSnapshot, ABusyQueueWithAnIsolatedTenantComesBack) {
  core::Engine engine;
  Time now{0};
  const auto feed = [&](core::EventBody body) {
    core::Actions actions;
    engine.step({now, std::move(body)}, actions);
  };
  const auto submit = [&](std::uint32_t tenant, std::uint32_t queue, Duration run) {
    core::TaskSpec spec;
    spec.tenant = TenantId{tenant};
    spec.queue = QueueId{queue};
    spec.vram = Mib{1000};
    spec.expected_run = run;
    feed(core::Submit{engine.next_task_no(), spec});
  };
  core::TenantSpec isolated;
  isolated.isolation = core::Isolation::batch;
  feed(core::PutTenant{TenantId{0}, {}});
  feed(core::PutTenant{TenantId{1}, isolated});
  feed(core::PutTenant{TenantId{2}, {}});
  feed(core::PutModel{ModelId{0}, {.weights = Mib{4000}, .load_time = minutes(60)}});
  feed(core::PutQueue{QueueId{0},
                      {.model = ModelId{0}, .max_batch_size = 4, .max_batch_wait = seconds(100)}});
  feed(core::PutQueue{QueueId{1}, {}});
  for (std::uint32_t i = 0; i < 2; ++i)
    feed(core::PutGpu{GpuId{i}, {.vram = Mib{16'000}}});
  feed(core::ModelLoaded{GpuId{0}, ModelId{0}, true, Duration{0}, LoadId::none()});
  for (int i = 0; i < 4; ++i)
    submit(2, 0, seconds(1000));
  for (int i = 0; i < 4; ++i)
    submit(0, 0, seconds(1000));
  submit(1, 0, seconds(1000));
  now = Time{seconds(1).ns};
  submit(2, 1, seconds(1));
  now = Time{seconds(2).ns};
  feed(core::LeaseEnded{LeaseId{1}, {}});
  now = Time{seconds(3).ns};
  submit(0, 1, seconds(1));  // charged while its other work waits in the busy queue
  EXPECT_EQ(engine.check_invariants(), std::vector<std::string>{});
  EXPECT_EQ(refusal(encode_snapshot(engine)), "");
}

TEST(StateSnapshot, ARecordThatDoesNotComeBackIsRefused) {
  Bench bench;
  bench.set_up();
  const auto bytes = encode_snapshot(bench.engine);
  const auto changed =
      with_records<QueueRecord>(bytes, StateSection::queues, [&](QueueRecord& queue) {
        queue.patience = PatienceRecord{bench.now + seconds(9), false};  // of an empty queue
      });
  EXPECT_EQ(refusal(changed), "state: expected records that all come back at byte 0");
}

TEST(StateSnapshot, ErrorsNameTheSectionAndWhatWasExpected) {
  const auto bytes = encode_snapshot(rich_bench().engine);
  EXPECT_EQ(refusal(with_section(bytes, StateSection::gpus, {})),
            "gpus: expected a 32-bit number at byte 0");

  const auto none = testing::bytes_of({0, 0, 0, 0});
  EXPECT_EQ(refusal(with_section(bytes, StateSection::leases, none)),
            "leases: expected every started task in a lease at byte 0");
  EXPECT_EQ(refusal(with_section(bytes, StateSection::queues, none)),
            "engine: expected a queue that exists at byte 0");
  EXPECT_EQ(refusal(with_section(bytes, StateSection::models, none)),
            "gpus: expected a model that exists at byte 69");

  auto signals = copy_of(*SnapshotReader::open(bytes)->section(7));
  signals.insert(signals.end(), signals.begin(), signals.end());
  EXPECT_EQ(refusal(with_section(bytes, StateSection::signals, signals)),
            "signals: expected ascending signals at byte 8");

  SnapshotWriter later({.version = kStateVersion + 1});
  EXPECT_EQ(refusal(copy_of(later.finish().view())),
            "expected a version that this program reads at byte 4");
  EXPECT_EQ(refusal({}), "expected a 32-bit number at byte 0");
}

}  // namespace
}  // namespace berth::journal::state_snapshot_test
