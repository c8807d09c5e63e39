// State records: what a snapshot says about each thing of the core, field by field.
//
// A record holds what cannot be derived. Sums over tasks and leases, links and indexes are left
// out; restoring makes them again. Things are named by their numbers: a task by its number, a lease
// by its id; slots never appear. A field that is nearly always at its default is optional, and
// present only when it is not. Knows no bytes: encoding.h turns records into them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "base/units.h"
#include "core/model/specs.h"
#include "core/packing/mix.h"
#include "core/state/entities.h"
#include "core/state/learned.h"
#include "journal/codec.h"
#include "journal/encoding.h"
#include "journal/fields.h"

namespace berth::journal {

BERTH_FIELDS(core::BatchTimeSketch, count, sum_n, sum_nn, sum_t, sum_nt, base, per_task);
BERTH_FIELDS(core::ArrivalSketch, gap_ns, last);
BERTH_FIELDS(core::MeanSketch, mean_ns, count);

// ---- The engine as a whole ----------------------------------------------------------------------

struct FlowName {
  QueueId queue;
  TenantId tenant;
  std::uint8_t tier = 0;
  std::optional<core::Shape> shape;  // of placed work
  bool commands = false;
  auto operator<=>(const FlowName&) const = default;
};
BERTH_GROWN(FlowName, 2, (queue, tenant, tier, shape), commands);

struct CancelRecord {
  GroupId group;
  TaskNo below;
};
BERTH_FIELDS(CancelRecord, group, below);

struct EngineRecord {
  Time now;
  core::PolicySpec policy;
  std::uint64_t next_lease = 0;
  std::uint64_t next_load = 0;
  TaskNo first_today;
  std::array<std::int64_t, core::kTiers> v_last_pick{};
  std::int64_t next_turn = 0;
  QueueId last_served;
  Time continue_at;
  std::vector<CancelRecord> cancelling;  // by group, ascending
  // What is due at `now` but was left by a count limit: batches to call filled, tiers to cross.
  std::vector<QueueId> fills_due;   // ascending
  std::vector<FlowName> tiers_due;  // ascending
  // Since when no plan of preemption is worth making, or that one is; follows from history.
  bool preemption_stale = true;
  Time no_plan_before;
  bool starts_held = false;
};
BERTH_GROWN(EngineRecord, 2,
            (now, policy, next_lease, next_load, first_today, v_last_pick, next_turn, last_served,
             continue_at, cancelling, fills_due, tiers_due, preemption_stale, no_plan_before),
            starts_held);

// ---- Tenants, models, GPUs, queues: all by number from 0 ----------------------------------------

struct UsageRecord {
  std::int64_t epoch = 0;
  std::vector<std::int64_t> bucket_us;  // kUsageBuckets of them
};
BERTH_FIELDS(UsageRecord, epoch, bucket_us);

BERTH_FIELDS(core::LedgerLine, charged_us, refunded_us);

struct TenantRecord {
  core::TenantSpec spec;
  bool paused = false;
  std::int64_t v_us = 0;
  std::int64_t credit_us = 0;
  core::LedgerLine ledger;
  std::int64_t token_nano = 0;
  Time token_at;
  std::int64_t tokens_today = 0;
  std::optional<UsageRecord> usage;  // none: never charged under an order that reads it
};
BERTH_FIELDS(TenantRecord, spec, paused, v_us, credit_us, ledger, token_nano, token_at,
             tokens_today, usage);

struct LoadTimeRecord {
  KindId kind;
  core::MeanSketch took;
};
BERTH_FIELDS(LoadTimeRecord, kind, took);

struct ModelRecord {
  core::ModelSpec spec;
  std::vector<LoadTimeRecord> load_times;  // by kind, ascending
  std::uint64_t loads = 0;
  std::uint64_t evictions = 0;
  Duration resident_time;
  Duration computing_time;
};
BERTH_FIELDS(ModelRecord, spec, load_times, loads, evictions, resident_time, computing_time);

struct ResidenceRecord {
  ModelId model;
  LoadId load;
  Mib weights;
  bool loading = false;
  bool used = false;
  Time since;
  Time idle_since;
  Duration owed;
};
BERTH_FIELDS(ResidenceRecord, model, load, weights, loading, used, since, idle_since, owed);

struct LoadPauseRecord {
  ModelId model;
  std::uint32_t failures = 0;
  Time until;
};
BERTH_FIELDS(LoadPauseRecord, model, failures, until);

struct GpuRecord {
  core::GpuSpec spec;
  bool up = true;
  bool draining = false;
  bool adopts = true;
  Milli reported;
  std::vector<ResidenceRecord> residences;  // by model, ascending
  std::vector<LoadPauseRecord> pauses;      // by model, ascending
  TaskNo kept_for;
  std::uint16_t claimed_as = 0;    // the rank that it has in a claim, from 1 on; 0: in none
  std::optional<Time> keep_alive;  // when they are looked at next; follows their history
};
BERTH_FIELDS(GpuRecord, spec, up, draining, adopts, reported, residences, pauses, kept_for,
             claimed_as, keep_alive);

struct NodeRecord {
  core::NodeSpec spec;
  bool up = true;
};
BERTH_FIELDS(NodeRecord, spec, up);

struct MixRecord {
  core::ShapeClass shape;
  core::Mix::Count count;
};
BERTH_FIELDS(core::ShapeClass, gpus, share, cpu, kinds);
BERTH_FIELDS(core::Mix::Count, arrivals, memory);
BERTH_FIELDS(core::TypicalShape, shape, memory, weight);
BERTH_FIELDS(MixRecord, shape, count);

struct PackingRecord {
  std::vector<MixRecord> mix;  // by shape, ascending
  std::uint32_t remembered = 0;
  std::uint64_t arrivals = 0;
  std::vector<core::TypicalShape> typical;
  std::uint64_t version = 0;
  std::vector<std::uint8_t> table;
};
BERTH_FIELDS(PackingRecord, mix, remembered, arrivals, typical, version, table);

struct PatienceRecord {
  Time due;
  bool overdue = false;
};
BERTH_FIELDS(PatienceRecord, due, overdue);

struct DeclinedRecord {
  std::uint32_t at = 0;  // pending tasks then
  core::Reason reason;
};
BERTH_FIELDS(DeclinedRecord, at, reason);

struct CopyRecord {
  Time at;
  bool wanted = false;
};
BERTH_FIELDS(CopyRecord, at, wanted);

struct QueueRecord {
  core::QueueSpec spec;
  std::optional<ModelId> next_model;
  bool paused = false;
  bool draining = false;
  Time flushed_at;
  std::int64_t turn = 0;
  core::BatchTimeSketch batch_time;
  core::ArrivalSketch arrivals;
  Duration wait;
  Duration tightest_wait;
  std::optional<PatienceRecord> patience;
  std::optional<DeclinedRecord> declined;
  std::vector<GpuId> holds;  // in the order they were taken
  std::optional<CopyRecord> copy;
  std::uint64_t batches = 0;
};
BERTH_FIELDS(QueueRecord, spec, next_model, paused, draining, flushed_at, turn, batch_time,
             arrivals, wait, tightest_wait, patience, declined, holds, copy, batches);

// ---- Tasks and leases: by number, ascending -----------------------------------------------------

// Of a task that may be tried again, or was.
struct RetryRecord {
  Duration backoff;
  std::uint8_t max_attempts = 1;
  std::uint8_t retry_on = core::kRetryOnAny;
  std::uint8_t attempts = 0;
  std::uint8_t losses = 0;
  std::uint8_t like_failures = 0;
  core::Failure last_failure = core::Failure::error;
  std::uint32_t starts = 0;
  bool operator==(const RetryRecord&) const = default;
};
BERTH_GROWN(RetryRecord, 3,
            (backoff, max_attempts, retry_on, attempts, losses, like_failures, last_failure),
            starts);

struct LinksRecord {
  GroupId group;
  core::OnDependencyFailure on_failure = core::OnDependencyFailure::fail;
  std::vector<core::Dependency> depends_on;
  std::uint32_t at_once = 0;
  bool has_turn = false;
};
BERTH_GROWN(LinksRecord, 2, (group, on_failure, depends_on), at_once, has_turn);

// Of a task that says what is lost when it is stopped.
struct RestartRecord {
  Duration checkpoint_interval;
  Duration cost;
  bool operator==(const RestartRecord&) const = default;
};
BERTH_FIELDS(RestartRecord, checkpoint_interval, cost);

enum class HeldAs : std::uint8_t { not_held, by_request, as_poison };
constexpr bool is_known(EnumCheck, HeldAs x) { return x <= HeldAs::as_poison; }

struct TaskRecord {
  TaskNo no;
  core::TaskState state = core::TaskState::waiting;
  HeldAs held = HeldAs::not_held;
  std::uint8_t tier = 0;
  std::int16_t priority = 0;
  std::uint16_t share = 1000;
  std::uint16_t gpus = 1;
  std::uint32_t vram = 0;
  TenantId tenant;
  QueueId queue;
  std::uint32_t tokens = 0;
  Duration expected_run;
  Time submitted;
  std::optional<Time> eligible;  // none: as submitted
  std::optional<Time> expires;   // none: never
  std::optional<RetryRecord> retry;
  std::optional<LinksRecord> links;
  std::optional<RestartRecord> restart;
  std::optional<core::Shape> shape;  // of placed work
  bool command = false;
  bool started = false;
};
BERTH_GROWN(TaskRecord, 2,
            (no, state, held, tier, priority, share, gpus, vram, tenant, queue, tokens,
             expected_run, submitted, eligible, expires, retry, links, restart, shape),
            command, started);

enum class AttemptIs : std::uint8_t { over, live, stopping };
constexpr bool is_known(EnumCheck, AttemptIs x) { return x <= AttemptIs::stopping; }

struct LeaseTaskRecord {
  TaskNo task;
  TenantId tenant;
  AttemptIs attempt = AttemptIs::live;
  std::int64_t part = 1;
  std::int64_t charged_us = 0;
  Milli use;
  std::int64_t v_rate = 0;
};
BERTH_FIELDS(LeaseTaskRecord, task, tenant, attempt, part, charged_us, use, v_rate);

struct LeaseRecord {
  LeaseId id;
  QueueId queue;
  ModelId model;
  Milli share;
  Mib vram;
  std::vector<GpuId> gpus;
  NodeId node;
  std::uint16_t asked = 0;
  Milli cpu;
  Mib memory;
  std::optional<core::MigInstance> instance;
  std::vector<LeaseTaskRecord> tasks;
  bool running = false;
  bool preempted = false;
  Time started;
  Duration expected;
  Duration charged;
  std::int64_t rate = 0;
  std::int64_t load_us = 0;
  std::int64_t parts = 0;
};
BERTH_FIELDS(LeaseRecord, id, queue, model, share, vram, gpus, node, asked, cpu, memory, instance,
             tasks, running, preempted, started, expected, charged, rate, load_us, parts);

// A waiting task about which something is still to be decided.
struct RipeRecord {
  TaskNo task;
  core::Reason reason;
};
BERTH_FIELDS(RipeRecord, task, reason);

// ---- Sections -----------------------------------------------------------------------------------

// Goes up when a record or a section changes; see format_of_snapshot.
inline constexpr std::uint32_t kStateVersion = kFormat + 1;

enum class StateSection : std::uint32_t {
  engine = 1,
  tenants,
  models,
  packing,
  nodes,
  gpus,
  queues,
  ends,     // next task number, oldest one remembered, then runs: see below
  signals,  // the resolved ones, ascending
  tasks,
  ripe,
  leases,
};

// How a number ended, in runs from the oldest remembered number to the newest one given. A run is
// one byte, (length - 1) << 3 | end, for lengths up to 31; longer ones have 31 << 3 | end and the
// length as u32. A run is as long as it can be.
enum class NumberEnd : std::uint8_t { not_remembered, completed, failed, cancelled, expired };
inline constexpr std::uint8_t kNumberEnds = 5;
inline constexpr std::uint8_t kLongRun = 31;

static_assert(static_cast<int>(core::TaskState::expired) -
                      static_cast<int>(core::TaskState::completed) ==
                  static_cast<int>(NumberEnd::expired) - static_cast<int>(NumberEnd::completed),
              "the ends of a number follow the terminal states");

}  // namespace berth::journal
