// Applying events and actions: the only code that changes the state, by way of the primitives.
#include <algorithm>
#include <variant>

#include "base/assert.h"
#include "core/admission/admission.h"
#include "core/admission/change.h"
#include "core/completion/completion.h"
#include "core/dispatch/dispatch.h"
#include "core/engine_internal.h"
#include "core/model/ranges.h"
#include "core/policy/orders.h"
#include "core/queue/batch_wait.h"
#include "core/residency/residency.h"

namespace berth::core {
namespace {

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

// A dense table grows by one when its next number is put.
template <class T>
bool is_new(std::vector<T>& table, std::uint32_t index) {
  ASSERT(index <= table.size());
  if (index < table.size()) return false;
  table.emplace_back();
  return true;
}

void put_tenant(State& state, const PutTenant& put) {
  ASSERT(flaw_in(put.spec) == nullptr);
  const bool fresh = is_new(state.tenants, put.tenant.value);
  Tenant& tenant = state.tenant(put.tenant);
  if (!fresh && tenant.spec.token_bucket_size) {
    tenant.token_nano = token_level_nano(tenant, state.now);
  }
  const bool had_bucket = tenant.spec.token_bucket_size.has_value();
  if (tenant.spec.guaranteed_gpus.value > 0) --state.placed.guarantees;
  if (put.spec.guaranteed_gpus.value > 0) ++state.placed.guarantees;
  put_spec(state, put.tenant, put.spec);
  tenant.token_at = state.now;
  if (put.spec.token_bucket_size) {
    const std::int64_t full = *put.spec.token_bucket_size * 1'000'000'000;
    tenant.token_nano = had_bucket ? std::min(tenant.token_nano, full) : full;
  }
}

void put_model(State& state, const PutModel& put) {
  ASSERT(flaw_in(put.spec) == nullptr);
  if (is_new(state.models, put.model.value)) state.model(put.model).fit = empty_fit_index(state);
  state.model(put.model).spec = put.spec;
  for (const GpuId gpu : state.model(put.model).gpus)
    arm_keep_alive(state, gpu);
  refresh_queues_of(state, put.model);
}

void put_queue(State& state, const PutQueue& put) {
  is_new(state.queues, put.queue.value);
  ASSERT(!put.spec.model || state.has(put.spec.model));
  ASSERT(flaw_in(put.spec) == nullptr);
  Queue& queue = state.queue(put.queue);
  const ModelId before = queue.spec.model;
  // What was learned is in times of the other class's speeds.
  if (queue.spec.work_class != put.spec.work_class) queue.batch_time = {};
  queue.spec = put.spec;
  queue.spec.model = before;
  if (put.spec.model && queue.gangs > 0) {
    queue.next_model = put.spec.model;
  } else {
    set_model(state, put.queue, put.spec.model);
  }
  for (const std::uint32_t flow : queue.members)  // what it declares may be part of their keys
    refresh_flow(state, flow);
  update_batch_wait(state, put.queue);
  refresh_queue(state, put.queue);
}

void put_node(State& state, const PutNode& put) {
  ASSERT(flaw_in(put.spec) == nullptr && put.node.value < kNodesMax);
  drop_claims_on(state, put.node);
  node_for(state, put.node).spec = put.spec;
  state.placed.cells_stale = true;
  note_mig_node(state, put.node);
}

void lose(State& state, GpuId id);

void put_gpu(State& state, const PutGpu& put) {
  const bool fresh = is_new(state.gpus, put.gpu.value);
  ASSERT(flaw_in(put.spec) == nullptr);
  if (!fresh && is_claimed(state, state.gpu(put.gpu))) release_keep(state, put.gpu);
  if (!fresh) leave_node(state, put.gpu);
  // What runs there takes its CPUs and memory along to another node.
  const std::vector<std::uint32_t> leases = state.gpu(put.gpu).leases;
  for (const std::uint32_t lease : leases)
    use_nodes(state, state.leases[lease], -1);
  set_gpu_spec(state, put.gpu, put.spec);
  join_node(state, put.gpu);
  for (const std::uint32_t lease : leases)
    use_nodes(state, state.leases[lease], 1);
  set_usable(state, put.gpu, usable_part(state, put.spec.vram));
  refresh_gpu(state, put.gpu);
  if (!state.node(put.spec.node).up) lose(state, put.gpu);
}

void set_policy(State& state, const PolicySpec& spec) {
  ASSERT(flaw_in(spec) == nullptr);
  if (spec.usage_window != state.policy.usage_window) {
    // The numbers of its buckets would mean other instants.
    for (Tenant& tenant : state.tenants)
      tenant.usage = UsageWindow{};
  }
  state.policy = spec;
  state.rule = &rule_for(spec.order);
  rebuild_indexes(state);
  drop_unfit_claims(state);
}

void lose(State& state, GpuId id) {
  if (!state.has(id) || !state.gpu(id).up) return;
  if (state.gpu(id).held_for) release_hold(state, id);
  if (state.gpu(id).kept_for) release_keep(state, id);
  end_pauses(state, id);
  set_gpu_flags(state, id, false, state.gpu(id).draining);
  std::vector<ModelId> gone;
  for (const Residence& residence : state.gpu(id).residences)
    gone.push_back(residence.model);
  for (const ModelId model : gone)
    remove_residence(state, id, model);
  refresh_gpu(state, id);
  for (const ModelId model : gone)
    refresh_queues_of(state, model);
}

// A GPU of a lost node comes back with its node.
void bring_back(State& state, GpuId id) {
  if (!state.has(id) || state.gpu(id).up || !state.node(state.gpu(id).spec.node).up) return;
  ASSERT(state.gpu(id).leases.empty());
  state.gpu(id).adopts = true;
  set_gpu_flags(state, id, true, state.gpu(id).draining);
  refresh_gpu(state, id);
  wake_declined(state);
}

void set_draining(State& state, GpuId id, bool draining) {
  if (!state.has(id)) return;
  if (state.gpu(id).held_for && draining) release_hold(state, id);
  if (state.gpu(id).kept_for && draining) release_keep(state, id);
  set_gpu_flags(state, id, state.gpu(id).up, draining);
  refresh_gpu(state, id);
  if (!draining) wake_declined(state);
}

void set_node_up(State& state, NodeId id, bool up) {
  if (!state.has(id)) return;
  state.node(id).up = up;
  state.placed.plan.kept = false;  // its pools have another size
  state.placed.stale = true;
  note_node(state, id);
  note_mig_node(state, id);
}

template <class Change>
void for_node(State& state, NodeId node, Change change) {
  if (!state.has(node)) return;
  for (const GpuId gpu : state.node(node).gpus)
    change(state, gpu);
}

// Placed work is judged by the cells there are.
void prepare_submit(State& state) {
  const bool packs = state.policy.packing == Packing::frag;
  const bool asks =
      packs ||
      std::any_of(state.submitted.begin(), state.submitted.end(), [](const TaskSpec& spec) {
        return spec.gpus > 1 || !is_plain(shape_of(spec, spec.vram));
      });
  if (asks) keep_cells(state);
}

void flush(State& state, QueueId id) {
  if (id && !state.has(id)) return;
  const std::uint32_t first = id ? id.value : 0;
  const std::uint32_t end = id ? id.value + 1 : static_cast<std::uint32_t>(state.queues.size());
  for (std::uint32_t i = first; i < end; ++i) {
    state.queues[i].flushed_at = state.now;
    refresh_queue(state, QueueId{i});
  }
}

// Plans of preemption are made of what runs and what is free. These change neither: work that
// comes, and the end of what was stopped on GPUs that are claimed.
bool ends_as_planned(const State& state, LeaseId id) {
  const std::uint32_t slot = find_lease(state, id);
  if (slot == kNoSlot || !state.leases[slot].preempted) return false;
  if (state.leases[slot].cpu.value > 0 || state.leases[slot].memory.value > 0) return false;
  const std::vector<GpuId>& gpus = state.leases[slot].gpus;
  return std::all_of(gpus.begin(), gpus.end(),
                     [&](GpuId gpu) { return is_claimed(state, state.gpu(gpu)); });
}

bool keeps_plans(const State& state, const Event& event) {
  if (const auto* ended = std::get_if<LeaseEnded>(&event.body)) {
    return ends_as_planned(state, ended->lease);
  }
  if (const auto* ended = std::get_if<LeaseEndedAfter>(&event.body)) {
    return ends_as_planned(state, ended->ended.lease);
  }
  return std::holds_alternative<Submit>(event.body) ||
         std::holds_alternative<SubmitWorkflow>(event.body);
}

bool keeps_plans(const State& state, const Action& action) {
  if (const auto* closed = std::get_if<LeaseClosed>(&action)) {
    return ends_as_planned(state, closed->lease);
  }
  return std::holds_alternative<TaskAccepted>(action) ||
         std::holds_alternative<TaskRefused>(action) || std::holds_alternative<TaskReady>(action);
}

void note_for_preemption(State& state, bool keeps_plans) {
  (keeps_plans ? state.placed.arrivals_stale : state.placed.preemption_stale) = true;
}

}  // namespace

void apply_quiet_timer(State& state, const DueTimer& timer) {
  state.placed.next.reset();
  const bool reorders = timer.kind == TimerKind::tier || timer.kind == TimerKind::usage;
  if (reorders) state.placed.preemption_stale = true;
  if (timer.kind == TimerKind::fill) state.placed.arrivals_stale = true;
  state.timers.clear(timer.kind, timer.handle);
  switch (timer.kind) {
    case TimerKind::fill:
      refresh_queue(state, QueueId{timer.handle});
      break;
    case TimerKind::patience: {
      const QueueId id{timer.handle};
      Queue& queue = state.queue(id);
      queue.overdue = true;
      queue.declined_at = 0;
      state.declined.erase(id);
      state.overdue.insert({queue.due, id});
      refresh_queue(state, id);
      break;
    }
    case TimerKind::copy:
      consider_copy(state, QueueId{timer.handle});
      break;
    case TimerKind::tier:
      refresh_flow(state, timer.handle);
      refresh_queue(state, state.flows.flow(timer.handle).queue);
      break;
    case TimerKind::usage:
      roll_usage(state, TenantId{timer.handle});
      arm_usage_timer(state, TenantId{timer.handle});
      refresh_tenant(state, TenantId{timer.handle});
      break;
    case TimerKind::preemption:
      break;  // whatever is decided at this instant asks
    case TimerKind::keep_alive:
      arm_keep_alive(state, GpuId{timer.handle});
      break;
    default:
      ASSERT(false);
  }
}

void apply_time(State& state, Time now) {
  for (auto timer = state.timers.next(kQuietTimerKinds); timer && timer->due <= now;
       timer = state.timers.next(kQuietTimerKinds)) {
    state.now = std::max(state.now, timer->due);
    apply_quiet_timer(state, *timer);
  }
  ASSERT(now >= state.now);
  state.now = now;
}

void apply_event(State& state, const Event& event) {
  state.placed.next.reset();
  note_for_preemption(state, keeps_plans(state, event));
  std::visit(Overloaded{
                 [&](const SetPolicy& e) { set_policy(state, e.spec); },
                 [&](const PutTenant& e) { put_tenant(state, e); },
                 [&](const PutQueue& e) { put_queue(state, e); },
                 [&](const PutModel& e) { put_model(state, e); },
                 [&](const PutNode& e) { put_node(state, e); },
                 [&](const PutGpu& e) { put_gpu(state, e); },
                 [&](const PutTable& e) { put_packing_table(state, e.version, e.bytes); },
                 [&](const Submit& e) {
                   state.submitted_first = e.task;
                   state.submitted.resize(1);
                   state.submitted.front() = e.spec;
                   prepare_submit(state);
                 },
                 [&](const SubmitWorkflow& e) {
                   state.submitted_first = e.first;
                   state.submitted = e.tasks;
                   prepare_submit(state);
                 },
                 [&](const Cancel&) {},
                 [&](const CancelGroup& e) { begin_cancel(state, e.group); },
                 [&](const Hold&) {},
                 [&](const ChangeTask& e) {
                   const std::uint32_t slot = state.tasks.slot_of(e.task);
                   if (slot != kNoSlot && state.tasks.row(slot).shape != kNoSlot) keep_cells(state);
                 },
                 [&](const Release& e) { release_task(state, e.task); },
                 [&](const ResolveSignal& e) { resolve_signal(state, e.signal); },
                 [&](const PauseQueue& e) {
                   if (!state.has(e.queue)) return;
                   state.queue(e.queue).paused = e.paused;
                   // What is paused does not compete.
                   for (const std::uint32_t flow : state.queue(e.queue).members)
                     refresh_flow(state, flow);
                   refresh_queue(state, e.queue);
                 },
                 [&](const PauseTenant& e) {
                   if (!state.has(e.tenant)) return;
                   state.tenant(e.tenant).paused = e.paused;
                   refresh_subtree(state, e.tenant);
                 },
                 [&](const Flush& e) { flush(state, e.queue); },
                 [&](const DrainGpu& e) { set_draining(state, e.gpu, e.draining); },
                 [&](const DrainQueue& e) {
                   if (!state.has(e.queue)) return;
                   state.queue(e.queue).draining = e.draining;
                   refresh_queue(state, e.queue);
                 },
                 [&](const DayBoundary&) {
                   state.first_today = state.tasks.next();
                   for (Tenant& tenant : state.tenants)
                     tenant.tokens_today = 0;
                 },
                 [&](const HoldStarts& e) { state.starts_held = e.held; },
                 [&](const Tick&) {},
                 [&](const LeaseStarted& e) { start_running(state, e.lease); },
                 [&](const TaskEnded& e) { start_running(state, e.lease); },
                 [&](const LeaseEnded& e) { start_running(state, e.lease); },
                 [&](const LeaseEndedAfter& e) { start_running(state, e.ended.lease); },
                 [&](const ModelLoaded& e) { finish_load(state, e); },
                 [&](const ModelUnloaded& e) { note_unloaded(state, e); },
                 [&](const GpuLost& e) { lose(state, e.gpu); },
                 [&](const NodeLost& e) {
                   set_node_up(state, e.node, false);
                   for_node(state, e.node, lose);
                 },
                 [&](const GpuReturned& e) { bring_back(state, e.gpu); },
                 [&](const NodeReturned& e) {
                   set_node_up(state, e.node, true);
                   for_node(state, e.node, bring_back);
                 },
                 [&](const GpuUtilisation& e) {
                   if (!state.has(e.gpu)) return;
                   state.gpu(e.gpu).reported = e.utilisation;
                   refresh_gpu(state, e.gpu);
                 },
             },
             event.body);
}

void apply_action(State& state, const Action& action) {
  state.placed.next.reset();
  note_for_preemption(state, keeps_plans(state, action));
  std::visit(Overloaded{
                 [&](const Instant& a) { apply_time(state, a.at); },
                 [&](const TaskAccepted& a) {
                   const TaskSpec& spec =
                       state.submitted[a.task.value - state.submitted_first.value];
                   admit(state, a.task, spec);
                   if (spec.tolerated_wait != Duration::forever()) {
                     update_batch_wait(state, spec.queue);
                   }
                 },
                 [&](const TaskRefused& a) { turn_away(state, a.task, a.reason); },
                 [&](const TaskReady& a) { make_ready(state, a.task); },
                 [&](const TaskDeferred& a) { defer_task(state, a); },
                 [&](const TaskChanged& a) {
                   change_task(state, a);
                   update_batch_wait(state, a.queue);
                 },
                 [&](const TaskFinished& a) {
                   const TaskRow& row = state.tasks.row(state.tasks.slot_of(a.task));
                   const bool never_ran = row.attempts == 0 && row.losses == 0;
                   if (a.state == TaskState::cancelled && never_ran) give_tokens_back(state, row);
                   finish_task(state, a);
                 },
                 [&](const BatchStarted& a) { start_batch(state, a); },
                 [&](const StopTask& a) { begin_stop(state, a); },
                 [&](const LeaseCharged& a) { charge_quantum(state, a); },
                 [&](const SliceLost& a) {
                   lose_slice(state, find_lease(state, a.lease), a.gpu);
                   refresh_gpu(state, a.gpu);
                 },
                 [&](const LeaseClosed& a) {
                   const QueueId queue = state.leases[find_lease(state, a.lease)].queue;
                   close_lease(state, a);
                   update_batch_wait(state, queue);
                 },
                 [&](const LoadModel& a) { begin_load(state, a); },
                 [&](const EvictModel& a) { evict(state, a); },
                 [&](const HoldGpu& a) {
                   if (a.task) return keep_gpu(state, a.gpu, a.task);
                   hold_gpu(state, a.gpu, a.queue);
                 },
                 [&](const ReleaseHold& a) {
                   if (a.task) return release_keep(state, a.gpu);
                   release_hold(state, a.gpu);
                   wake_declined(state);
                 },
                 [&](const QueuePassedOver& a) { decline_load(state, a); },
                 [&](const Preempt& a) { claim_gpus(state, a.task, a.gpus); },
             },
             action);
}

}  // namespace berth::core
