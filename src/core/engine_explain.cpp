// Why a task is not running. Asks the stages themselves, so the answer cannot drift from what they
// do. Never in the path of an event, but on the same thread: so its walks are bounded by counts.
#include <algorithm>
#include <variant>

#include "core/engine.h"
#include "core/engine_internal.h"
#include "core/placement/placed_reasons.h"
#include "core/placement/placement.h"
#include "core/state/flow_cursor.h"
#include "core/state/placed_order.h"
#include "core/timeline/estimate.h"

namespace berth::core {
namespace {

constexpr std::uint64_t kAheadCounted = 10'000;

Reason about(ReasonCode code, std::uint64_t subject, std::int64_t need = 0, std::int64_t have = 0,
             Time at = Time::never()) {
  return {code, need, have, subject, at};
}

void explain_waiting(const State& state, std::uint32_t slot, Explanation& out) {
  const TaskRow& row = state.tasks.row(slot);
  if (row.held != ReasonCode::none) {
    const bool is_poison = row.held == ReasonCode::poison_held;
    out.binding.push_back(about(row.held, row.no.value, is_poison ? row.like_failures : 0,
                                is_poison ? state.policy.poison_after : 0));
  }
  if (const TaskExtra* extra = state.tasks.find_extra(slot)) {
    for (const Dependency& dependency : extra->depends_on) {
      if (dependency.kind == Dependency::Kind::signal) {
        const auto it = state.signals.find(SignalId{dependency.id});
        if (it == state.signals.end() || !it->second.resolved) {
          out.binding.push_back(about(ReasonCode::waits_for_signal, dependency.id));
        }
      } else if (state.tasks.slot_of(TaskNo{dependency.id}) != kNoSlot) {
        out.binding.push_back(about(ReasonCode::waits_for_task, dependency.id));
      }
    }
    if (extra->at_once > 0 && !extra->has_turn && row.held == ReasonCode::none) {
      out.binding.push_back(about(ReasonCode::group_at_limit, Reason::kNoSubject,
                                  state.groups.at(extra->group).turns + 1, extra->at_once));
    }
  }
  if (row.lease != kNoSlot) {
    const std::vector<GpuId>& gpus = state.leases[row.lease].gpus;
    out.binding.push_back(about(ReasonCode::attempt_stopping,
                                gpus.empty() ? Reason::kNoSubject : gpus.front().value));
  }
  if (row.eligible > state.now && row.eligible != Time::never()) {
    out.binding.push_back(about(ReasonCode::waits_for_time, Reason::kNoSubject,
                                (row.eligible - state.now).ns, 0, row.eligible));
  }
}

void count_ahead(const State& state, std::uint32_t slot, Explanation& out) {
  const TaskRow& row = state.tasks.row(slot);
  out.ahead_in_queue = state.queue(row.queue).pending - 1;
  const bool competes = row.shape == kNoSlot && state.flows.flow(row.flow).competes;
  if (const auto before = competes ? tasks_before(state, slot) : std::nullopt) {
    out.position = *before + 1;
  }
  FlowCursor cursor(state, state.flows.flow(row.flow));
  while (cursor.slot() != slot && out.ahead_in_flow < kAheadCounted) {
    ++out.ahead_in_flow;
    cursor.advance();
  }
}

// What would be decided now, as a task sees it.
struct Next {
  bool is_own = false;  // it starts
  TaskNo first;         // who starts, or is cared for first; none: nobody
  bool starts = false;  // `first` starts
  Reason reason;        // what else is done first
};

TaskNo leader_of(const State& state, QueueId id) {
  const std::uint32_t slot = state.queue(id).leader_slot;
  return slot == kNoSlot ? TaskNo::none() : state.tasks.row(slot).no;
}

Next next_for(const State& state, TaskNo task) {
  Actions actions;
  if (!next_decision(state, actions)) return {};
  const Action& last = actions.back();
  Next next;
  if (const auto* batch = std::get_if<BatchStarted>(&last)) {
    next.first = batch->tasks.front().task;
    next.starts = true;
    next.is_own = std::any_of(batch->tasks.begin(), batch->tasks.end(),
                              [&](const StartedTask& started) { return started.task == task; });
  } else if (const auto* held = std::get_if<HoldGpu>(&last)) {
    next.first = held->task ? held->task : leader_of(state, held->queue);
    next.reason = about(ReasonCode::gpu_held, held->gpu.value);
  } else if (const auto* released = std::get_if<ReleaseHold>(&last)) {
    next.reason = about(ReasonCode::gpu_held, released->gpu.value);
  } else if (const auto* load = std::get_if<LoadModel>(&last)) {
    next.reason = about(ReasonCode::model_loading, load->gpu.value);
  } else if (const auto* eviction = std::get_if<EvictModel>(&last)) {
    next.reason = about(ReasonCode::models_in_the_way, eviction->gpu.value);
  } else if (const auto* passed = std::get_if<QueuePassedOver>(&last)) {
    next.first = leader_of(state, passed->queue);
    next.reason = passed->reason;
  }
  return next;
}

// Names the GPU where the model will be there first.
void name_load(const State& state, ModelId model, Reason& reason, Explanation& out) {
  for (std::uint32_t i = 0; i < state.gpus.size(); ++i) {
    const Residence* residence = find_residence(state.gpus[i], model);
    if (residence == nullptr || !residence->loading) continue;
    const Duration load = predict_load(state.model(model), state.gpus[i].spec.kind);
    const Time end = std::max(state.now, residence->since + load);
    if (end >= reason.at) continue;
    reason.subject = i;
    reason.at = end;
    out.start = estimate_around(state.now, end);
  }
}

// Names the GPU that comes closest to having room, and the batch there that ends first.
void name_holder(const State& state, const TaskRow& row, Reason& reason, Explanation& out) {
  const bool by_load = reason.code == ReasonCode::compute_short;
  const auto is_closer = [&](const Gpu& a, const Gpu& b) {
    return by_load ? load_of(a) < load_of(b) : free_vram(a) > free_vram(b);
  };
  const ModelId model = state.queue(row.queue).spec.model;
  GpuId closest;
  for (std::uint32_t i = 0; i < state.gpus.size(); ++i) {
    const Gpu& gpu = state.gpus[i];
    if (!gpu.up || gpu.draining || gpu.leases.empty() || gpu.usable.value < row.vram) continue;
    if (!takes_batches(gpu)) continue;
    if (reason.code == ReasonCode::model_busy && find_residence(gpu, model) == nullptr) continue;
    if (!closest || is_closer(gpu, state.gpu(closest))) closest = GpuId{i};
  }
  if (!closest) return;
  const Gpu& gpu = state.gpu(closest);
  if (reason.code == ReasonCode::vram_short) {
    reason.have = std::max(reason.have, free_vram(gpu).value);
  }
  if (by_load) {
    reason.have =
        std::max<std::int64_t>(0, state.policy.gpu_load_threshold.value - load_of(gpu).value);
  }
  if (info_of(reason.code).subject == "gpu") reason.subject = closest.value;
  for (const std::uint32_t slot : gpu.leases) {
    const Lease& lease = state.leases[slot];
    const Time end = likely_end(state, lease);
    if (!out.holder || end < out.holder->expected_end) {
      out.holder = Holder{lease.id, closest, lease.vram, end};
    }
  }
  reason.at = out.holder->expected_end;
  Time likely = out.holder->expected_end;
  if (likely == Time::never()) return;
  if (reason.code == ReasonCode::model_not_loaded) {
    likely = likely + predict_load(state.model(model), gpu.spec.kind);
  }
  out.start = estimate_around(state.now, likely);
}

// Why a tenant, the task's own or one above it, does not let this much start.
Reason about_tenant(const State& state, TenantId id, std::int64_t use) {
  const Tenant& tenant = state.tenant(id);
  if (tenant.paused) return about(ReasonCode::tenant_paused, id.value);
  return about(ReasonCode::tenant_at_max, id.value, tenant.subtree_use.value + use,
               limit_of(tenant.spec)->value);
}

// Who comes before a task, and how many of them are known.
struct Before {
  TaskNo first;
  std::uint64_t tasks = 0;
};

// Of placed work: as a pass over it would look at them.
Before placed_before(State& state, std::uint32_t slot) {
  Before before;
  PlacedOrder order(state);
  order.add_all();
  for (std::uint64_t looks = 0; looks < kAheadCounted; ++looks) {
    const auto item = order.next();
    if (!item || item->slot == slot) break;
    if (item->slot == kNoSlot) {
      order.enter(*item);
      continue;
    }
    if (!before.first) before.first = state.tasks.row(item->slot).no;
    ++before.tasks;
  }
  return before;
}

// Names whoever is served next; where nobody is, who leads the queue or the placed work. Where that
// is the task itself, nobody comes first: what is done before it starts is the reason.
void explain_order(State& state, std::uint32_t slot, const Next& next, Explanation& out) {
  const TaskRow& row = state.tasks.row(slot);
  Before before{leader_of(state, row.queue), out.position.value_or(1) - 1};
  if (row.shape != kNoSlot) before = placed_before(state, slot);
  if (next.first && next.first != row.no) before.first = next.first;
  if (!before.first || before.first == row.no) {
    if (next.reason) {
      out.binding.push_back(next.reason);
    } else if (const auto kept = state.kept.find(row.no); kept != state.kept.end()) {
      out.binding.push_back(about(ReasonCode::gpu_reserved, kept->second.front().value));
    }
    return;
  }
  // At least the one that is named, which may be another queue's.
  const auto tasks = static_cast<std::int64_t>(std::max<std::uint64_t>(1, before.tasks));
  out.binding.push_back(about(ReasonCode::behind_in_order, before.first.value, tasks));
}

void explain_pending(State& state, std::uint32_t slot, Explanation& out) {
  const TaskRow& row = state.tasks.row(slot);
  const Queue& queue = state.queue(row.queue);
  count_ahead(state, slot, out);
  const Next next = next_for(state, row.no);
  if (next.is_own) return;

  const std::int64_t use = row.share * row.gpus;
  if (queue.paused) out.binding.push_back(about(ReasonCode::queue_paused, row.queue.value));
  const TenantId binding = binding_tenant(state, row.tenant, Milli{use});
  if (binding) out.binding.push_back(about_tenant(state, binding, use));
  const bool queue_is_full =
      queue.spec.max_gpus && queue.in_use.value + use > queue.spec.max_gpus->value;
  if (queue_is_full) {
    out.binding.push_back(about(ReasonCode::queue_at_max, row.queue.value, queue.in_use.value + use,
                                queue.spec.max_gpus->value));
  }
  const Time fills = state.timers.due_of(TimerKind::fill, row.queue.value);
  if (!queue.ready && fills != Time::never()) {
    out.binding.push_back(about(ReasonCode::batch_filling, row.queue.value,
                                queue.spec.max_batch_size, queue.startable, fills));
    out.start = estimate_around(state.now, fills, {.low = Milli{1000}, .high = Milli{1000}});
  }
  if (row.shape != kNoSlot) {
    const PlacedReason placed = why_not_placed(state, slot);
    if (placed.reason) out.binding.push_back(placed.reason);
    out.holder = placed.holder;
    Time likely = likely_start(state, slot, out.ahead_in_flow);
    if (likely == Time::never() && out.ahead_in_flow == 0) likely = placed.reason.at;
    if (likely != Time::never()) out.start = estimate_around(state.now, likely);
  } else if (Placement placement = place_task(state, row); !placement) {
    if (queue.declined_at > 0) {
      out.binding.push_back(queue.declined);
    } else {
      if (placement.reason.code == ReasonCode::model_loading) {
        name_load(state, queue.spec.model, placement.reason, out);
      } else if (placement.reason.code != ReasonCode::gpu_held &&
                 placement.reason.code != ReasonCode::gpu_reserved) {
        name_holder(state, row, placement.reason, out);
      }
      out.binding.push_back(placement.reason);
    }
  }
  if (out.ahead_in_flow > 0) {
    FlowCursor cursor(state, state.flows.flow(row.flow));
    out.binding.push_back(about(ReasonCode::behind_in_flow, state.tasks.row(cursor.slot()).no.value,
                                static_cast<std::int64_t>(out.ahead_in_flow)));
  }
  const bool waits_its_turn = next.starts && queue.ready && row.shape == kNoSlot;
  if (out.binding.empty() || waits_its_turn) explain_order(state, slot, next, out);
  // Nobody knows for how long.
  if (queue.paused || binding || queue_is_full) out.start.reset();
}

}  // namespace

std::optional<Explanation> Engine::explain(TaskNo task) const {
  State& state = *state_;  // of which only indexes change
  settle_reservations(state);
  const std::uint32_t slot = state.tasks.slot_of(task);
  if (slot == kNoSlot) return std::nullopt;
  Explanation out;
  out.state = state.tasks.row(slot).state;
  if (out.state == TaskState::waiting) explain_waiting(state, slot, out);
  if (out.state == TaskState::pending) explain_pending(state, slot, out);
  return out;
}

std::vector<TaskNo> Engine::tasks_in_group(GroupId group) const {
  std::vector<TaskNo> tasks;
  const auto first = state_->groups.find(group);
  if (first == state_->groups.end()) return tasks;
  for (std::uint32_t slot = first->second.first; slot != kNoSlot;
       slot = state_->tasks.find_extra(slot)->group_next) {
    tasks.push_back(state_->tasks.row(slot).no);
  }
  std::sort(tasks.begin(), tasks.end());
  return tasks;
}

std::vector<std::string> Engine::check_invariants() const { return check_state(*state_); }

}  // namespace berth::core
