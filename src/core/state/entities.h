// Tenants, queues, models, GPUs and leases as the core keeps them: the spec, counters that follow
// from the tables, what was learned, and where the thing stands in the indexes.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/indexed_heap.h"
#include "base/ordered_set.h"
#include "base/time.h"
#include "base/units.h"
#include "core/mig/profiles.h"
#include "core/model/mig.h"
#include "core/model/price.h"
#include "core/model/reason.h"
#include "core/model/specs.h"
#include "core/state/fit_index.h"
#include "core/state/learned.h"
#include "core/state/order_key.h"

namespace berth::core {

inline constexpr std::size_t kUsageBuckets = 30;

// GPU-time of the last usage_window, in 30 buckets; only `cost_aware` reads it.
struct UsageWindow {
  std::array<std::int64_t, kUsageBuckets> bucket_us{};
  std::int64_t sum_us = 0;
  std::int64_t epoch = 0;  // number of the newest bucket: now / bucket width
  bool operator==(const UsageWindow&) const = default;
};

// What every batch touches stands first.
struct Tenant {
  // Fairness. V: charged GPU-microseconds over weight; it never falls.
  std::int64_t v_us = 0;
  std::int64_t credit_us = 0;  // refunds, set against the next charges, in V's unit
  LedgerLine ledger;
  Milli in_use;              // by its own tasks
  Milli subtree_use;         // by these and those of all below it
  std::uint32_t queued = 0;  // live tasks that have not started
  std::uint32_t live = 0;
  std::uint32_t pending = 0;
  std::array<std::uint32_t, kTiers> competing{};  // by tier: flows that compete in their queues
  std::uint32_t first_led = UINT32_MAX;           // list of queues whose best flow is this tenant's
  bool paused = false;
  // The tree. A member is a child, or the tenant's own tasks; one is active that competes for
  // something or uses something. Not kept for tenants with neither parent nor children.
  bool in_tree = false;
  bool works = false;        // its own tasks are active
  std::int64_t members = 0;  // weights of its active members; 0: the tenant is not active
  TenantSpec spec;
  // Admission.
  std::int64_t token_nano = 0;  // level of the bucket, in 1e-9 tokens
  Time token_at{0};             // when the level was true
  std::int64_t tokens_today = 0;
  std::vector<std::uint32_t> flows;
  std::vector<TenantId> children;  // ascending
  // With a limit or a guarantee: use of the head << 32 | flow, of its flows and all below it.
  OrderedSet heads_by_use;
  UsageWindow usage;
};

// Where a ready queue waits for service.
enum class Bench : std::uint8_t {
  none,   // not ready, or nothing can be done for it now
  hot,    // its model is resident where the head fits
  shape,  // needs no model: in the index of its head's shape
  cold,   // needs a load
};

// The shape of work without a model: queues whose heads have one shape differ only in VRAM.
struct HeadShape {
  std::uint16_t share = 1000;
  auto operator<=>(const HeadShape&) const = default;
};

struct Oldest {
  std::int64_t eligible_ns = 0;
  std::uint32_t flow = 0;
  auto operator<=>(const Oldest&) const = default;
};

// Leases that run, summed up.
struct RunningSum {
  std::uint32_t leases = 0;
  std::uint64_t ends_us = 0;  // sum of their expected ends, modulo 2^64
  bool operator==(const RunningSum&) const = default;
};

struct Queue {
  QueueSpec spec;
  ModelId next_model;  // given while gangs were live; it is the queue's when they have ended
  bool paused = false;
  bool draining = false;
  std::uint32_t gangs = 0;   // live tasks that need several GPUs, or are placed
  std::uint32_t queued = 0;  // live tasks that have not started
  std::uint32_t pending = 0;
  // Of these, the tasks of flows that compete: their tenant is not paused nor at its maximum. What
  // counts for filling batches and for keeping models. The part that is apart does not share a
  // batch with everybody: it is of isolated tenants, or commands.
  std::uint32_t startable = 0;
  std::uint32_t startable_apart = 0;
  std::int64_t pending_work_us = 0;  // expected run times of what is pending
  Milli in_use;
  RunningSum running;
  Time flushed_at{INT64_MIN};  // what was pending then starts without waiting
  std::int64_t turn = 0;       // round_robin: when it last joined the rotation
  // Learned.
  BatchTimeSketch batch_time;
  ArrivalSketch arrivals;
  Duration wait{0};                              // the batch wait in force
  Duration tightest_wait = Duration::forever();  // tolerated, since it was last empty
  // Patience.
  Time due = Time::never();  // set when first passed over; overdue from then on
  bool overdue = false;
  std::uint32_t declined_at = 0;  // startable tasks when its load was last found not worth it
  Reason declined;                // why
  std::vector<GpuId> holds;
  // Copies. Set when every copy of its model is first found busy: a load's time later another copy
  // is considered. See consider_copy.
  Time copy_at = Time::never();
  bool wants_copy = false;  // it was considered and pays
  // Counters for people.
  std::uint64_t batches = 0;
  // Index. The flow heaps hold lower bounds below the top; the top is exact.
  std::vector<std::uint32_t> members;  // its flows; of placed work those with tasks
  std::uint32_t placed_flows = 0;      // of these, those of placed work
  IndexedHeap<OrderKey> flows;
  IndexedHeap<Oldest> oldest;
  std::uint32_t leader_flow = UINT32_MAX;  // best flow; none: nothing may start
  std::uint32_t leader_slot = UINT32_MAX;  // its head task
  std::uint32_t led_prev = UINT32_MAX;     // list of its leader's tenant
  std::uint32_t led_next = UINT32_MAX;
  bool ready = false;
  // Ready, but no GPU that holds its model takes anything now: nothing about its flows matters
  // until one does, so charges pass it by and leader and key may be stale (the key a lower bound).
  // Never where the leader decides on readiness.
  bool blocked = false;
  std::uint32_t wake_at = 0;  // from this many startable on, something else can be done for it
  OrderKey key;               // exact while ready and not blocked
  Bench bench = Bench::none;
  HeadShape bench_shape;  // with bench shape or cold: which index, and where
  std::int64_t bench_need = 0;
};

struct Model {
  ModelSpec spec;
  std::vector<QueueId> queues;  // ascending
  FitIndex fit;                 // GPUs that hold it and may take a batch now
  std::vector<GpuId> gpus;      // where it is resident or loading, ascending
  std::uint32_t resident = 0;
  std::uint32_t resident_open = 0;  // the part on GPUs that accept work and are held for nobody
  std::uint32_t loading = 0;
  std::uint32_t backlog = 0;                // startable tasks of its queues
  std::map<KindId, MeanSketch> load_times;  // learned by GPU kind
  std::uint32_t failing_gpus = 0;           // where its last load failed
  std::uint64_t loads = 0;
  std::uint64_t evictions = 0;
  Duration resident_time{0};   // of ended residences
  Duration computing_time{0};  // of ended leases
};

// A model on a GPU.
struct Residence {
  ModelId model;
  LoadId load;  // that brought it there; none: it was there when the agent came
  Mib weights;  // as they were when it was loaded
  bool loading = false;
  bool used = false;         // has served a batch since it was loaded
  std::uint32_t leases = 0;  // batches that use it now
  Time since{0};             // loading or resident since
  Time idle_since{0};
  Duration owed{0};  // load time that its first batch will pay for
};

// GPUs of one kind, cut alike, are looked at together when an instance is to be placed.
struct MigKind {
  KindId kind;
  mig::Geometry geometry = mig::Geometry::none;
  auto operator<=>(const MigKind&) const = default;
};

struct MigEntry {
  MigKind kind;
  mig::State slices;
  bool operator==(const MigEntry&) const = default;
};

// A model that failed to load on a GPU, until it loads there or the GPU is lost.
struct LoadPause {
  ModelId model;
  std::uint32_t failures = 0;  // in a row
  Time until{0};               // not tried here before
};

struct Gpu {
  GpuSpec spec;
  Mib usable;
  bool up = true;
  bool draining = false;
  bool adopts = true;  // models found on it are taken over: nothing has left it since it came
  Mib leased;          // by batches, beside weights
  Mib weights;         // resident or loading
  Mib weights_busy;    // the part that is loading or used by a batch
  Milli shares;
  Milli reported;
  QueueId held_for;
  TaskNo kept_for;                    // from batches, for placed work that is about to start
  std::vector<std::uint32_t> leases;  // slots
  // What instances have taken, and how it is cut for them. All that runs there is of one geometry.
  mig::State slices;
  mig::Geometry cut = mig::Geometry::none;
  std::vector<Residence> residences;  // by model, ascending
  std::vector<LoadPause> pauses;      // by model, ascending
  // Index: how it stands in the fit indexes; not startable: in none.
  bool indexed = false;
  FitIndex::Entry free_entry;
  FitIndex::Entry reclaim_entry;
  std::optional<MigEntry> mig_entry;  // how it stands among those that take instances
};

// What the GPUs of one box share.
struct Node {
  NodeSpec spec;
  bool up = true;           // false: lost as a whole
  std::vector<GpuId> gpus;  // ascending
  Milli cpu_used;
  Mib memory_used;
  Milli cpu_claimed;  // by tasks that wait for their GPUs here
  Mib memory_claimed;
  std::vector<std::uint32_t> leases;  // slots of those that run here without a GPU
  bool dirty = false;                 // its cells are to be looked at again
};

struct LeaseTask {
  TaskNo task;
  std::uint32_t slot = UINT32_MAX;
  TenantId tenant;
  bool live = true;       // false: ended before its lease, or put back
  bool stopping = false;  // its agent is told to stop it; it may be there until the lease ends
  std::int64_t part = 1;  // its part of what the batch is charged
  std::int64_t charged_us = 0;
  Milli use;                // its part of the batch's share
  std::int64_t v_rate = 0;  // of the last charge: what a second adds to V; 0: as the weight says
};

struct Lease {
  LeaseId id;
  QueueId queue;
  ModelId model;
  Milli share;
  Mib vram;
  std::vector<GpuId> gpus;
  NodeId node;              // where it runs without a GPU; else none
  std::uint16_t asked = 0;  // GPUs it started with; some may have been lost since
  // Of the whole lease; each node gives its part (node_part).
  Milli cpu;
  Mib memory;
  std::optional<MigInstance> instance;  // a part of its one GPU; then its VRAM is the profile's
  std::vector<LeaseTask> tasks;
  std::uint32_t live = 0;
  bool running = false;
  bool preempted = false;  // its tasks have gone back; it ends when its agent says so
  Time started{0};
  Duration expected{0};
  Duration charged{0};       // run time paid for so far
  std::int64_t rate = 0;     // charged GPU-microseconds per 1000 microseconds of run time
  std::int64_t load_us = 0;  // the load it paid for, in charged GPU-microseconds
  std::int64_t parts = 0;    // sum over tasks
};

}  // namespace berth::core
