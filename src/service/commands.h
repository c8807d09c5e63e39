// Commands: what the edge asks of the sequencer, as plain values with the way back.
//
// The edge has checked ranges and rights; names are resolved by the sequencer, in the order of the
// journal. `done` is called exactly once, after the sync of the group that decided it; never by the
// caller's thread (a full ring refuses the whole command). While the journal cannot be written,
// commands are answered without it, as no_room or in_doubt. It must not block and must not throw.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "config/block_values.h"
#include "core/model/explanation.h"
#include "core/model/reason.h"
#include "core/model/specs.h"
#include "core/packing/mix.h"
#include "service/notes.h"
#include "service/task_card.h"

namespace berth::service {

// A task as the edge understood it. Of `spec`, tenant, queue, group, kinds and dependencies are
// filled in by the sequencer from the names; of `card`, the numbers.
struct NewTask {
  CardPtr card;
  core::TaskSpec spec;
  std::string tenant;
  std::string queue;
  std::vector<std::string> depends_on;  // ids of tasks or arrays; "signal:NAME"
  std::vector<std::string> gpu_kinds;   // none: any
  bool has_command = false;             // a program that it would run
  bool in_array = false;                // its group is an array's
  std::string indices;                  // of that array
  bool says_share = false;              // else its queue may
  bool says_wait = false;               // how long it tolerates to wait; else its queue may
  std::optional<std::uint8_t> tier;     // absent: the tenant's
};

// Dependencies of the tasks of one submit, where an array counts as all its tasks.
inline constexpr std::size_t kDependenciesMax = 100'000;

struct SubmitOutcome {
  enum class Kind : std::uint8_t {
    accepted,
    duplicate,  // the same content was submitted before: `task` is that one
    conflict,   // the id or request id belongs to other content: `task` is that one
    refused,    // by the core: `reason`
    unknown_queue,
    removed_queue,            // it is in the configuration no more; `what` names it
    unknown_gpu_kind,         // `what` names it
    unknown_tenant,           // and it may not be made
    unknown_dependency,       // `what` names it
    tier_denied,              // the tenant may not use this tier; reason.need, .have
    queue_forbids_commands,   // `what` names it
    tenant_forbids_commands,  // likewise
    queue_needs_command,      // its executor runs nothing else; `what` names it
    too_many_tenants,
    no_room,                // on the data disk: not taken; reason.need, .have in MiB
    in_doubt,               // taken, and the journal cannot be written: only later one will know
    too_many_signals,       // the tenant has as many as it may; reason.need, .have
    run_limit_over_queue,   // longer than tasks of the queue may run; reason.need, .have
    group_in_use,           // an array's, by tasks of others; `what` names it
    too_many_dependencies,  // with all tasks of the arrays it names; reason.need, .have
  };
  Kind kind = Kind::accepted;
  TaskNo task;
  core::Reason reason;
  std::string what;
  std::size_t place = 0;       // of a workflow that was not taken: the task it is about, if one is
  bool by_request_id = false;  // a conflict: of the request id, not of the task id
};

struct SubmitCommand {
  std::vector<NewTask> tasks;
  bool workflow = false;  // all or nothing; they may depend on one another
  std::function<void(std::span<const SubmitOutcome>)> done;
};

// ---- Control
// -------------------------------------------------------------------------------------

struct CancelTasks {
  std::vector<TaskNo> tasks;
};
struct HoldTask {
  TaskNo task;
};
struct ReleaseTask {
  TaskNo task;
};
// A task that has not started becomes `to`, in part: queue, priority, what its card says, and what
// is said to change.
struct ChangeTask {
  TaskNo task;
  NewTask to;
  bool changes_vram = false;
  bool changes_wait = false;   // since it was submitted
  bool changes_limit = false;  // of its run
};
struct ResolveSignal {
  std::string tenant;
  std::string signal;
};
// The signal is not given any more: tasks that come wait for it again.
struct ResetSignal {
  std::string tenant;
  std::string signal;
};
// A read that needs the engine, as ExplainTask: signals behind this tenant and name, in that order.
struct ReadSignals {
  std::string tenant;  // "": of all
  std::optional<std::pair<TenantId, std::string>> after;
  std::size_t most = 0;
};
struct SetQueuePaused {
  std::string queue;
  bool paused = true;
};
struct SetQueueDraining {
  std::string queue;
  bool draining = true;
};
struct SetTenantPaused {
  std::string tenant;
  bool paused = true;
};
struct SetGpuDraining {
  std::string gpu;  // its name or UUID
  bool draining = true;
};
struct DefineTenant {
  std::string name;
  core::TenantSpec spec;  // its parent is not read:
  std::uint8_t tier = 0;
  std::string parent;    // "": none
  bool commands = true;  // its tasks may have some
};
struct DefineQueue {
  std::string name;
  std::string model;            // "": none
  core::QueueSpec spec;         // its model and class are not read
  std::string work_class = {};  // "": none
  std::string executor = {};    // "": simulated, but for tasks with a command
  bool ranks_by_node = false;
  bool commands = true;  // its tasks may have some
  config::TaskDefaults defaults = {};
};
struct DefineModel {
  std::string name;
  core::ModelSpec spec;
};
// What a tenant gets that is made on its first submit.
struct DefineTenantDefaults {
  core::TenantSpec spec;
  std::uint8_t tier = 0;
  std::size_t max_tenants = 10'000;
  bool make_unknown = true;  // false: submits of unknown tenants are refused
  bool commands = true;
};
// All that a configuration says of the above. What is known and stands neither here nor was put is
// removed.
struct Configure {
  core::PolicySpec policy;
  DefineTenantDefaults tenant_defaults;
  std::vector<DefineModel> models;
  std::vector<DefineQueue> queues;
  std::vector<DefineTenant> tenants;  // each behind its parent
  std::int64_t wall_unix_ns = 0;
};
// Keys of one block that hold against what the configuration says of it, until they are reverted.
struct PutSettings {
  Section section = Section::tenants;
  std::string name;
  std::vector<config::KeyValue> values;
  std::int64_t wall_unix_ns = 0;
};
// What was put is no more: of one block, or of all.
struct RevertSettings {
  std::optional<Section> section;  // none: all of all
  std::string name;
};
// A tenant, queue or model that nobody uses and the configuration does not have is no more.
struct DeleteBlock {
  Section section = Section::tenants;
  std::string name;
};
struct DefinePolicy {
  core::PolicySpec spec;
};
// What was learned about packing (core/packing/packing_table.h); empty: it does without. Its
// version is the next one. The table that is in use already is no change.
struct PutPackingTable {
  std::vector<std::uint8_t> bytes;
};
// Large specs of live tasks, to be written once more, so that the segments they stand in may go.
struct CarrySpecs {
  std::vector<std::pair<TaskNo, std::string>> specs;
};
// A read that needs the engine: answered with the group, so never ahead of what is durable.
struct ExplainTask {
  TaskNo task;
};
// The same, of what packing knows.
struct ReadPacking {};

using Control =
    std::variant<CancelTasks, HoldTask, ReleaseTask, ChangeTask, ResolveSignal, ResetSignal,
                 ReadSignals, SetQueuePaused, SetQueueDraining, SetTenantPaused, SetGpuDraining,
                 DefineTenant, DefineQueue, DefineModel, DefineTenantDefaults, DefinePolicy,
                 Configure, PutSettings, RevertSettings, DeleteBlock, PutPackingTable, CarrySpecs,
                 ExplainTask, ReadPacking>;

// What packing knows of the work that comes.
struct PackingKnown {
  core::TypicalMix mix;  // of all that is remembered
  std::uint64_t arrivals = 0;
  std::uint64_t version = 0;        // of the table
  std::vector<std::uint8_t> table;  // empty: none
};

struct SignalLine {
  TenantId tenant;
  std::string name;
  bool given = false;
  std::uint64_t waiters = 0;  // live tasks that wait for it
  Time since;                 // it was given, or its first waiter came; never: neither
};
// As far as `most` went; `more`: there are others behind them.
struct SignalPage {
  std::vector<SignalLine> signals;
  bool more = false;
};

struct ControlOutcome {
  enum class Kind : std::uint8_t {
    done,
    unknown_name,
    refused,
    bad_tree,
    too_many_classes,
    bad_setting,
    too_many_signals,  // reason.need, .have
    not_given,         // the signal to reset; `count` tasks wait for it
    no_room,           // on the data disk: not taken; reason.need, .have in MiB
    in_doubt,          // taken, and the journal cannot be written: only later one will know
    not_submittable,   // ChangeTask: `submit` says why the task could not be submitted so
    in_use,            // DeleteBlock: `count` of `unit` need it
    in_configuration,  // DeleteBlock: it would come back with the next reload
  };
  Kind kind = Kind::done;
  core::Reason reason;         // of a refusal by the core, or for want of room
  std::string noun;            // unknown_name, in_use, in_configuration: "queue"
  std::string name;            // and "lmm"
  std::string flaw;            // bad_tree: why the tenant cannot stand below its parent;
                               // too_many_classes: why the queue's work cannot be of that one;
                               // bad_setting: what is wrong with the block as it would be;
                               // in_use: a sentence with the numbers and what to do
  std::string unit;            // in_use: "tasks"
  std::uint64_t count = 0;     // tasks cancelled, tasks that waited for the signal, blocks reverted
  std::uint64_t stopping = 0;  // of those cancelled: they run, and end when their processes have
  bool created = false;        // Define…: it is new
  std::vector<std::string> told;     // Configure, RevertSettings: a sentence for each change
  std::vector<std::string> refused;  // and what was not done, and why
  SignalPage signals;                // ReadSignals
  SubmitOutcome submit;              // not_submittable
  std::optional<core::Explanation> explanation;
  std::optional<PackingKnown> packing;  // ReadPacking, PutPackingTable: as it is now
};

struct ControlCommand {
  Control what;
  std::function<void(const ControlOutcome&)> done;
};

}  // namespace berth::service
