// Restoring, part one: the engine, tenants, models, GPUs and queues; then what is derived.
#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "core/model/tenant_tree.h"
#include "core/packing/packing_table.h"
#include "core/policy/orders.h"
#include "journal/state_restorer.h"

namespace berth::journal {
namespace {

using core::State;

constexpr std::int64_t kMilliMax = std::int64_t{1} << 40;
constexpr std::int64_t kSketchMax = std::int64_t{1} << 53;

bool is_mib(Mib x) { return x.value >= 0 && x.value <= core::kMibMax; }

bool is_sane(const core::BatchTimeSketch& sketch) {
  const auto fits = [](std::int64_t x) { return x >= 0 && x <= kSketchMax; };
  return fits(sketch.count) && fits(sketch.sum_n) && sketch.sum_nn >= 0 && fits(sketch.sum_t) &&
         sketch.sum_nt >= 0 && fits(sketch.base.ns) && fits(sketch.per_task.ns);
}

// Whether the engine can reckon with a queue's batch times at all. Refuses only what it could not
// have computed itself.
bool estimates_fit(const core::Queue& queue) {
  constexpr Wide kMost = std::numeric_limits<std::int64_t>::max() / 2;
  const Wide size = queue.spec.max_batch_size;
  const Wide learned = queue.batch_time.base.ns + queue.batch_time.per_task.ns * size;
  return learned <= kMost;
}

}  // namespace

void Restorer::begin(StateSection section, const char* name) {
  error_.section = name;
  record_at_ = 0;
  const auto bytes = snapshot_.section(static_cast<std::uint32_t>(section));
  in_ = Reader(bytes.value_or(ByteView{}), format_of_snapshot(snapshot_.info().version));
  if (!bytes) in_.fail("the section");
}

bool Restorer::end() {
  if (in_.ok() && !in_.at_end()) in_.fail("the end of the section");
  if (in_.ok()) return true;
  error_.offset = in_.error().offset;
  error_.expected = in_.error().expected;
  return false;
}

std::unique_ptr<State> Restorer::restore() {
  const bool complete = read_engine() && read_tenants() && read_models() && read_packing() &&
                        read_nodes() && read_gpus() && read_queues() && check_engine() &&
                        read_ends() && read_signals() && read_tasks() && read_ripe() &&
                        read_leases();
  if (!complete) return nullptr;
  derive();
  // Records may each be in range and still contradict one another.
  if (!core::check_state(*state_).empty()) {
    error_ = {"state", 0, "records that agree"};
    return nullptr;
  }
  return std::move(state_);
}

bool Restorer::read_engine() {
  begin(StateSection::engine, "engine");
  next(engine_);
  State& state = *state_;
  state.now = engine_.now;
  state.policy = engine_.policy;
  state.rule = &core::rule_for(state.policy.order);
  state.next_lease = engine_.next_lease;
  state.next_load = engine_.next_load;
  state.first_today = engine_.first_today;
  state.v_last_pick = engine_.v_last_pick;
  state.next_turn = engine_.next_turn;
  state.last_served = engine_.last_served;
  state.continue_at = engine_.continue_at;
  state.starts_held = engine_.starts_held;
  if (!in_.ok()) return end();
  require(state.now.ns >= 0 && state.now != Time::never(), "an instant of the engine's axis");
  require_sane(state.policy);
  require(is_past(state.continue_at) || state.continue_at == Time::never(),
          "work left at an instant that has come");
  return end();
}

// What it says of queues and tenants, once those are known.
bool Restorer::check_engine() {
  const auto ascends = [](const auto& list) {
    return std::adjacent_find(list.begin(), list.end(),
                              [](const auto& a, const auto& b) { return !(a < b); }) == list.end();
  };
  begin(StateSection::engine, "engine");
  const auto& fills = engine_.fills_due;
  const auto& tiers = engine_.tiers_due;
  const Time again = engine_.no_plan_before;
  require(again == Time::never() || (again.ns >= 0 && again.ns < INT64_MAX / 2),
          "an instant of the engine's axis");
  require(!engine_.last_served || state_->has(engine_.last_served), "a queue that exists");
  require(ascends(fills) && (fills.empty() || state_->has(fills.back())), "queues that exist");
  require(ascends(tiers) && std::all_of(tiers.begin(), tiers.end(),
                                        [&](const FlowName& flow) {
                                          return state_->has(flow.queue) &&
                                                 state_->has(flow.tenant) && flow.tier < 4;
                                        }),
          "flows that exist");
  if (in_.ok()) return true;
  return end();
}

// ---- Tenants ------------------------------------------------------------------------------------

bool Restorer::read_tenants() {
  if (!read_list<TenantRecord>(StateSection::tenants, "tenants")) return false;
  std::vector<TenantId> parents;
  for (const core::Tenant& tenant : state_->tenants)
    parents.push_back(tenant.spec.parent);
  require(core::judge_tree(parents).flaw == core::TreeFlaw::none, "tenants that make a tree");
  return end();
}

void Restorer::take(TenantRecord& record) {
  require_sane(record.spec);
  require(record.token_nano <= core::kTokensMax * 1'000'000'000, "tokens in range");
  require(is_past(record.token_at), "a token level of the past");
  require(record.ledger.refunded_us >= 0 && record.ledger.charged_us >= record.ledger.refunded_us,
          "a ledger in range");
  core::Tenant& tenant = state_->tenants.emplace_back();
  tenant.spec = record.spec;
  tenant.paused = record.paused;
  tenant.v_us = record.v_us;
  tenant.credit_us = record.credit_us;
  tenant.ledger = record.ledger;
  tenant.token_nano = record.token_nano;
  tenant.token_at = record.token_at;
  tenant.tokens_today = record.tokens_today;
  if (record.usage) take_usage(tenant, *record.usage);
}

void Restorer::take_usage(core::Tenant& tenant, const UsageRecord& record) {
  core::UsageWindow& usage = tenant.usage;
  require(record.bucket_us.size() == usage.bucket_us.size(), "30 buckets of usage");
  if (!in_.ok()) return;
  std::copy(record.bucket_us.begin(), record.bucket_us.end(), usage.bucket_us.begin());
  usage.epoch = record.epoch;
  bool in_range = true;
  for (const std::int64_t bucket : usage.bucket_us) {
    in_range &= bucket >= 0 && !__builtin_add_overflow(usage.sum_us, bucket, &usage.sum_us);
  }
  std::int64_t rolls = 0;
  const std::int64_t width =
      std::max<std::int64_t>(1, state_->policy.usage_window.ns / std::int64_t{core::kUsageBuckets});
  in_range &= usage.epoch >= 0 && usage.epoch < std::numeric_limits<std::int64_t>::max() &&
              !__builtin_mul_overflow(usage.epoch + 1, width, &rolls);
  require(in_range && usage != core::UsageWindow{}, "a usage window in range");
}

// ---- Models -------------------------------------------------------------------------------------

bool Restorer::read_models() { return read_list<ModelRecord>(StateSection::models, "models"); }

void Restorer::take(ModelRecord& record) {
  require_sane(record.spec);
  core::Model& model = state_->models.emplace_back();
  model.spec = record.spec;
  for (const LoadTimeRecord& load : record.load_times) {
    require(load.took.mean_ns >= 0 && load.took.count >= 0, "load times in range");
    require(model.load_times.empty() || model.load_times.rbegin()->first < load.kind,
            "load times by kind, ascending");
    model.load_times.insert_or_assign(load.kind, load.took);
  }
  model.loads = record.loads;
  model.evictions = record.evictions;
  model.resident_time = record.resident_time;
  model.computing_time = record.computing_time;
}

// ---- Packing ------------------------------------------------------------------------------------

bool Restorer::read_packing() {
  begin(StateSection::packing, "packing");
  PackingRecord record;
  next(record);
  if (!in_.ok()) return end();
  std::map<core::ShapeClass, core::Mix::Count> classes;
  for (const MixRecord& entry : record.mix) {
    require(classes.empty() || classes.rbegin()->first < entry.shape, "shapes in order");
    require(entry.count.arrivals > 0 && entry.shape.share <= 1000 && entry.shape.cpu >= 0,
            "a shape of the mix in range");
    classes.emplace(entry.shape, entry.count);
  }
  require(classes.size() <= core::Mix::kClassesMax, "a mix of bounded size");
  require(record.typical.size() <= core::kTypicalMax, "typical shapes of bounded number");
  require(record.table.empty() || core::decode_packing_table(record.table).ok(),
          "a packing table that can be read");
  if (!in_.ok()) return end();
  core::PackingKnowledge& known = state_->packing;
  known.mix = core::Mix::restored(std::move(classes), record.remembered);
  known.arrivals = record.arrivals;
  known.typical = std::move(record.typical);
  known.version = record.version;
  known.table = std::move(record.table);
  return end();
}

// ---- Nodes --------------------------------------------------------------------------------------

bool Restorer::read_nodes() { return read_list<NodeRecord>(StateSection::nodes, "nodes"); }

void Restorer::take(NodeRecord& record) {
  require_sane(record.spec);
  require(state_->nodes.size() < core::kNodesMax, "nodes in range");
  if (!in_.ok()) return;
  core::Node& node = state_->nodes.emplace_back();
  node.spec = record.spec;
  node.up = record.up;
}

// ---- GPUs ---------------------------------------------------------------------------------------

bool Restorer::read_gpus() { return read_list<GpuRecord>(StateSection::gpus, "gpus"); }

void Restorer::take(GpuRecord& record) {
  const auto milli_in_range = [](Milli x) { return x.value >= -kMilliMax && x.value <= kMilliMax; };
  require_sane(record.spec);
  require(milli_in_range(record.reported), "a utilisation in range");
  require(state_->has(record.spec.node), "a node that exists");
  require(!record.keep_alive || (record.keep_alive->ns >= 0 && record.keep_alive != Time::never()),
          "an instant for keep_alive");
  if (!in_.ok()) return;
  core::Gpu& gpu = state_->gpus.emplace_back();
  gpu.spec = record.spec;
  gpu.up = record.up;
  gpu.draining = record.draining;
  gpu.adopts = record.adopts;
  gpu.reported = record.reported;
  gpu.kept_for = record.kept_for;
  if (gpu.kept_for) {
    state_->kept[gpu.kept_for].push_back(
        GpuId{static_cast<std::uint32_t>(state_->gpus.size() - 1)});
  }
  require(record.claimed_as == 0 || gpu.kept_for, "claims of GPUs that are kept");
  if (record.claimed_as > 0) {
    claims_[gpu.kept_for][record.claimed_as] =
        GpuId{static_cast<std::uint32_t>(state_->gpus.size() - 1)};
  }
  gpu.usable = Mib{gpu.spec.vram.value * state_->policy.vram_usable.value / 1000};
  for (const ResidenceRecord& residence : record.residences) {
    require(state_->has(residence.model), "a model that exists");
    require(gpu.residences.empty() || gpu.residences.back().model < residence.model,
            "residences by model, ascending");
    require(residence.load ? residence.load.value < state_->next_load : !residence.loading,
            "a load that was asked for");
    require(is_mib(residence.weights), "weights in range");
    require(is_past(residence.since) && is_past(residence.idle_since), "residences of the past");
    if (!in_.ok()) return;
    gpu.residences.push_back({.model = residence.model,
                              .load = residence.load,
                              .weights = residence.weights,
                              .loading = residence.loading,
                              .used = residence.used,
                              .leases = 0,
                              .since = residence.since,
                              .idle_since = residence.idle_since,
                              .owed = residence.owed});
    gpu.weights += residence.weights;
    core::Model& model = state_->model(residence.model);
    if (residence.loading) {
      gpu.weights_busy += residence.weights;
      ++model.loading;
    } else {
      ++model.resident;
    }
  }
  for (const LoadPauseRecord& pause : record.pauses) {
    require(state_->has(pause.model), "a model that exists");
    require(gpu.pauses.empty() || gpu.pauses.back().model < pause.model,
            "pauses by model, ascending");
    require(gpu.up && pause.failures >= 1 && pause.until.ns >= 0, "a pause after a failed load");
    if (!in_.ok()) return;
    gpu.pauses.push_back({pause.model, pause.failures, pause.until});
    ++state_->model(pause.model).failing_gpus;
  }
  keep_alives_.push_back(record.keep_alive);
}

// ---- Queues -------------------------------------------------------------------------------------

bool Restorer::read_queues() { return read_list<QueueRecord>(StateSection::queues, "queues"); }

void Restorer::take(QueueRecord& record) {
  constexpr Time kNeverYet{std::numeric_limits<std::int64_t>::min()};
  const ModelId model = record.spec.model;
  require(!model || state_->has(model), "a model that exists");
  require(!record.next_model || state_->has(*record.next_model), "a next model that exists");
  require_sane(record.spec);
  require(is_sane(record.batch_time), "a batch time in range");
  require(record.arrivals.gap_ns >= 0 &&
              (record.arrivals == core::ArrivalSketch{} || is_past(record.arrivals.last)),
          "arrivals of the past");
  require(record.flushed_at == kNeverYet || is_past(record.flushed_at), "a flush of the past");
  require(
      !record.patience || (record.patience->due.ns >= 0 && record.patience->due != Time::never()),
      "an instant for due");
  require(!record.copy || (record.copy->at.ns >= 0 && record.copy->at != Time::never()),
          "an instant for a copy");
  require(!record.declined || record.declined->at >= 1, "a load declined with work waiting");
  if (!in_.ok()) return;

  const QueueId id{static_cast<std::uint32_t>(state_->queues.size())};
  core::Queue& queue = state_->queues.emplace_back();
  queue.spec = record.spec;
  queue.next_model = record.next_model.value_or(ModelId::none());
  queue.paused = record.paused;
  queue.draining = record.draining;
  queue.flushed_at = record.flushed_at;
  queue.turn = record.turn;
  queue.batch_time = record.batch_time;
  queue.arrivals = record.arrivals;
  queue.wait = record.wait;
  queue.tightest_wait = record.tightest_wait;
  require(estimates_fit(queue), "times in range");
  if (record.patience) {
    queue.due = record.patience->due;
    queue.overdue = record.patience->overdue;
  }
  if (record.copy) {
    queue.copy_at = record.copy->at;
    queue.wants_copy = record.copy->wanted;
  }
  if (record.declined) {
    queue.declined_at = record.declined->at;
    queue.declined = record.declined->reason;
  }
  for (const GpuId gpu : record.holds) {
    require(state_->has(gpu) && !state_->gpu(gpu).held_for, "GPUs that exist, held once");
    if (!in_.ok()) return;
    state_->gpu(gpu).held_for = id;
  }
  queue.holds = std::move(record.holds);
  queue.batches = record.batches;
  if (model) state_->model(model).queues.push_back(id);
}

// ---- What is derived ----------------------------------------------------------------------------

namespace {

// Queues and tiers that became due at `now` are seen as such by the rebuilt indexes. Where a count
// limit had left some of them for the next round, the indexes are built for the instant before, and
// what was done by then is done again.
void finish_round(State& state, const EngineRecord& engine, std::vector<core::Queue> before) {
  for (std::uint32_t i = 0; i < state.queues.size(); ++i) {
    core::Queue& queue = state.queues[i];
    const QueueId id{i};
    if (queue.due == Time::never() && before[i].due != Time::never()) {
      queue.due = before[i].due;
      queue.overdue = before[i].overdue;
      if (queue.overdue) {
        state.overdue.insert({queue.due, id});
      } else {
        state.timers.set(core::TimerKind::patience, i, i, queue.due);
      }
    }
    queue.copy_at = before[i].copy_at;
    queue.wants_copy = before[i].wants_copy;
    state.timers.set(core::TimerKind::copy, i, i, queue.wants_copy ? Time::never() : queue.copy_at);
    if (queue.declined_at == 0 && before[i].declined_at > 0) {
      queue.declined_at = before[i].declined_at;
      state.declined.insert(id);
    }
  }
  for (std::uint32_t i = 0; i < state.flows.size(); ++i) {
    const core::Flow& flow = state.flows.flow(i);
    if (state.timers.due_of(core::TimerKind::tier, i) > state.now) continue;
    FlowName name{flow.queue, flow.tenant, flow.tier, {}, flow.commands};
    if (flow.shape != core::kNoSlot) name.shape = state.shape_table.shape(flow.shape);
    if (std::binary_search(engine.tiers_due.begin(), engine.tiers_due.end(), name)) continue;
    refresh_flow(state, i);
  }
  for (std::uint32_t i = 0; i < state.queues.size(); ++i) {
    const QueueId id{i};
    if (std::binary_search(engine.fills_due.begin(), engine.fills_due.end(), id)) continue;
    refresh_queue(state, id);
  }
}

}  // namespace

void Restorer::derive() {
  State& state = *state_;
  rebuild_links(state);
  const bool cut_short = !engine_.fills_due.empty() || !engine_.tiers_due.empty();
  std::vector<core::Queue> before;
  if (cut_short) {
    before = state.queues;
    state.now = state.now - nanoseconds(1);
  }
  rebuild_indexes(state);
  state.now = engine_.now;
  if (cut_short) finish_round(state, engine_, std::move(before));

  // These follow from history, not from the tables.
  state.placed.preemption_stale = state.placed.arrivals_stale = engine_.preemption_stale;
  state.placed.no_plan_before = engine_.no_plan_before;
  arm_preemption(state);
  for (std::uint32_t i = 0; i < state.gpus.size(); ++i) {
    state.timers.set(core::TimerKind::keep_alive, i, i, keep_alives_[i].value_or(Time::never()));
  }
}

std::optional<RestoredSnapshot> decode_snapshot(ByteView bytes, SnapshotError* error) {
  const auto refuse = [&](const SnapshotError& why) {
    if (error != nullptr) *error = why;
    return std::nullopt;
  };
  DecodeError damage;
  const auto snapshot = SnapshotReader::open(bytes, &damage);
  if (!snapshot) return refuse({"", damage.offset, damage.expected});
  const std::uint32_t version = snapshot->info().version;
  if (version < kOldestFormat + 1 || version > kStateVersion) {
    return refuse({"", 4, "a version that this program reads"});
  }
  Restorer restorer(*snapshot);
  auto state = restorer.restore();
  if (!state) return refuse(restorer.error());
  RestoredSnapshot restored{snapshot->info(), core::Engine(std::move(state))};
  // A record may also say what the others give no reason for; then it did not come back.
  const auto again = encode_snapshot(restored.engine, restored.info);
  const bool is_old = version < kStateVersion;
  if (!is_old && !std::equal(bytes.begin(), bytes.end(), again.begin(), again.end())) {
    return refuse({"state", 0, "records that all come back"});
  }
  return restored;
}

}  // namespace berth::journal
