// See admission.h.
#include "core/admission/admission.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <variant>

#include "base/assert.h"
#include "core/mig/profiles.h"
#include "core/model/ranges.h"
#include "core/topology/gang_search.h"

namespace berth::core {
namespace {

constexpr std::int64_t kNano = 1'000'000'000;

// What the earlier tasks of the same submit have already taken, and what all of them will.
struct Taken {
  std::uint32_t tasks = 0;
  std::int64_t tokens = 0;
  std::int64_t tokens_of_all = 0;
};

Reason subject_reason(ReasonCode code, std::uint64_t subject) {
  Reason reason;
  reason.code = code;
  reason.subject = subject;
  return reason;
}

Reason amount_reason(ReasonCode code, std::int64_t need, std::int64_t have, std::uint64_t subject,
                     Time at = Time::never()) {
  return {code, need, have, subject, at};
}

std::int64_t vram_of(const State& state, const TaskSpec& spec) {
  const ModelId model = state.queue(spec.queue).spec.model;
  if (spec.vram.value > 0 || !model) return spec.vram.value;
  return state.model(model).spec.vram_per_task.value;
}

// The share that the task counts with: a profile's part of a GPU; where its tenant shares no GPU,
// all of it.
Milli share_of(const State& state, const TaskSpec& spec) {
  if (spec.profile != mig::kNoProfile) return mig::use_of(spec.profile);
  const bool alone = state.tenant(spec.tenant).spec.isolation >= Isolation::slice;
  return alone ? kWholeGpu : spec.share;
}

// What it asks for, as it is placed.
Shape placed_shape(const State& state, const TaskSpec& spec, Mib vram) {
  Shape shape = shape_of(spec, vram);
  if (spec.profile == mig::kNoProfile) {
    shape.share = static_cast<std::uint16_t>(share_of(state, spec).value);
  }
  return shape;
}

Reason judge_maxima(const State& state, const TaskSpec& spec) {
  const std::int64_t use = share_of(state, spec).value * spec.gpus;
  for (TenantId id = spec.tenant; id; id = state.tenant(id).spec.parent) {
    const TenantSpec& above = state.tenant(id).spec;
    if (!is_over_limit(above, Milli{use})) continue;
    return amount_reason(ReasonCode::gpus_over_max, use, limit_of(above)->value, id.value);
  }
  const QueueSpec& queue = state.queue(spec.queue).spec;
  if (queue.max_task_gpus && spec.gpus > *queue.max_task_gpus) {
    return amount_reason(ReasonCode::gpus_over_task_max, spec.gpus, *queue.max_task_gpus,
                         spec.queue.value);
  }
  if (!queue.max_gpus || use <= queue.max_gpus->value) return {};
  return amount_reason(ReasonCode::gpus_over_max, use, queue.max_gpus->value, Reason::kNoSubject);
}

// What the largest nodes could give, each amount for itself.
struct Largest {
  bool kind = false;
  std::int64_t gpus = 0;
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
};

Reason over(ReasonCode code, std::int64_t need, std::int64_t have) {
  return amount_reason(code, need, have, Reason::kNoSubject);
}

// What the nodes with GPUs enough are short of.
Reason lack_of_node(const Shape& shape, const Largest& largest) {
  if (largest.cpu < shape.cpu.value) {
    return over(ReasonCode::cpu_over_node, shape.cpu.value, largest.cpu);
  }
  if (largest.memory < shape.memory.value) {
    return over(ReasonCode::memory_over_node, shape.memory.value, largest.memory);
  }
  return subject_reason(ReasonCode::shape_over_node, Reason::kNoSubject);
}

// Could its GPUs ever lie on one node together?
Reason judge_on_node(const State& state, const Shape& shape) {
  Largest largest;
  for (const NodeView& view : state.placed.empty_cells) {
    if (fits(view, shape)) return {};
    if (shape.gpus > 0 && (view.gpus == 0 || !allows(shape.kinds, view.kind))) continue;
    largest.kind = true;
    const std::int64_t gpus = std::popcount(usable_gpus(view, shape));
    largest.gpus = std::max(largest.gpus, gpus);
    if (gpus < shape.gpus) continue;
    largest.cpu = std::max(largest.cpu, view.cpu.value);
    largest.memory = std::max(largest.memory, view.memory.value);
  }
  if (!largest.kind) return subject_reason(ReasonCode::gpu_kind_absent, Reason::kNoSubject);
  if (largest.gpus < shape.gpus) return over(ReasonCode::gpus_over_node, shape.gpus, largest.gpus);
  return lack_of_node(shape, largest);
}

ReasonCode gpus_over_level(Level level) {
  switch (level) {
    case Level::gpu:
    case Level::island:
      return ReasonCode::gpus_over_island;
    case Level::node:
      return ReasonCode::gpus_over_node;
    case Level::rack:
      return ReasonCode::gpus_over_rack;
    case Level::cluster:
      break;
  }
  return ReasonCode::gpus_over_cluster;
}

// Would the gang search find it on an empty cluster?
Reason judge_gang(const State& state, const Shape& shape) {
  ASSERT(!state.placed.cells_stale);
  std::optional<Lack> lack;
  for (const Shape& asked : shapes_for_tree(state, shape)) {
    const GangAnswer answer = find_gang(*state.placed.empty_tree, asked);
    const auto* found = std::get_if<Lack>(&answer);
    if (found == nullptr) return {};
    if (!lack || found->gpus_found > lack->gpus_found) lack = *found;
  }
  if (!lack) return subject_reason(ReasonCode::gpu_kind_absent, Reason::kNoSubject);
  if (lack->what == Lacking::cpu) return over(ReasonCode::cpu_over_node, shape.cpu.value, 0);
  if (lack->what == Lacking::memory) {
    return over(ReasonCode::memory_over_node, shape.memory.value, 0);
  }
  if (lack->groups > 1 && lack->groups_found > 0) {
    return over(ReasonCode::groups_over_cluster, lack->groups, lack->groups_found);
  }
  const bool in_cluster = lack->level == Level::cluster;
  return over(gpus_over_level(lack->level), in_cluster ? shape.gpus : lack->group_size,
              lack->gpus_found);
}

// Could an instance ever be cut for it, on a GPU that its node's CPUs and memory go with?
Reason judge_profile(const State& state, const TaskSpec& spec, const Shape& shape) {
  if (state.tenant(spec.tenant).spec.isolation == Isolation::gpu) {
    return subject_reason(ReasonCode::isolation_forbids_mig, spec.tenant.value);
  }
  std::int64_t geometries = 0;  // a bit each
  bool has_profile = false;
  Mib vram;
  Largest largest;
  for (const MigSort& sort : state.placed.mig.sorts) {
    geometries |= std::int64_t{1} << static_cast<unsigned>(sort.kind.geometry);
    const mig::SlotClass* slot = mig::slot_class(sort.kind.geometry, shape.profile);
    if (slot == nullptr) continue;
    has_profile = true;
    if (!allows(shape.kinds, sort.kind.kind)) continue;
    largest.kind = true;
    vram = std::max(vram, slot->memory);
    if (slot->memory.value < shape.vram) continue;
    if (sort.cpu >= shape.cpu && sort.memory >= shape.memory) return {};
    largest.cpu = std::max(largest.cpu, sort.cpu.value);
    largest.memory = std::max(largest.memory, sort.memory.value);
  }
  if (!has_profile) {
    return amount_reason(ReasonCode::mig_profile_absent, 0, geometries, shape.profile);
  }
  if (!largest.kind) return subject_reason(ReasonCode::gpu_kind_absent, Reason::kNoSubject);
  if (vram.value < shape.vram) {
    return amount_reason(ReasonCode::vram_over_profile, shape.vram, vram.value, shape.profile);
  }
  return lack_of_node(shape, largest);
}

Reason judge_shape(const State& state, const Shape& shape) {
  return lies_on_one_node(shape) ? judge_on_node(state, shape) : judge_gang(state, shape);
}

Reason judge_dependencies(const State& state, TaskNo first, std::size_t count, TaskNo self,
                          const TaskSpec& spec) {
  for (const Dependency& dependency : spec.depends_on) {
    if (dependency.kind == Dependency::Kind::signal) continue;
    const TaskNo on{dependency.id};
    if (on == self) return subject_reason(ReasonCode::dependency_cycle, on.value);
    if (on >= first && on.value - first.value < count) continue;  // of the same workflow
    if (state.tasks.slot_of(on) != kNoSlot) continue;
    const auto ended = state.tasks.ended(on);
    if (!ended) return subject_reason(ReasonCode::dependency_unknown, on.value);
    if (*ended != TaskState::completed && spec.on_dependency_failure == OnDependencyFailure::fail) {
      return subject_reason(ReasonCode::dependency_failed, on.value);
    }
  }
  return {};
}

Reason judge_tenant_limits(const State& state, const TaskSpec& spec, const Taken& taken) {
  const Tenant& tenant = state.tenant(spec.tenant);
  const TenantSpec& limits = tenant.spec;
  const std::int64_t queued = tenant.queued + taken.tasks;
  if (limits.max_queue_size && queued >= *limits.max_queue_size) {
    return amount_reason(ReasonCode::tenant_queue_full, queued + 1, *limits.max_queue_size,
                         spec.tenant.value);
  }
  if (limits.token_bucket_size) {
    const std::int64_t bucket = *limits.token_bucket_size;
    const std::int64_t cost = spec.tokens + taken.tokens;
    const std::int64_t cost_of_all = std::max(cost, taken.tokens_of_all);
    if (cost_of_all > bucket) {
      return amount_reason(ReasonCode::tokens_over_bucket, cost_of_all, bucket, spec.tenant.value);
    }
    const std::int64_t level = token_level_nano(tenant, state.now);
    if (cost * kNano > level) {
      Time at = Time::never();
      if (limits.token_refill_rate > 0) {
        const std::int64_t missing = cost * kNano - level;
        at = state.now +
             Duration{(missing + limits.token_refill_rate - 1) / limits.token_refill_rate};
      }
      return amount_reason(ReasonCode::tokens_short, cost, level / kNano, spec.tenant.value, at);
    }
  }
  if (limits.daily_token_limit) {
    const std::int64_t spent = tenant.tokens_today + taken.tokens;
    if (spent + spec.tokens > *limits.daily_token_limit) {
      return amount_reason(ReasonCode::daily_tokens_spent, spent + spec.tokens,
                           *limits.daily_token_limit, spec.tenant.value);
    }
  }
  return {};
}

// The last part of the cluster's limit is shared out: a tenant below its share always gets in.
Reason judge_cluster_limit(const State& state, const TaskSpec& spec, std::uint32_t taken_by_all,
                           std::uint32_t taken_by_tenant) {
  const std::int64_t limit = state.policy.max_live_tasks;
  const std::int64_t reserve = scale(limit, state.policy.live_reserve.value, 1000);
  const auto live = static_cast<std::int64_t>(state.tasks.live()) + taken_by_all;
  if (live < limit - reserve) return {};
  const std::int64_t share = reserve / static_cast<std::int64_t>(state.tenants.size());
  const std::int64_t own = state.tenant(spec.tenant).live + taken_by_tenant;
  if (own < share && live < limit) return {};
  return amount_reason(ReasonCode::cluster_queue_full, live + 1, limit - reserve,
                       spec.tenant.value);
}

// The GPUs that may work for a queue, and how long what runs there goes on, summed over leases.
struct Servers {
  std::int64_t all = 0;
  std::int64_t idle = 0;
  Duration running{0};
};

Servers servers_of(const State& state, const Queue& queue, Mib vram) {
  if (!queue.spec.model) {
    return {static_cast<std::int64_t>(state.accepting.size()),
            static_cast<std::int64_t>(state.free_fit.idle_with(vram)),
            running_work(state, state.running)};
  }
  const Model& model = state.model(queue.spec.model);
  Servers servers{model.resident_open, static_cast<std::int64_t>(model.fit.idle_with(vram)), {}};
  for (const QueueId id : model.queues)
    servers.running = servers.running + running_work(state, state.queue(id).running);
  return servers;
}

// Full batches of its queue go first, `earlier` tasks of the same submit included: on idle GPUs at
// once, else after what runs, over what can work on it. Other queues that compete are not foreseen.
Reason judge_lateness(const State& state, const TaskSpec& spec, std::uint32_t earlier) {
  const Queue& queue = state.queue(spec.queue);
  if (!queue.spec.refuse_late || spec.tolerated_wait == Duration::forever()) return {};
  const Servers servers = servers_of(state, queue, Mib{vram_of(state, spec)});
  const std::int64_t size = queue.spec.max_batch_size;
  const std::int64_t batches = (std::int64_t{queue.startable} + earlier) / size;
  if (batches < servers.idle) return {};
  const Duration batch = predict_batch(queue, size, mean_run(queue), kWholeGpu);
  const std::int64_t all = std::max<std::int64_t>(1, servers.all);
  const Duration ahead{scale(batch.ns, batches, all) + servers.running.ns / all};
  if (ahead < spec.tolerated_wait) return {};  // at the limit itself it expires
  return amount_reason(ReasonCode::would_start_late, ahead.ns, spec.tolerated_wait.ns,
                       spec.queue.value, state.now + (ahead - spec.tolerated_wait));
}

Reason judge_names(const State& state, const TaskSpec& spec) {
  if (!state.has(spec.tenant)) {
    return subject_reason(ReasonCode::unknown_tenant, spec.tenant.value);
  }
  if (!state.has(spec.queue)) return subject_reason(ReasonCode::unknown_queue, spec.queue.value);
  if (state.queue(spec.queue).draining) {
    return subject_reason(ReasonCode::queue_draining, spec.queue.value);
  }
  if (flaw_in(spec) != nullptr) return subject_reason(ReasonCode::bad_spec, Reason::kNoSubject);
  return {};
}

// A cycle inside a workflow, found by taking away tasks that wait for nobody.
Reason judge_cycles(TaskNo first, const std::vector<TaskSpec>& specs) {
  std::vector<std::vector<std::size_t>> dependants(specs.size());
  std::vector<std::size_t> open(specs.size(), 0);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    for (const Dependency& d : specs[i].depends_on) {
      if (d.kind == Dependency::Kind::signal || d.id < first.value ||
          d.id - first.value >= specs.size()) {
        continue;
      }
      dependants[d.id - first.value].push_back(i);
      ++open[i];
    }
  }
  std::vector<std::size_t> free;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (open[i] == 0) free.push_back(i);
  }
  for (std::size_t done = 0; done < free.size(); ++done) {
    for (const std::size_t dependant : dependants[free[done]]) {
      if (--open[dependant] == 0) free.push_back(dependant);
    }
  }
  if (free.size() == specs.size()) return {};
  const auto stuck = std::find_if(open.begin(), open.end(), [](std::size_t n) { return n > 0; });
  return subject_reason(ReasonCode::dependency_cycle,
                        first.value + static_cast<std::uint64_t>(stuck - open.begin()));
}

}  // namespace

Reason judge_size(const State& state, const TaskSpec& spec) {
  const Queue& queue = state.queue(spec.queue);
  std::int64_t need = vram_of(state, spec);
  if (spec.gpus > 1 && (queue.spec.model || queue.next_model)) {
    return amount_reason(ReasonCode::gang_with_model, spec.gpus, 1, spec.queue.value);
  }
  const Shape shape = placed_shape(state, spec, spec.vram);
  if (!is_plain(shape) && (queue.spec.model || queue.next_model)) {
    return subject_reason(ReasonCode::shape_with_model, spec.queue.value);
  }
  if (shape.profile != mig::kNoProfile) {
    if (const Reason reason = judge_profile(state, spec, shape)) return reason;
    return judge_maxima(state, spec);
  }
  if (spec.gpus > 0 && state.usable.empty() && !state.gpus.empty()) {  // all are in MIG mode
    return amount_reason(ReasonCode::gpus_over_cluster, spec.gpus, 0, Reason::kNoSubject);
  }
  std::int64_t weights = 0;
  for (const ModelId model : {queue.spec.model, queue.next_model}) {
    if (model) weights = std::max(weights, state.model(model).spec.weights.value);
  }
  need += weights;
  const auto largest = state.usable.last();
  const std::int64_t have = largest ? static_cast<std::int64_t>(*largest >> 32) : 0;
  if (need > have && spec.gpus > 0) {
    const std::uint64_t gpu = largest ? static_cast<std::uint32_t>(*largest) : Reason::kNoSubject;
    return amount_reason(ReasonCode::vram_over_any_gpu, need, have, gpu);
  }
  if (spec.gpus > 1 || !is_plain(shape)) {
    if (const Reason reason = judge_shape(state, shape)) return reason;
  }
  return judge_maxima(state, spec);
}

Reason judge_queue_limit(const State& state, QueueId id, std::uint32_t earlier) {
  const Queue& queue = state.queue(id);
  const std::int64_t queued = std::int64_t{queue.queued} + earlier;
  if (!queue.spec.max_queue_size || queued < *queue.spec.max_queue_size) return {};
  return amount_reason(ReasonCode::queue_full, queued + 1, *queue.spec.max_queue_size, id.value);
}

bool is_placed_in(const State& state, QueueId id, const Shape& shape) {
  const Queue& queue = state.queue(id);
  const bool packs = state.policy.packing == Packing::frag && !queue.next_model;
  return !queue.spec.model && (packs || shape.gpus > 1 || !is_plain(shape));
}

std::int64_t token_level_nano(const Tenant& tenant, Time now) {
  const std::int64_t bucket = tenant.spec.token_bucket_size.value_or(0) * kNano;
  const std::int64_t rate = tenant.spec.token_refill_rate;
  const std::int64_t elapsed = (now - tenant.token_at).ns;
  const Wide refilled = static_cast<Wide>(tenant.token_nano) + static_cast<Wide>(rate) * elapsed;
  return refilled > bucket ? bucket : static_cast<std::int64_t>(refilled);
}

AdmissionVerdict judge_submit(const State& state, TaskNo first,
                              const std::vector<TaskSpec>& specs) {
  if (first != state.tasks.next()) {
    return {subject_reason(ReasonCode::bad_number, state.tasks.next().value), 0};
  }
  if (specs.size() > 1) {
    if (const Reason cycle = judge_cycles(first, specs)) return {cycle, 0};
  }
  // What the earlier tasks of a workflow take; both stay empty for a single task.
  std::map<TenantId, Taken> taken;
  std::map<QueueId, std::uint32_t> queued;
  if (specs.size() > 1) {
    for (const TaskSpec& spec : specs)
      taken[spec.tenant].tokens_of_all += spec.tokens;
  }
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const TaskSpec& spec = specs[i];
    Reason reason = judge_names(state, spec);
    const Taken before = specs.size() > 1 ? taken[spec.tenant] : Taken{};
    if (!reason) reason = judge_size(state, spec);
    if (!reason && !spec.depends_on.empty()) {
      reason = judge_dependencies(state, first, specs.size(), TaskNo{first.value + i}, spec);
    }
    if (!reason) reason = judge_tenant_limits(state, spec, before);
    if (!reason) {
      reason = judge_cluster_limit(state, spec, static_cast<std::uint32_t>(i), before.tasks);
    }
    const std::uint32_t earlier = specs.size() > 1 ? queued[spec.queue] : 0;
    if (!reason && state.queue(spec.queue).spec.max_queue_size) {
      reason = judge_queue_limit(state, spec.queue, earlier);
    }
    if (!reason) reason = judge_lateness(state, spec, earlier);
    if (reason) return {reason, i};
    if (specs.size() > 1) {
      ++taken[spec.tenant].tasks;
      taken[spec.tenant].tokens += spec.tokens;
      ++queued[spec.queue];
    }
  }
  return {};
}

void admit(State& state, TaskNo task, const TaskSpec& spec) {
  Tenant& tenant = state.tenant(spec.tenant);
  if (tenant.spec.token_bucket_size) {
    tenant.token_nano = token_level_nano(tenant, state.now) - std::int64_t{spec.tokens} * kNano;
    tenant.token_at = state.now;
  }
  tenant.tokens_today += spec.tokens;
  ++tenant.live;

  const std::uint32_t slot = state.tasks.create(task);
  TaskRow& row = state.tasks.row(slot);
  row.submitted = state.now;
  row.eligible = std::max(state.now, spec.not_before);
  row.expires = state.now + spec.tolerated_wait;
  row.expected_run = spec.expected_run;
  row.backoff = spec.retry.backoff;
  row.vram = static_cast<std::uint32_t>(vram_of(state, spec));
  row.tenant = spec.tenant;
  row.queue = spec.queue;
  row.tokens = spec.tokens;
  row.priority = spec.priority;
  row.share = static_cast<std::uint16_t>(share_of(state, spec).value);
  row.gpus = spec.gpus;
  row.tier = spec.tier;
  if (spec.tier > 0) ++state.placed.low_tier_tasks;
  row.max_attempts = spec.retry.max_attempts;
  row.retry_on = spec.retry.on;
  row.on_dependency_failure = spec.on_dependency_failure;
  row.held = spec.held ? ReasonCode::task_held : ReasonCode::none;
  row.command = spec.command;
  count_queued(state, row, 1);
  const Shape shape = placed_shape(state, spec, Mib{row.vram});
  const bool is_placed = is_placed_in(state, spec.queue, shape);
  if (is_placed) {
    row.shape = state.shape_table.take(shape);
    if (shape.profile == mig::kNoProfile) learn_shape(state, shape);
  }
  if (spec.gpus > 1 || is_placed) count_gang(state, spec.queue, 1);
  if (spec.group) join_group(state, slot, spec.group, spec.at_once);
  if (spec.checkpoint_interval.ns > 0 || spec.restart_cost.ns > 0) {
    TaskExtra& extra = state.tasks.extra_of(slot);
    extra.checkpoint_interval = spec.checkpoint_interval;
    extra.restart_cost = spec.restart_cost;
  }
  if (!spec.depends_on.empty()) {
    state.tasks.extra_of(slot).depends_on = spec.depends_on;
    for (const Dependency& dependency : spec.depends_on) {
      if (dependency.kind == Dependency::Kind::signal) {
        Signal& signal = state.signals[SignalId{dependency.id}];
        if (signal.resolved) continue;
        signal.waiters.push_back(task);
        ++row.unresolved;
        continue;
      }
      const TaskNo on{dependency.id};
      if (on >= state.tasks.next()) {
        state.early_waiters[on].push_back(task);
        ++row.unresolved;
      } else if (const std::uint32_t source = state.tasks.slot_of(on); source != kNoSlot) {
        state.tasks.add_dependant(source, task);
        ++row.unresolved;
      }
    }
  }
  if (const auto early = state.early_waiters.find(task); early != state.early_waiters.end()) {
    for (const TaskNo waiter : early->second)
      state.tasks.add_dependant(slot, waiter);
    state.early_waiters.erase(early);
  }
  Queue& queue = state.queue(spec.queue);
  queue.arrivals.add(state.now);
  queue.tightest_wait = std::min(queue.tightest_wait, spec.tolerated_wait);

  if (row.unresolved == 0 && row.held == ReasonCode::none && row.eligible <= state.now) {
    row.state = TaskState::pending;
    enter_flow(state, slot);
  }
  if (row.state == TaskState::waiting || row.expires != Time::never()) arm_task_timer(state, slot);
}

void turn_away(State& state, TaskNo task, const Reason& reason) {
  const bool is_submit = reason.code != ReasonCode::unknown_task &&
                         reason.code != ReasonCode::already_started &&
                         reason.code != ReasonCode::bad_number;
  if (!is_submit) return;
  if (task == state.tasks.next()) state.tasks.skip(task);
}

void give_tokens_back(State& state, const TaskRow& row) {
  Tenant& tenant = state.tenant(row.tenant);
  if (tenant.spec.token_bucket_size) {
    const std::int64_t level = token_level_nano(tenant, state.now);
    tenant.token_nano =
        std::min(level + std::int64_t{row.tokens} * kNano, *tenant.spec.token_bucket_size * kNano);
    tenant.token_at = state.now;
  }
  if (row.no < state.first_today) return;  // they were another day's
  tenant.tokens_today = std::max<std::int64_t>(0, tenant.tokens_today - row.tokens);
}

}  // namespace berth::core
