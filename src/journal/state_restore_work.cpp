// Restoring, part two: numbers, signals, tasks and leases, with the sums they add up to.
#include <algorithm>
#include <limits>

#include "core/mig/placement.h"
#include "journal/state_restorer.h"

namespace berth::journal {
namespace {

// A shape as a task's spec would have to be for the engine to take it.
bool is_sane(const core::Shape& shape) {
  core::TaskSpec spec;
  spec.gpus = shape.gpus;
  spec.groups = shape.groups;
  spec.within = shape.within;
  spec.required = shape.required;
  spec.profile = shape.profile;
  spec.share = Milli{shape.share};
  spec.vram = Mib{shape.vram};
  spec.cpu = shape.cpu;
  spec.memory = shape.memory;
  spec.kinds = shape.kinds;
  return core::flaw_in(spec) == nullptr;
}

// Of a MIG profile the task counts with its part of a GPU.
bool is_shape_of(const TaskRecord& record) {
  const core::Shape& shape = *record.shape;
  if (!is_sane(shape) || shape.gpus != record.gpus || shape.vram != record.vram) return false;
  const bool has_profile = shape.profile != core::mig::kNoProfile;
  return record.share == (has_profile ? core::mig::use_of(shape.profile).value : shape.share);
}

bool is_time(Duration duration) { return duration.ns >= 0 && duration <= core::kDurationMax; }

bool is_restart(const RestartRecord& record) {
  return is_time(record.checkpoint_interval) && is_time(record.cost) && record != RestartRecord{};
}

// All that runs on a GPU is of one geometry.
bool is_cut_alike(const core::Lease& lease, const core::Gpu& gpu) {
  const core::mig::Geometry cut =
      lease.instance ? lease.instance->geometry : core::mig::Geometry::none;
  return gpu.cut == cut;
}

bool could_take(const core::MigInstance& instance, const core::Gpu& gpu) {
  return instance.geometry != core::mig::Geometry::none &&
         core::mig::legal(instance.geometry, gpu.slices, instance.profile, instance.start);
}

using core::ReasonCode;
using core::State;
using core::TaskRow;
using core::TaskState;

// Bounds on what a few bytes may make us allocate; far above what an engine reaches.
constexpr std::uint64_t kNumbersMax = std::uint64_t{1} << 37;
constexpr std::uint64_t kEndedMax = std::uint64_t{1} << 28;
constexpr std::int64_t kVramMax = core::kMibMax;

bool is_started(TaskState state) {
  return state == TaskState::starting || state == TaskState::running;
}

ReasonCode reason_of(HeldAs held) {
  if (held == HeldAs::not_held) return ReasonCode::none;
  return held == HeldAs::by_request ? ReasonCode::task_held : ReasonCode::poison_held;
}

}  // namespace

// ---- Numbers ------------------------------------------------------------------------------------

bool Restorer::read_ends() {
  begin(StateSection::ends, "ends");
  const std::uint64_t end_of_all = in_.u64();
  const std::uint64_t oldest = in_.u64();
  if (!in_.ok()) return end();
  require(oldest < end_of_all || end_of_all == 0, "the oldest number before the next one");
  require(end_of_all - oldest <= kNumbersMax && end_of_all < TaskNo::kNoneValue,
          "numbers in range");
  if (!in_.ok()) return end();
  state_->tasks.restore_numbering(TaskNo{end_of_all}, TaskNo{oldest});
  if (end_of_all > 0) {
    require(state_->tasks.oldest_remembered().value == oldest, "a first number of a page");
  } else {
    require(oldest == 0, "numbers from 0");
  }
  if (in_.ok()) read_runs(oldest, end_of_all);
  return end();
}

bool Restorer::read_runs(std::uint64_t next, std::uint64_t end) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
  std::uint8_t last = kNumberEnds;
  while (next < end && in_.ok()) {
    record_at_ = in_.offset();
    const std::uint8_t byte = in_.u8();
    std::uint64_t length = (byte >> 3) + 1U;
    if (length > kLongRun) {
      length = in_.u32();
      require(length > kLongRun, "a long run");
    }
    const std::uint8_t how = byte & 7;
    require(how < kNumberEnds, "an end of a task");
    require(how != last, "a run as long as it can be");
    require(length <= end - next, "runs up to the next number");
    if (!in_.ok() || !take_run(static_cast<NumberEnd>(how), next, length)) return false;
    next += length;
    last = length == kMost ? kNumberEnds : how;
  }
  return in_.ok();
}

bool Restorer::take_run(NumberEnd end, std::uint64_t first, std::uint64_t length) {
  if (end == NumberEnd::not_remembered) return true;
  ended_ += length;
  require(ended_ <= kEndedMax, "fewer ended tasks");
  if (!in_.ok()) return false;
  const auto state =
      static_cast<TaskState>(static_cast<int>(TaskState::completed) + static_cast<int>(end) - 1);
  for (std::uint64_t i = 0; i < length; ++i) {
    state_->tasks.remember_ended(TaskNo{first + i}, state);
  }
  return true;
}

// ---- Signals ------------------------------------------------------------------------------------

bool Restorer::read_signals() {
  begin(StateSection::signals, "signals");
  while (in_.ok() && !in_.at_end()) {
    record_at_ = in_.offset();
    const SignalId id{in_.u64()};
    require(state_->signals.empty() || state_->signals.rbegin()->first < id, "ascending signals");
    if (in_.ok()) state_->signals.emplace_hint(state_->signals.end(), id, core::Signal{true, {}});
  }
  return end();
}

// ---- Tasks --------------------------------------------------------------------------------------

bool Restorer::read_tasks() {
  if (!read_list<TaskRecord>(StateSection::tasks, "tasks")) return false;
  begin(StateSection::tasks, "tasks");
  count_unresolved();
  take_cancelling();
  for (const core::Queue& queue : state_->queues) {
    require(queue.gangs > 0 ? !queue.spec.model : !queue.next_model, "gangs without a model");
  }
  return in_.ok() || end();
}

void Restorer::take(const TaskRecord& record) {
  State& state = *state_;
  const bool waits = record.state == TaskState::waiting;
  require(record.no.value >= last_task_ && record.no < state.tasks.next() &&
              record.no >= state.tasks.oldest_remembered(),
          "ascending numbers below the next one");
  require(waits || record.state == TaskState::pending || is_started(record.state), "a live task");
  require(waits || record.held == HeldAs::not_held, "a held task that waits");
  require(state.has(record.tenant) && state.has(record.queue), "a tenant and queue that exist");
  require(record.tier < 4 && (record.gpus >= 1 || record.shape) && record.share >= 1 &&
              record.share <= 1000 && record.vram <= kVramMax && is_time(record.expected_run),
          "a task in range");
  require(is_past(record.submitted), "a task submitted in the past");
  require(!record.eligible || (record.eligible->ns >= 0 && *record.eligible != record.submitted),
          "an instant for eligible");
  require(!record.expires || (record.expires->ns >= 0 && *record.expires != Time::never()),
          "an instant for expires");
  require(!record.retry || *record.retry != RetryRecord{}, "a retry rule that says something");
  require(!record.restart || is_restart(*record.restart), "a restart in range that says something");
  require(!record.shape || is_shape_of(record), "a shape in range");
  if (!in_.ok()) return;
  require(!state.tasks.ended(record.no), "a task that has not ended");
  if (!in_.ok()) return;
  last_task_ = record.no.value + 1;

  const std::uint32_t slot = state.tasks.create_restored(record.no);
  TaskRow& row = state.tasks.row(slot);
  row.submitted = record.submitted;
  row.eligible = record.eligible.value_or(record.submitted);
  row.expires = record.expires.value_or(Time::never());
  row.expected_run = record.expected_run;
  row.vram = record.vram;
  row.tenant = record.tenant;
  row.queue = record.queue;
  row.tokens = record.tokens;
  row.priority = record.priority;
  row.share = record.share;
  row.gpus = record.gpus;
  row.tier = record.tier;
  row.state = record.state;
  row.held = reason_of(record.held);
  row.command = record.command;
  row.started = record.started;
  const RetryRecord retry = record.retry.value_or(RetryRecord{});
  row.backoff = retry.backoff;
  row.max_attempts = retry.max_attempts;
  row.retry_on = retry.retry_on;
  row.attempts = retry.attempts;
  row.losses = retry.losses;
  row.like_failures = retry.like_failures;
  row.last_failure = retry.last_failure;
  // Version 3 did not say so: at least as many as are known of.
  row.starts = in_.format() < 3 ? std::uint32_t{retry.attempts} + retry.losses : retry.starts;
  require(row.starts >= row.attempts, "a start for each attempt");
  // Version 2 did not say so.
  if (in_.format() < 2) row.started = is_started(row.state) || row.attempts > 0 || row.losses > 0;
  if (record.links) take_links(slot, *record.links);
  if (record.restart) {
    core::TaskExtra& extra = state.tasks.extra_of(slot);
    extra.checkpoint_interval = record.restart->checkpoint_interval;
    extra.restart_cost = record.restart->cost;
  }
  if (record.shape) row.shape = state.shape_table.take(*record.shape);

  if (record.gpus > 1 || record.shape) ++state.queue(record.queue).gangs;
  core::Tenant& tenant = state.tenant(record.tenant);
  ++tenant.live;
  if (is_started(record.state)) {
    ++in_leases_;
  } else {
    count_queued(state, row, 1);
  }
}

void Restorer::take_links(std::uint32_t slot, const LinksRecord& record) {
  const bool depends = !record.depends_on.empty();
  require(record.group || depends, "a group or a dependency");
  require(depends || record.on_failure == core::OnDependencyFailure::fail,
          "a dependency whose failure matters");
  core::TaskExtra& extra = state_->tasks.extra_of(slot);
  require(record.at_once == 0 || record.group, "a group for a limit of tasks at once");
  require(
      !record.has_turn || (record.at_once > 0 && state_->tasks.row(slot).held == ReasonCode::none),
      "turns of tasks that are not held, in groups with a limit");
  extra.group = record.group;
  extra.at_once = record.at_once;
  extra.has_turn = record.has_turn;
  if (record.group) {
    Turns& turns = turns_.try_emplace(record.group, Turns{record.at_once}).first->second;
    require(turns.at_once == record.at_once, "one limit for all tasks of a group");
    if (record.has_turn) ++turns.taken;
    const bool in_line = !record.has_turn && state_->tasks.row(slot).held == ReasonCode::none;
    if (record.at_once > 0 && in_line) ++turns.in_line;
  }
  if (record.group) oldest_of_group_.try_emplace(record.group, state_->tasks.row(slot).no);
  extra.depends_on = record.depends_on;
  state_->tasks.row(slot).on_dependency_failure = record.on_failure;
}

// A dependency is open while its task lives or its signal is unresolved; so is the want of a turn.
void Restorer::count_unresolved() {
  State& state = *state_;
  for (const auto& [group, turns] : turns_) {
    require(turns.taken <= turns.at_once && (turns.in_line == 0 || turns.taken == turns.at_once),
            "as many turns as the group's limit lets its tasks have");
  }
  for (std::uint32_t slot = 0; slot < state.tasks.slots(); ++slot) {
    const core::TaskExtra* extra = state.tasks.find_extra(slot);
    if (extra == nullptr) continue;
    TaskRow& row = state.tasks.row(slot);
    if (extra->at_once > 0 && !extra->has_turn) ++row.unresolved;
    for (const core::Dependency& dependency : extra->depends_on) {
      const bool open = dependency.kind == core::Dependency::Kind::signal
                            ? !state.signals.contains(SignalId{dependency.id})
                            : state.tasks.slot_of(TaskNo{dependency.id}) != core::kNoSlot;
      if (open) ++row.unresolved;
    }
    require(row.unresolved == 0 || row.state == TaskState::waiting,
            "open dependencies of waiting tasks only");
  }
}

void Restorer::take_cancelling() {
  State& state = *state_;
  for (const CancelRecord& record : engine_.cancelling) {
    const auto oldest = oldest_of_group_.find(record.group);
    require(oldest != oldest_of_group_.end() && oldest->second < record.below &&
                record.below <= state.tasks.next(),
            "groups with tasks to cancel");
    require(state.cancelling.empty() || state.cancelling.rbegin()->first < record.group,
            "ascending groups");
    state.cancelling.emplace(record.group, record.below);
  }
}

bool Restorer::read_ripe() { return read_list<RipeRecord>(StateSection::ripe, "ripe"); }

void Restorer::take(const RipeRecord& record) {
  State& state = *state_;
  const std::uint32_t slot = state.tasks.slot_of(record.task);
  require(slot != core::kNoSlot, "a live task");
  require(state.ripe.empty() || state.ripe.rbegin()->first < record.task, "ascending tasks");
  if (!in_.ok()) return;
  const TaskRow& row = state.tasks.row(slot);
  const bool is_ready = row.unresolved == 0 && row.held == ReasonCode::none;
  require(row.state == TaskState::waiting && (record.reason || is_ready),
          "a waiting task that is ready or doomed");
  state.ripe.emplace_hint(state.ripe.end(), record.task, record.reason);
}

// ---- Leases -------------------------------------------------------------------------------------

bool Restorer::read_leases() {
  if (!read_list<LeaseRecord>(StateSection::leases, "leases")) return false;
  begin(StateSection::leases, "leases");
  require(in_leases_ == 0, "every started task in a lease");
  if (in_.ok()) take_claims();
  return in_.ok() || end();
}

void Restorer::take(const LeaseRecord& record) {
  State& state = *state_;
  require(record.id.value >= last_lease_ && record.id.value < state.next_lease,
          "ascending leases below the next one");
  require(state.has(record.queue), "a queue that exists");
  require(!record.model || state.has(record.model), "a model that exists");
  require(record.share.value >= 1 && record.share.value <= 1000 && record.vram.value >= 0 &&
              record.vram.value <= kVramMax,
          "a slice in range");
  require((record.gpus.empty() ? state.has(record.node) : !record.node) && !record.tasks.empty(),
          "GPUs, or a node, and tasks");
  require(record.gpus.size() <= record.asked, "as many GPUs as it asked for, or fewer");
  require(record.cpu.value >= 0 && record.cpu.value <= core::kCpuMax && record.memory.value >= 0 &&
              record.memory.value <= core::kMibMax,
          "CPUs and memory in range");
  require(is_past(record.started) && record.expected.ns >= 0 && record.charged.ns >= 0,
          "a start in the past");
  require(record.rate >= 1 && record.load_us >= 0 && record.parts >= 1, "a price in range");
  if (!in_.ok()) return;
  last_lease_ = record.id.value + 1;

  const auto slot = static_cast<std::uint32_t>(state.leases.size());
  core::Lease& lease = state.leases.emplace_back();
  lease.id = record.id;
  lease.queue = record.queue;
  lease.model = record.model;
  lease.share = record.share;
  lease.vram = record.vram;
  lease.gpus = record.gpus;
  lease.node = record.node;
  lease.asked = record.asked;
  lease.cpu = record.cpu;
  lease.memory = record.memory;
  lease.instance = record.instance;
  lease.running = record.running;
  lease.preempted = record.preempted;
  lease.started = record.started;
  lease.expected = record.expected;
  lease.charged = record.charged;
  lease.rate = record.rate;
  lease.load_us = record.load_us;
  lease.parts = record.parts;
  lease.tasks.reserve(record.tasks.size());
  for (const LeaseTaskRecord& task : record.tasks) {
    if (in_.ok()) take_lease_task(lease, slot, task);
  }
  for (const GpuId gpu : record.gpus) {
    if (in_.ok()) take_slice(lease, slot, gpu);
  }
  if (in_.ok()) take_nodes(lease, slot);
  state.queue(record.queue).in_use +=
      Milli{record.share.value * static_cast<std::int64_t>(record.gpus.size())};
  state.lease_index.insert(record.id.value, slot);
}

void Restorer::take_lease_task(core::Lease& lease, std::uint32_t lease_slot,
                               const LeaseTaskRecord& record) {
  State& state = *state_;
  require(state.has(record.tenant), "a tenant that exists");
  require(record.part >= 0 && record.part <= lease.parts && record.use.value >= 0 &&
              record.use.value <= kVramMax,
          "a part in range");
  require(record.v_rate >= 0, "a rate in range");
  if (!in_.ok()) return;
  core::LeaseTask task;
  task.task = record.task;
  task.tenant = record.tenant;
  task.live = record.attempt == AttemptIs::live;
  task.stopping = record.attempt == AttemptIs::stopping;
  task.part = record.part;
  task.charged_us = record.charged_us;
  task.use = record.use;
  task.v_rate = record.v_rate;
  if (task.stopping) {
    const std::uint32_t slot = state.tasks.slot_of(record.task);
    require(slot != core::kNoSlot && state.tasks.row(slot).state == TaskState::waiting &&
                state.tasks.row(slot).lease == core::kNoSlot,
            "a waiting task that one lease stops");
    if (!in_.ok()) return;
    state.tasks.row(slot).lease = lease_slot;
  }
  if (task.live) {
    const TaskState expected = lease.running ? TaskState::running : TaskState::starting;
    task.slot = state.tasks.slot_of(record.task);
    require(task.slot != core::kNoSlot, "tasks that live");
    if (!in_.ok()) return;
    TaskRow& row = state.tasks.row(task.slot);
    require(row.state == expected && row.tenant == record.tenant && row.lease == core::kNoSlot,
            "tasks that run in this lease alone");
    row.lease = lease_slot;
    ++lease.live;
    --in_leases_;
  }
  state.tenant(record.tenant).in_use += record.use;
  lease.tasks.push_back(task);
}

void Restorer::take_claims() {
  for (const auto& [task, ranks] : claims_) {
    const std::uint32_t slot = state_->tasks.slot_of(task);
    const bool is_placed = slot != core::kNoSlot && state_->tasks.row(slot).shape != core::kNoSlot;
    require(is_placed, "claims of placed tasks that live");
    if (!in_.ok()) return;
    const std::size_t count = ranks.size();
    const bool has_all = count == state_->tasks.row(slot).gpus && ranks.rbegin()->first == count &&
                         count == state_->kept.at(task).size();
    require(has_all, "claims of all GPUs that are kept for the task, one of each rank");
    if (!in_.ok()) return;
    std::vector<GpuId> gpus;
    for (const auto& [rank, gpu] : ranks)
      gpus.push_back(gpu);
    enter_claim(*state_, task, gpus);
    const TaskRow& row = state_->tasks.row(slot);
    const Milli use{std::int64_t{row.share} * row.gpus};
    state_->tenant(row.tenant).in_use += use;
    state_->queue(row.queue).in_use += use;
  }
}

void Restorer::take_nodes(const core::Lease& lease, std::uint32_t lease_slot) {
  core::use_nodes(*state_, lease, 1);
  if (!lease.node) return;
  require(state_->node(lease.node).up, "a node that is up");
  state_->node(lease.node).leases.push_back(lease_slot);
}

void Restorer::take_slice(const core::Lease& lease, std::uint32_t lease_slot, GpuId id) {
  State& state = *state_;
  require(state.has(id) && state.gpu(id).up, "GPUs that are up");
  if (!in_.ok()) return;
  core::Gpu& gpu = state.gpu(id);
  require(gpu.leases.empty() || gpu.leases.back() != lease_slot, "each GPU once");
  gpu.shares += lease.share;
  const bool is_alike = gpu.leases.empty() || is_cut_alike(lease, gpu);
  gpu.leases.push_back(lease_slot);
  if (lease.instance) {
    require(is_alike && lease.asked == 1 && !lease.model && could_take(*lease.instance, gpu),
            "an instance that may be cut there");
    if (in_.ok()) core::take_instance(state, id, *lease.instance);
    return;
  }
  require(is_alike, "no instance beside a batch");
  gpu.leased += lease.vram;
  if (!lease.model) return;
  core::Residence* residence = find_residence(gpu, lease.model);
  require(residence != nullptr && !residence->loading, "its model on its GPUs");
  if (!in_.ok()) return;
  if (residence->leases++ == 0) gpu.weights_busy += residence->weights;
}

}  // namespace berth::journal
