// What the outside tells the core: tenants, queues, models, GPUs, policy, tasks. Plain values.
//
// Every limit may be absent (nullopt); the defaults here are those of a queue or tenant that was
// only named. Which values are in range is said in ranges.h; validation happens at the edge, with
// file and line, and the core asserts it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "base/units.h"
#include "core/model/mig.h"
#include "core/model/shape.h"

namespace berth::core {

inline constexpr std::size_t kTiers = 4;
inline constexpr std::size_t kTenantLevels = 8;  // of the tree of tenants, the top included

// What of a tenant's work may share with other tenants'. Each rule includes those before it.
enum class Isolation : std::uint8_t {
  none,
  batch,  // its tasks never share a batch
  slice,  // nor a GPU, but by MIG instances: its shares count as whole GPUs
  gpu,    // nor a GPU in MIG mode
};

struct TenantSpec {
  TenantId parent;                                // none: it stands at the top
  Milli weight{1000};                             // among its parent's members, 10..1'000'000
  std::optional<std::uint32_t> max_queue_size;    // live tasks that have not started
  std::optional<std::int64_t> token_bucket_size;  // whole tokens
  std::int64_t token_refill_rate = 100;           // tokens per second, >= 0
  std::optional<std::int64_t> daily_token_limit;
  // GPUs of the tenant and of all below it together.
  Milli guaranteed_gpus{0};
  std::optional<Milli> borrow_gpus;  // beyond the guarantee
  std::optional<Milli> max_gpus;
  Isolation isolation = Isolation::none;

  bool operator==(const TenantSpec&) const = default;
};

// Whether so much is more than the tenant and all below it may use at a time.
constexpr bool is_over_limit(const TenantSpec& spec, Milli use) {
  return (spec.max_gpus && use > *spec.max_gpus) ||
         (spec.borrow_gpus && use > spec.guaranteed_gpus + *spec.borrow_gpus);
}
// The most that the tenant and all below it may use at a time; none: no limit.
constexpr std::optional<Milli> limit_of(const TenantSpec& spec) {
  if (!spec.borrow_gpus) return spec.max_gpus;
  const Milli borrowing = spec.guaranteed_gpus + *spec.borrow_gpus;
  return spec.max_gpus && *spec.max_gpus < borrowing ? *spec.max_gpus : borrowing;
}

struct QueueSpec {
  ModelId model;  // none: its batches need no weights
  std::uint32_t max_batch_size = 1;
  Duration max_batch_wait{0};
  bool adaptive_wait = false;  // max_batch_wait is then an upper bound; see batch_wait.h
  bool refuse_late = false;    // refuse when the predicted start passes the tolerated wait
  WorkClassId work_class;      // its work runs at the GPUs' speed for this class; none: in general
  std::optional<Milli> max_gpus;
  Milli min_gpus{0};            // while it uses less, it goes before others of its tier
  Duration batch_base{0};       // a of a + b·n; both zero: the tasks' expected run time counts
  Duration batch_per_task{0};   // b
  bool batch_commands = false;  // its commands may share a batch; else each is one of its own
  std::optional<std::uint32_t> max_queue_size;  // live tasks that have not started
  std::optional<std::uint32_t> max_task_gpus;   // that one task may ask for

  bool operator==(const QueueSpec&) const = default;
};

struct ModelSpec {
  Mib weights{0};
  Mib vram_per_task{0};             // for tasks that give none
  Duration load_time = seconds(5);  // the prior; learned by GPU kind afterwards
  Duration keep_alive = minutes(5);

  bool operator==(const ModelSpec&) const = default;
};

struct NodeSpec {
  RackId rack{0};
  Milli cpu{0};  // thousandths of a core
  Mib memory{0};

  bool operator==(const NodeSpec&) const = default;
};

// Classes of work that can be told apart: those that queues name and those that GPUs do.
inline constexpr std::uint32_t kMaxWorkClasses = 16;

// How fast a GPU is at work of one class.
struct ClassSpeed {
  WorkClassId work_class;
  Milli speed{1000};

  bool operator==(const ClassSpeed&) const = default;
};

struct GpuSpec {
  NodeId node{0};
  KindId kind{0};
  Mib vram{0};
  // In general; 2000: batches take half as long. Also the rate at which use is charged: it is what
  // the GPU costs, whatever work it does and however fast it is at that.
  Milli speed{1000};
  IslandId island;  // none: NVLink joins it to no other
  std::uint8_t socket = 0;
  std::uint8_t pcie_switch = 0;  // numbered within the node
  // Cut into slices: it takes MIG instances and nothing else. A change takes effect when what runs
  // there has ended; until then it takes nothing new.
  mig::Geometry mig = mig::Geometry::none;
  std::vector<ClassSpeed> class_speeds;  // where it is not as in general; by class, ascending

  bool operator==(const GpuSpec&) const = default;
};

// How fast the GPU is at work of this class.
inline Milli speed_for(const GpuSpec& spec, WorkClassId work_class) {
  if (!work_class) return spec.speed;
  for (const ClassSpeed& its : spec.class_speeds)
    if (its.work_class == work_class) return its.speed;
  return spec.speed;
}

enum class Order : std::uint8_t { fair, fifo, round_robin, cost_aware, sticky, slowdown };
enum class Packing : std::uint8_t { best_fit, first_fit, spread, frag };

struct PolicySpec {
  Order order = Order::fair;
  Packing packing = Packing::best_fit;
  Milli gpu_load_threshold{850};         // a further batch joins a busy GPU up to this load
  Milli vram_usable{900};                // part of a GPU's VRAM that is ever promised
  Duration age_step = seconds(60);       // one point of priority is worth this much waiting
  Duration patience = seconds(30);       // passed over for this long: overdue
  Duration tier_patience = minutes(10);  // waited for this long: competes in tier 0
  std::uint32_t max_holds = 4;
  std::uint32_t starts_per_step = 64;
  std::uint32_t max_live_tasks = 1'000'000;
  Milli live_reserve{100};             // part of max_live_tasks kept for tenants below share
  Milli aging_factor{100};             // cost_aware: score per second waited, in thousandths
  Duration usage_window = minutes(5);  // cost_aware: 30 buckets
  std::uint32_t poison_after = 0;      // failures of one kind before a task is held; 0: never
  std::uint32_t max_infrastructure_losses = 10;
  // Placed work that must wait: how many of the first get a reservation. 0: none, 1: EASY backfill.
  std::uint32_t reservations = 4;
  std::uint32_t backfill_visits = 256;  // tasks that one plan looks at
  // Placed work of a lower rank is stopped for work of a higher one, once it has run this long.
  bool preemption = true;
  Duration protected_run = seconds(60);
  // Work longer than long_work may together hold at most long_share of the GPUs of a kind.
  Duration long_work = Duration::forever();
  Milli long_share{1000};

  bool operator==(const PolicySpec&) const = default;
};

enum class Failure : std::uint8_t {
  error,
  out_of_memory,
  timeout,
  crash,
  infrastructure,
  deadline,     // its deadline passed while it ran: it is useless, and has expired
  not_started,  // its agent says that it never began: no attempt, and no loss
};
inline constexpr std::size_t kFailureKinds = 7;
constexpr std::uint8_t mask_of(Failure f) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(f));
}
inline constexpr std::uint8_t kRetryOnAny = 0x0f;  // infrastructure loss never spends an attempt
// In a retry mask: a task that started and lost its GPU is not put back (start at most once).
inline constexpr std::uint8_t kLossEndsIt = 0x80;

struct RetryRule {
  std::uint8_t max_attempts = 1;
  std::uint8_t on = kRetryOnAny;  // mask of Failure, and kLossEndsIt
  Duration backoff{0};            // doubled after each attempt

  bool operator==(const RetryRule&) const = default;
};

struct Dependency {
  enum class Kind : std::uint8_t { task, signal };
  Kind kind = Kind::task;
  std::uint64_t id = 0;  // TaskNo or SignalId

  bool operator==(const Dependency&) const = default;
};

enum class OnDependencyFailure : std::uint8_t { fail, release };

struct TaskSpec {
  TenantId tenant;
  QueueId queue;
  std::uint8_t tier = 0;  // 0..3, 0 first
  std::int16_t priority = 0;
  // What it asks of the hardware; see shape.h.
  std::uint16_t gpus = 1;
  std::uint16_t groups = 1;
  Level within = Level::cluster;
  bool required = false;
  std::uint8_t profile = 0;
  Milli share{1000};  // of each GPU; 1000 = exclusive
  Mib vram{0};        // on each GPU; 0: the model's vram_per_task
  Milli cpu{0};
  Mib memory{0};
  KindMask kinds = 0;
  Duration expected_run{0};
  Duration tolerated_wait = Duration::forever();
  // What is lost when it is stopped: the run since the last whole interval, and the cost besides.
  Duration checkpoint_interval{0};  // 0: it keeps no checkpoints, all of the run is lost
  Duration restart_cost{0};         // loading, warming up
  Time not_before{0};
  std::uint32_t tokens = 1;
  RetryRule retry;
  GroupId group;
  bool held = false;
  OnDependencyFailure on_dependency_failure = OnDependencyFailure::fail;
  std::vector<Dependency> depends_on;
  bool command = false;       // it runs a program of its own; see QueueSpec::batch_commands
  std::uint32_t at_once = 0;  // of its group, so many have their turn at once; 0: no limit

  bool operator==(const TaskSpec&) const = default;
};

// What the task asks for, with its VRAM as the caller has resolved it.
constexpr Shape shape_of(const TaskSpec& spec, Mib vram) {
  return {.gpus = spec.gpus,
          .groups = spec.groups,
          .within = spec.within,
          .required = spec.required,
          .profile = spec.profile,
          .share = static_cast<std::uint16_t>(spec.share.value),
          .vram = static_cast<std::uint32_t>(vram.value),
          .cpu = spec.cpu,
          .memory = spec.memory,
          .kinds = spec.kinds};
}

}  // namespace berth::core
