// Actions: all that the core can decide. A closed variant of plain values.
//
// The journal records them beside their events; recovery applies them without deciding again. The
// running hash is taken over their canonical encoding. The price travels with the batch, so the
// actions are also the ledger: every amount that was charged or given back follows from them
// (model/price.h).
//
// What concerns one GPU is an ordered stream: its agent carries it out in the order of the actions.
// A LoadModel or BatchStarted behind an EvictModel begins when the evicted VRAM is back, so the
// core counts that VRAM as free from the eviction on and never promises more than there is. An
// agent that cannot give it back reports what comes behind as failed, or the GPU as lost.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "base/units.h"
#include "core/model/mig.h"
#include "core/model/reason.h"
#include "core/model/specs.h"
#include "core/model/task_states.h"

namespace berth::core {

// The actions that follow were decided at this instant, by a timer, not by the event's own `now`.
struct Instant {
  Time at;
  bool operator==(const Instant&) const = default;
};

struct TaskAccepted {
  TaskNo task;
  bool operator==(const TaskAccepted&) const = default;
};
// A submit, or a request about a task, is answered with no. Nothing has changed.
struct TaskRefused {
  TaskNo task;
  Reason reason;
  bool operator==(const TaskRefused&) const = default;
};
// waiting -> pending. Emitted for tasks that had to wait, not for those accepted as pending.
struct TaskReady {
  TaskNo task;
  bool operator==(const TaskReady&) const = default;
};
// Back to waiting: held by request, poisoned, or retried at `eligible_at`.
struct TaskDeferred {
  TaskNo task;
  // task_held, poison_held, waits_for_time, gpu_lost, preempted or not_started
  Reason reason;
  Time eligible_at;                  // never: until released
  Failure failure = Failure::error;  // meaningful after a failure
  bool operator==(const TaskDeferred&) const = default;
};
// A task that has not started is another from now on, as it was asked for.
struct TaskChanged {
  TaskNo task;
  QueueId queue;
  std::int16_t priority = 0;
  Mib vram;  // on each GPU, as resolved
  Time expires;
  bool operator==(const TaskChanged&) const = default;
};
struct TaskFinished {
  TaskNo task;
  TaskState state = TaskState::completed;  // terminal
  Reason reason;                           // none when completed
  bool operator==(const TaskFinished&) const = default;
};

struct StartedTask {
  TaskNo task;
  std::uint32_t attempt = 1;   // counts every start, also those that spend no attempt
  std::int64_t charge_us = 0;  // normalised GPU-microseconds charged to its tenant at the start
  std::uint32_t part = 1;      // of what the batch is charged, beside the other tasks' parts
  bool operator==(const StartedTask&) const = default;
};
// The promise that these tasks run together on these GPUs now.
struct BatchStarted {
  LeaseId lease;
  QueueId queue;
  ModelId model;
  Milli share;        // of each GPU
  Mib vram;           // on each GPU, beside the weights
  Duration expected;  // of the whole batch on these GPUs
  std::vector<GpuId> gpus;
  NodeId node;  // where it runs when it has no GPU; else none
  Milli cpu;    // of the whole batch, and of its nodes each its part; see shape.h
  Mib memory;
  std::int64_t rate = 1;                // charged GPU-microseconds per 1000 of run time
  std::int64_t load_us = 0;             // for the load of its model, which it pays as the first
  std::optional<MigInstance> instance;  // that it has of its one GPU; the agent cuts it first
  std::vector<StartedTask> tasks;
  bool operator==(const BatchStarted&) const = default;
};
// The agent shall end one task of a lease (it was cancelled). The lease still reports its end.
struct StopTask {
  LeaseId lease;
  TaskNo task;
  bool operator==(const StopTask&) const = default;
};
// A long or late lease is charged its next quantum.
struct LeaseCharged {
  LeaseId lease;
  Duration quantum;
  bool operator==(const LeaseCharged&) const = default;
};
// A GPU of the lease is gone, and with it the slice.
struct SliceLost {
  LeaseId lease;
  GpuId gpu;
  bool operator==(const SliceLost&) const = default;
};
// The lease's slices are free again; what was charged is set right (ran is 0 for infrastructure).
struct LeaseClosed {
  LeaseId lease;
  Duration ran;
  bool operator==(const LeaseClosed&) const = default;
};

// Loads are numbered consecutively; reports about this one carry its number.
struct LoadModel {
  GpuId gpu;
  ModelId model;
  Duration expected;
  LoadId load;
  bool operator==(const LoadModel&) const = default;
};
struct EvictModel {
  GpuId gpu;
  ModelId model;
  LoadId load;  // that brought it there; none: it was there when the agent came
  bool operator==(const EvictModel&) const = default;
};
// Kept free for an overdue queue until its head starts; or kept from batches for a placed task that
// has a reservation and whose turn is near.
struct HoldGpu {
  GpuId gpu;
  QueueId queue;
  TaskNo task;  // none: for the queue
  bool operator==(const HoldGpu&) const = default;
};
struct ReleaseHold {
  GpuId gpu;
  QueueId queue;
  TaskNo task;
  bool operator==(const ReleaseHold&) const = default;
};
// A task claims these GPUs: the work on them is stopped (StopTask, TaskDeferred follow), and nobody
// else gets them until it has started there.
struct Preempt {
  TaskNo task;
  std::vector<GpuId> gpus;  // by rank
  bool operator==(const Preempt&) const = default;
};
// A cold queue was due by the order but waits; overdue from `due`.
struct QueuePassedOver {
  QueueId queue;
  Time due;
  Reason reason;
  bool operator==(const QueuePassedOver&) const = default;
};

using Action =
    std::variant<Instant, TaskAccepted, TaskRefused, TaskReady, TaskDeferred, TaskFinished,
                 BatchStarted, StopTask, LeaseCharged, SliceLost, LeaseClosed, LoadModel,
                 EvictModel, HoldGpu, ReleaseHold, QueuePassedOver, Preempt, TaskChanged>;

using Actions = std::vector<Action>;

}  // namespace berth::core
