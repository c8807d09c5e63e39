// Writing: the state as records, section by section, each in the order of its numbers.
#include "journal/state_snapshot.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/assert.h"
#include "core/state/state.h"
#include "journal/state_records.h"

namespace berth::journal {
namespace {

using core::State;
using core::TaskRow;
using core::TaskState;

Writer& begin(SnapshotWriter& writer, StateSection section) {
  return writer.begin_section(static_cast<std::uint32_t>(section));
}

template <class Range, class ToRecord>
void write_list(Writer& out, const Range& things, ToRecord to_record) {
  out.u32(static_cast<std::uint32_t>(things.size()));
  for (const auto& thing : things) {
    encode(out, to_record(thing));
  }
}

// ---- The engine ---------------------------------------------------------------------------------

EngineRecord engine_record(const State& state) {
  ASSERT(state.early_waiters.empty());
  const bool preemption_stale = state.placed.preemption_stale || state.placed.arrivals_stale;
  EngineRecord record{
      .now = state.now,
      .policy = state.policy,
      .next_lease = state.next_lease,
      .next_load = state.next_load,
      .first_today = state.first_today,
      .v_last_pick = state.v_last_pick,
      .next_turn = state.next_turn,
      .last_served = state.last_served,
      .continue_at = state.continue_at,
      .cancelling = {},
      .fills_due = {},
      .tiers_due = {},
      .preemption_stale = preemption_stale,
      // Says nothing once something has changed, and whoever comes from a journal does not have it.
      .no_plan_before = preemption_stale ? Time{0} : state.placed.no_plan_before,
      .starts_held = state.starts_held};
  for (const auto& [group, below] : state.cancelling)
    record.cancelling.push_back({group, below});
  for (std::uint32_t i = 0; i < state.queues.size(); ++i) {
    if (state.timers.due_of(core::TimerKind::fill, i) <= state.now) {
      record.fills_due.push_back(QueueId{i});
    }
  }
  for (std::uint32_t i = 0; i < state.flows.size(); ++i) {
    if (state.timers.due_of(core::TimerKind::tier, i) > state.now) continue;
    const core::Flow& flow = state.flows.flow(i);
    FlowName name{flow.queue, flow.tenant, flow.tier, {}, flow.commands};
    if (flow.shape != core::kNoSlot) name.shape = state.shape_table.shape(flow.shape);
    record.tiers_due.push_back(name);
  }
  std::sort(record.tiers_due.begin(), record.tiers_due.end());
  return record;
}

// ---- Tenants, models, GPUs, queues --------------------------------------------------------------

TenantRecord tenant_record(const core::Tenant& tenant) {
  TenantRecord record{.spec = tenant.spec,
                      .paused = tenant.paused,
                      .v_us = tenant.v_us,
                      .credit_us = tenant.credit_us,
                      .ledger = tenant.ledger,
                      .token_nano = tenant.token_nano,
                      .token_at = tenant.token_at,
                      .tokens_today = tenant.tokens_today,
                      .usage = {}};
  if (tenant.usage != core::UsageWindow{}) {
    const auto& buckets = tenant.usage.bucket_us;
    record.usage = {tenant.usage.epoch, {buckets.begin(), buckets.end()}};
  }
  return record;
}

ModelRecord model_record(const core::Model& model) {
  ModelRecord record{.spec = model.spec,
                     .load_times = {},
                     .loads = model.loads,
                     .evictions = model.evictions,
                     .resident_time = model.resident_time,
                     .computing_time = model.computing_time};
  for (const auto& [kind, took] : model.load_times)
    record.load_times.push_back({kind, took});
  return record;
}

PackingRecord packing_record(const core::PackingKnowledge& known) {
  PackingRecord record{.mix = {},
                       .remembered = known.mix.remembered(),
                       .arrivals = known.arrivals,
                       .typical = known.typical,
                       .version = known.version,
                       .table = known.table};
  for (const auto& [shape, count] : known.mix.classes())
    record.mix.push_back({shape, count});
  return record;
}

std::uint16_t rank_in_claim(const State& state, GpuId gpu) {
  const auto claim = state.claims.find(state.gpu(gpu).kept_for);
  if (claim == state.claims.end()) return 0;
  const auto at = std::find(claim->second.begin(), claim->second.end(), gpu);
  return static_cast<std::uint16_t>(at - claim->second.begin() + 1);
}

GpuRecord gpu_record(const State& state, std::uint32_t id) {
  const core::Gpu& gpu = state.gpus[id];
  GpuRecord record{.spec = gpu.spec,
                   .up = gpu.up,
                   .draining = gpu.draining,
                   .adopts = gpu.adopts,
                   .reported = gpu.reported,
                   .residences = {},
                   .pauses = {},
                   .kept_for = gpu.kept_for,
                   .claimed_as = rank_in_claim(state, GpuId{id}),
                   .keep_alive = {}};
  for (const core::Residence& residence : gpu.residences) {
    record.residences.push_back({.model = residence.model,
                                 .load = residence.load,
                                 .weights = residence.weights,
                                 .loading = residence.loading,
                                 .used = residence.used,
                                 .since = residence.since,
                                 .idle_since = residence.idle_since,
                                 .owed = residence.owed});
  }
  for (const core::LoadPause& pause : gpu.pauses)
    record.pauses.push_back({pause.model, pause.failures, pause.until});
  const Time due = state.timers.due_of(core::TimerKind::keep_alive, id);
  if (due != Time::never()) record.keep_alive = due;
  return record;
}

QueueRecord queue_record(const core::Queue& queue) {
  QueueRecord record{.spec = queue.spec,
                     .next_model = {},
                     .paused = queue.paused,
                     .draining = queue.draining,
                     .flushed_at = queue.flushed_at,
                     .turn = queue.turn,
                     .batch_time = queue.batch_time,
                     .arrivals = queue.arrivals,
                     .wait = queue.wait,
                     .tightest_wait = queue.tightest_wait,
                     .patience = {},
                     .declined = {},
                     .holds = queue.holds,
                     .copy = {},
                     .batches = queue.batches};
  if (queue.next_model) record.next_model = queue.next_model;
  if (queue.due != Time::never()) record.patience = {queue.due, queue.overdue};
  if (queue.copy_at != Time::never()) record.copy = {queue.copy_at, queue.wants_copy};
  // The last reason is kept after it has ceased to bind; then nobody reads it.
  if (queue.declined_at > 0) record.declined = {queue.declined_at, queue.declined};
  return record;
}

// ---- Tasks --------------------------------------------------------------------------------------

class RunWriter {
 public:
  explicit RunWriter(Writer& out) : out_(out) {}

  void add(NumberEnd end, std::uint64_t count) {
    if (count == 0) return;
    if (end != end_) flush();
    end_ = end;
    length_ += count;
  }

  void flush() {
    constexpr std::uint64_t kMost = std::numeric_limits<std::uint32_t>::max();
    while (length_ > 0) {
      const std::uint64_t run = std::min(length_, kMost);
      const auto end = static_cast<std::uint8_t>(end_);
      if (run <= kLongRun) {
        out_.u8(static_cast<std::uint8_t>((run - 1) << 3 | end));
      } else {
        out_.u8(static_cast<std::uint8_t>(kLongRun << 3 | end));
        out_.u32(static_cast<std::uint32_t>(run));
      }
      length_ -= run;
    }
  }

 private:
  Writer& out_;
  NumberEnd end_ = NumberEnd::not_remembered;
  std::uint64_t length_ = 0;
};

// Writes how numbers ended; returns the slots of the live ones by ascending number.
std::vector<std::uint32_t> write_ends(Writer& out, const core::TaskTable& tasks) {
  std::vector<std::uint32_t> live;
  live.reserve(tasks.live());
  const std::uint64_t end = tasks.next().value;
  std::uint64_t next = end == 0 ? 0 : tasks.oldest_remembered().value;
  out.u64(end);
  out.u64(next);
  RunWriter runs(out);
  tasks.visit_numbers([&](TaskNo, std::uint32_t slot) { live.push_back(slot); },
                      [&](TaskNo no, TaskState state) {
                        runs.add(NumberEnd::not_remembered, no.value - next);
                        runs.add(static_cast<NumberEnd>(1 + static_cast<int>(state) -
                                                        static_cast<int>(TaskState::completed)),
                                 1);
                        next = no.value + 1;
                      });
  runs.add(NumberEnd::not_remembered, end - next);
  runs.flush();
  return live;
}

HeldAs held_as(core::ReasonCode held) {
  if (held == core::ReasonCode::none) return HeldAs::not_held;
  return held == core::ReasonCode::task_held ? HeldAs::by_request : HeldAs::as_poison;
}

// Fills the record anew. Optional parts keep their memory from task to task where they can.
void fill_record(TaskRecord& record, const State& state, std::uint32_t slot) {
  const core::TaskTable& tasks = state.tasks;
  const TaskRow& row = tasks.row(slot);
  record.no = row.no;
  record.state = row.state;
  record.held = held_as(row.held);
  record.tier = row.tier;
  record.priority = row.priority;
  record.share = row.share;
  record.gpus = row.gpus;
  record.vram = row.vram;
  record.tenant = row.tenant;
  record.queue = row.queue;
  record.tokens = row.tokens;
  record.command = row.command;
  record.started = row.started;
  record.expected_run = row.expected_run;
  record.submitted = row.submitted;
  record.eligible.reset();
  if (row.eligible != row.submitted) record.eligible = row.eligible;
  record.expires.reset();
  if (row.expires != Time::never()) record.expires = row.expires;
  const RetryRecord retry{row.backoff, row.max_attempts,  row.retry_on,     row.attempts,
                          row.losses,  row.like_failures, row.last_failure, row.starts};
  record.retry.reset();
  if (retry != RetryRecord{}) record.retry = retry;
  record.shape.reset();
  if (row.shape != core::kNoSlot) record.shape = state.shape_table.shape(row.shape);
  record.links.reset();
  record.restart.reset();
  const core::TaskExtra* extra = tasks.find_extra(slot);
  if (extra == nullptr) return;
  const RestartRecord restart{extra->checkpoint_interval, extra->restart_cost};
  if (restart != RestartRecord{}) record.restart = restart;
  if (!extra->group && extra->depends_on.empty()) return;
  record.links = {extra->group, core::OnDependencyFailure::fail, extra->depends_on, extra->at_once,
                  extra->has_turn};
  // What should follow a failure means nothing where there is no dependency.
  if (!extra->depends_on.empty()) record.links->on_failure = row.on_dependency_failure;
}

void write_tasks(Writer& out, const State& state, const std::vector<std::uint32_t>& live) {
  out.u32(static_cast<std::uint32_t>(live.size()));
  TaskRecord record;
  for (const std::uint32_t slot : live) {
    fill_record(record, state, slot);
    encode(out, record);
  }
}

// ---- Leases -------------------------------------------------------------------------------------

AttemptIs attempt_of(const State& state, const core::LeaseTask& task) {
  if (task.live) return AttemptIs::live;
  const bool waits = task.stopping && state.tasks.slot_of(task.task) != core::kNoSlot;
  return waits ? AttemptIs::stopping : AttemptIs::over;
}

LeaseRecord lease_record(const State& state, const core::Lease& lease) {
  LeaseRecord record{.id = lease.id,
                     .queue = lease.queue,
                     .model = lease.model,
                     .share = lease.share,
                     .vram = lease.vram,
                     .gpus = lease.gpus,
                     .node = lease.node,
                     .asked = lease.asked,
                     .cpu = lease.cpu,
                     .memory = lease.memory,
                     .instance = lease.instance,
                     .tasks = {},
                     .running = lease.running,
                     .preempted = lease.preempted,
                     .started = lease.started,
                     .expected = lease.expected,
                     .charged = lease.charged,
                     .rate = lease.rate,
                     .load_us = lease.load_us,
                     .parts = lease.parts};
  record.tasks.reserve(lease.tasks.size());
  for (const core::LeaseTask& task : lease.tasks) {
    record.tasks.push_back({.task = task.task,
                            .tenant = task.tenant,
                            .attempt = attempt_of(state, task),
                            .part = task.part,
                            .charged_us = task.charged_us,
                            .use = task.use,
                            .v_rate = task.v_rate});
  }
  return record;
}

std::vector<const core::Lease*> leases_by_id(const State& state) {
  std::vector<const core::Lease*> leases;
  for (const core::Lease& lease : state.leases) {
    if (lease.id) leases.push_back(&lease);
  }
  std::sort(leases.begin(), leases.end(),
            [](const core::Lease* a, const core::Lease* b) { return a->id < b->id; });
  return leases;
}

}  // namespace

std::vector<std::byte> encode_snapshot(const core::Engine& engine, SnapshotInfo info) {
  const State& state = engine.state();
  info.version = kStateVersion;
  info.behaviour = core::kBehaviour;
  SnapshotWriter writer(info);

  encode(begin(writer, StateSection::engine), engine_record(state));
  write_list(begin(writer, StateSection::tenants), state.tenants, tenant_record);
  write_list(begin(writer, StateSection::models), state.models, model_record);
  encode(begin(writer, StateSection::packing), packing_record(state.packing));
  write_list(begin(writer, StateSection::nodes), state.nodes,
             [](const core::Node& node) { return NodeRecord{.spec = node.spec, .up = node.up}; });
  Writer& gpus = begin(writer, StateSection::gpus);
  gpus.u32(static_cast<std::uint32_t>(state.gpus.size()));
  for (std::uint32_t i = 0; i < state.gpus.size(); ++i)
    encode(gpus, gpu_record(state, i));
  write_list(begin(writer, StateSection::queues), state.queues, queue_record);

  const auto live = write_ends(begin(writer, StateSection::ends), state.tasks);
  Writer& signals = begin(writer, StateSection::signals);
  for (const auto& [id, signal] : state.signals) {
    if (signal.resolved) signals.u64(id.value);
  }
  write_tasks(begin(writer, StateSection::tasks), state, live);
  write_list(begin(writer, StateSection::ripe), state.ripe, [](const auto& entry) {
    return RipeRecord{entry.first, entry.second};
  });
  write_list(begin(writer, StateSection::leases), leases_by_id(state),
             [&](const core::Lease* lease) { return lease_record(state, *lease); });

  const Writer bytes = writer.finish();
  return {bytes.view().begin(), bytes.view().end()};
}

std::string to_string(const SnapshotError& error) {
  std::string text = error.section;
  text += text.empty() ? "expected " : ": expected ";
  text += error.expected;
  return text + " at byte " + std::to_string(error.offset);
}

}  // namespace berth::journal
