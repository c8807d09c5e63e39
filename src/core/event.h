// Events: all that can happen to the core. A closed variant of plain values.
//
// The sequencer (live), the simulator or a journal supplies them in order, each with its `now`.
// Ids of tenants, queues, models and GPUs are dense: a Put of a new one uses the next number.
// Task numbers are given consecutively, refused submits included. Specs are in range (ranges.h).
//
// Reports name what they answer by its number (a lease's, a load's), so that late or duplicated
// ones are legal and change nothing. What agents must keep to is said in action.h.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "base/units.h"
#include "core/model/specs.h"

namespace berth::core {

// Configuration.
struct SetPolicy {
  PolicySpec spec;
  bool operator==(const SetPolicy&) const = default;
};
struct PutTenant {
  TenantId tenant;
  TenantSpec spec;
  bool operator==(const PutTenant&) const = default;
};
// A queue with a model runs on one GPU per batch. A model that is given to a queue with live gangs
// takes effect when the last of them has ended; until then new gangs are refused and the rest runs
// as before. Everything else takes effect at once.
struct PutQueue {
  QueueId queue;
  QueueSpec spec;
  bool operator==(const PutQueue&) const = default;
};
struct PutModel {
  ModelId model;
  ModelSpec spec;
  bool operator==(const PutModel&) const = default;
};
// A node that no GPU and no PutNode has named has no CPUs and no memory to give.
struct PutNode {
  NodeId node;
  NodeSpec spec;
  bool operator==(const PutNode&) const = default;
};
struct PutGpu {
  GpuId gpu;
  GpuSpec spec;
  bool operator==(const PutGpu&) const = default;
};
// What was learned outside, on a view, as bytes that were checked there (packing/packing_table.h).
enum class TableKind : std::uint8_t { packing };
struct PutTable {
  TableKind kind = TableKind::packing;
  std::uint64_t version = 0;        // the learner's own count; for people
  std::vector<std::uint8_t> bytes;  // empty: what was learned is forgotten
  bool operator==(const PutTable&) const = default;
};

// Work.
struct Submit {
  TaskNo task;
  TaskSpec spec;
  bool operator==(const Submit&) const = default;
};
// All or nothing: the tasks are numbered first, first + 1, … and may depend on one another.
struct SubmitWorkflow {
  TaskNo first;
  std::vector<TaskSpec> tasks;
  bool operator==(const SubmitWorkflow&) const = default;
};
struct Cancel {
  TaskNo task;
  bool operator==(const Cancel&) const = default;
};
// Cancels what is in the group now; what is submitted into it later is not meant. A bounded count
// per step, oldest first.
struct CancelGroup {
  GroupId group;
  bool operator==(const CancelGroup&) const = default;
};
struct Hold {
  TaskNo task;
  bool operator==(const Hold&) const = default;
};
struct Release {
  TaskNo task;
  bool operator==(const Release&) const = default;
};
// What a task that has not started shall be from now on. What is absent stays.
struct ChangeTask {
  TaskNo task;
  QueueId queue;
  std::int16_t priority = 0;
  std::optional<Mib> vram;                 // on each GPU; 0: the model's vram_per_task
  std::optional<Duration> tolerated_wait;  // since it was submitted
  bool operator==(const ChangeTask&) const = default;
};
struct ResolveSignal {
  SignalId signal;
  bool operator==(const ResolveSignal&) const = default;
};

// Administration.
struct PauseQueue {
  QueueId queue;
  bool paused = true;
  bool operator==(const PauseQueue&) const = default;
};
struct PauseTenant {
  TenantId tenant;
  bool paused = true;
  bool operator==(const PauseTenant&) const = default;
};
// What is queued now starts without waiting for fuller batches. None: every queue.
struct Flush {
  QueueId queue;
  bool operator==(const Flush&) const = default;
};
// draining: running batches end, no new ones start.
struct DrainGpu {
  GpuId gpu;
  bool draining = true;
  bool operator==(const DrainGpu&) const = default;
};
// draining: what is in the queue runs, without waiting for fuller batches; new submits are refused.
struct DrainQueue {
  QueueId queue;
  bool draining = true;
  bool operator==(const DrainQueue&) const = default;
};
struct DayBoundary {
  bool operator==(const DayBoundary&) const = default;
};
// While starts are held, time goes on and nothing starts, loads a model or is preempted: there was
// nobody to carry it out.
struct HoldStarts {
  bool held = true;
  bool operator==(const HoldStarts&) const = default;
};
struct Tick {
  bool operator==(const Tick&) const = default;
};

// Reports from agents.
struct LeaseStarted {
  LeaseId lease;
  bool operator==(const LeaseStarted&) const = default;
};
struct TaskOutcome {
  TaskNo task;
  bool completed = true;
  Failure failure = Failure::error;  // meaningful when not completed
  bool operator==(const TaskOutcome&) const = default;
};
// One task of a batch has ended while the others go on.
struct TaskEnded {
  LeaseId lease;
  TaskOutcome outcome;
  bool operator==(const TaskEnded&) const = default;
};
// The batch has ended and its slices are free. Tasks not named completed.
struct LeaseEnded {
  LeaseId lease;
  std::vector<TaskOutcome> outcomes;
  bool operator==(const LeaseEnded&) const = default;
};
// A lease that ended otherwise than just now: how long it ran is told beside it. Zero: nothing of
// it is charged, since it was lost or never began.
struct LeaseEndedAfter {
  LeaseEnded ended;
  Duration ran{0};
  bool operator==(const LeaseEndedAfter&) const = default;
};
struct ModelLoaded {
  GpuId gpu;
  ModelId model;
  bool ok = true;
  Duration took{0};
  // None: unasked. The model was there when the agent came; told before anything has left the GPU.
  LoadId load;
  bool operator==(const ModelLoaded&) const = default;
};
// The agent has given the model's VRAM back, asked or not. `load` is the one that brought it there.
struct ModelUnloaded {
  GpuId gpu;
  ModelId model;
  LoadId load;
  bool operator==(const ModelUnloaded&) const = default;
};
struct GpuLost {
  GpuId gpu;
  bool operator==(const GpuLost&) const = default;
};
struct NodeLost {
  NodeId node;
  bool operator==(const NodeLost&) const = default;
};
// Sent only after the fence of every lease it had has passed. Nothing is resident on it.
struct GpuReturned {
  GpuId gpu;
  bool operator==(const GpuReturned&) const = default;
};
struct NodeReturned {
  NodeId node;
  bool operator==(const NodeReturned&) const = default;
};
struct GpuUtilisation {
  GpuId gpu;
  Milli utilisation;
  bool operator==(const GpuUtilisation&) const = default;
};

using EventBody =
    std::variant<SetPolicy, PutTenant, PutQueue, PutModel, PutNode, PutGpu, PutTable, Submit,
                 SubmitWorkflow, Cancel, CancelGroup, Hold, Release, ResolveSignal, PauseQueue,
                 PauseTenant, Flush, DrainGpu, DrainQueue, DayBoundary, Tick, LeaseStarted,
                 TaskEnded, LeaseEnded, ModelLoaded, ModelUnloaded, GpuLost, NodeLost, GpuReturned,
                 NodeReturned, GpuUtilisation, LeaseEndedAfter, ChangeTask, HoldStarts>;

struct Event {
  Time now;
  EventBody body;
  bool operator==(const Event&) const = default;
};

}  // namespace berth::core
