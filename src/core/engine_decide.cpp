// What events, timers and free GPUs lead to. Reads the state; changes it only by emitting actions.
#include <algorithm>
#include <type_traits>
#include <utility>

#include "base/assert.h"
#include "core/admission/admission.h"
#include "core/admission/change.h"
#include "core/completion/completion.h"
#include "core/dispatch/dispatch.h"
#include "core/engine_internal.h"
#include "core/preemption/preemption.h"
#include "core/preemption/preemptors.h"
#include "core/residency/residency.h"

namespace berth::core {
namespace {

constexpr std::size_t kRipePerStep = 256;
constexpr std::size_t kCancelsPerStep = 256;
constexpr std::size_t kPreemptorsTried = 8;

// A gang that lost a GPU: what it uses was counted when it had them all.
bool has_lost_slices(const Lease& lease) {
  std::int64_t used = 0;
  for (const LeaseTask& task : lease.tasks)
    used += task.use.value;
  return used > lease.share.value * static_cast<std::int64_t>(lease.gpus.size());
}

Reason named(ReasonCode code, std::uint64_t subject) {
  return {code, 0, 0, subject, Time::never()};
}

}  // namespace

void Decider::emit(Action action) {
  if (instant_ != Time::never()) {
    out_.push_back(Instant{instant_});
    instant_ = Time::never();
  }
  out_.push_back(std::move(action));
  apply_action(state_, out_.back());
}

void Decider::answer(const Event& event) {
  std::visit(
      [this](const auto& body) {
        using Body = std::decay_t<decltype(body)>;
        if constexpr (std::is_same_v<Body, Submit> || std::is_same_v<Body, SubmitWorkflow>) {
          answer_submit();
        } else if constexpr (std::is_same_v<Body, Cancel>) {
          cancel(body.task);
        } else if constexpr (std::is_same_v<Body, Hold>) {
          hold(body.task);
        } else if constexpr (std::is_same_v<Body, ChangeTask>) {
          emit(judge_change(state_, body));
        } else if constexpr (std::is_same_v<Body, Release>) {
          answer_request(body.task, ReasonCode::none);
        } else if constexpr (std::is_same_v<Body, PutGpu>) {
          if (!state_.gpu(body.gpu).up) lose_gpu(body.gpu);
          clear_for_mig(body.gpu);
        } else if constexpr (std::is_same_v<Body, ModelLoaded>) {
          if (state_.has(body.gpu)) clear_for_mig(body.gpu);
        } else if constexpr (std::is_same_v<Body, TaskEnded>) {
          end_task(body.lease, body.outcome);
        } else if constexpr (std::is_same_v<Body, LeaseEnded>) {
          end_lease(body);
        } else if constexpr (std::is_same_v<Body, LeaseEndedAfter>) {
          end_lease(body.ended, body.ran);
        } else if constexpr (std::is_same_v<Body, GpuLost>) {
          if (state_.has(body.gpu)) lose_gpu(body.gpu);
        } else if constexpr (std::is_same_v<Body, NodeLost>) {
          if (state_.has(body.node)) lose_node(body.node);
        }
      },
      event.body);
}

void Decider::answer_submit() {
  const TaskNo first = state_.submitted_first;
  const std::size_t count = state_.submitted.size();
  const AdmissionVerdict verdict = judge_submit(state_, first, state_.submitted);
  for (std::size_t i = 0; i < count; ++i) {
    const TaskNo task{first.value + i};
    if (verdict.reason) {
      emit(TaskRefused{task, verdict.reason});
    } else {
      emit(TaskAccepted{task});
    }
  }
}

void Decider::answer_request(TaskNo task, ReasonCode refusal) {
  if (state_.tasks.slot_of(task) == kNoSlot) {
    emit(TaskRefused{task, named(ReasonCode::unknown_task, task.value)});
  } else if (refusal != ReasonCode::none) {
    emit(TaskRefused{task, named(refusal, task.value)});
  }
}

void Decider::cancel(TaskNo task) {
  const std::uint32_t slot = state_.tasks.slot_of(task);
  if (slot == kNoSlot) return answer_request(task, ReasonCode::unknown_task);
  const TaskRow& row = state_.tasks.row(slot);
  // It runs, or is being stopped: it ends with its processes.
  if (row.lease != kNoSlot) emit(StopTask{state_.leases[row.lease].id, task});
  emit(TaskFinished{task, TaskState::cancelled, named(ReasonCode::by_request, task.value)});
}

void Decider::hold(TaskNo task) {
  const std::uint32_t slot = state_.tasks.slot_of(task);
  if (slot == kNoSlot) return answer_request(task, ReasonCode::unknown_task);
  const TaskRow& row = state_.tasks.row(slot);
  if (row.state == TaskState::starting || row.state == TaskState::running) {
    return answer_request(task, ReasonCode::already_started);
  }
  if (row.held != ReasonCode::none) return;
  emit(TaskDeferred{task, named(ReasonCode::task_held, task.value), row.eligible, Failure::error});
}

void Decider::end_task(LeaseId lease, const TaskOutcome& outcome) {
  const std::uint32_t slot = find_lease(state_, lease);
  if (slot == kNoSlot) return;  // late: the lease has ended
  const std::uint32_t task = state_.tasks.slot_of(outcome.task);
  if (task == kNoSlot) return;
  const TaskRow& row = state_.tasks.row(task);
  const bool runs_here =
      row.lease == slot && (row.state == TaskState::starting || row.state == TaskState::running);
  if (!runs_here) return;
  if (outcome.completed) {
    emit(TaskFinished{outcome.task, TaskState::completed, {}});
  } else {
    emit(judge_failure(state_, row, outcome.failure));
  }
}

void Decider::end_lease(const LeaseEnded& ended, std::optional<Duration> told) {
  const std::uint32_t slot = find_lease(state_, ended.lease);
  if (slot == kNoSlot) return;
  // The next batch is most likely of the same queue. Memory is what a step waits for.
  for (const LeaseTask& task : state_.leases[slot].tasks) {
    if (task.live) state_.tasks.prefetch(task.slot, task.task);
  }
  prefetch_heads(state_, state_.leases[slot].queue);
  for (const TaskOutcome& outcome : ended.outcomes)
    end_task(ended.lease, outcome);
  for (std::size_t i = 0; i < state_.leases[slot].tasks.size(); ++i) {
    const LeaseTask& task = state_.leases[slot].tasks[i];
    if (task.live) emit(TaskFinished{task.task, TaskState::completed, {}});
  }
  const bool is_refunded = state_.leases[slot].preempted || has_lost_slices(state_.leases[slot]);
  const Duration until_now = std::max(state_.now - state_.leases[slot].started, Duration{1});
  const Duration ran =
      is_refunded ? Duration{0} : std::clamp(told.value_or(until_now), Duration{0}, until_now);
  const std::vector<GpuId> gpus =
      state_.leases[slot].model ? state_.leases[slot].gpus : std::vector<GpuId>{};
  emit(LeaseClosed{ended.lease, ran});
  for (const GpuId gpu : gpus)
    clear_for_mig(gpu);
}

// Every batch there is undone: its tasks go back to their places. A gang that still holds other
// GPUs is told to stop there and ends by its own report.
void Decider::lose_gpu(GpuId gpu) {
  const std::vector<std::uint32_t> leases = state_.gpu(gpu).leases;
  for (const std::uint32_t slot : leases) {
    const LeaseId id = state_.leases[slot].id;
    const bool elsewhere = state_.leases[slot].gpus.size() > 1;
    for (std::size_t i = 0; i < state_.leases[slot].tasks.size(); ++i) {
      const LeaseTask task = state_.leases[slot].tasks[i];
      if (!task.live) continue;
      if (elsewhere) emit(StopTask{id, task.task});
      emit(judge_loss(state_, state_.tasks.row(task.slot), gpu));
    }
    emit(SliceLost{id, gpu});
    if (!elsewhere) emit(LeaseClosed{id, Duration{0}});
  }
}

void Decider::lose_node(NodeId node) {
  for (const GpuId gpu : state_.node(node).gpus)
    lose_gpu(gpu);
  const std::vector<std::uint32_t> leases = state_.node(node).leases;
  for (const std::uint32_t slot : leases) {
    const LeaseId id = state_.leases[slot].id;
    for (std::size_t i = 0; i < state_.leases[slot].tasks.size(); ++i) {
      const LeaseTask task = state_.leases[slot].tasks[i];
      if (task.live) emit(judge_loss(state_, state_.tasks.row(task.slot), GpuId::none()));
    }
    emit(LeaseClosed{id, Duration{0}});
  }
}

void Decider::fire(const DueTimer& timer) {
  if (timer.kind == TimerKind::lease) {
    const Lease& lease = state_.leases[timer.handle];
    return emit(LeaseCharged{lease.id, next_quantum(lease)});
  }
  ASSERT(timer.kind == TimerKind::task);
  const TaskRow& row = state_.tasks.row(timer.handle);
  if (row.expires <= state_.now) {
    const Duration waited = state_.now - row.submitted;
    emit(TaskFinished{row.no,
                      TaskState::expired,
                      {ReasonCode::waited_too_long, waited.ns, (row.expires - row.submitted).ns,
                       row.no.value, Time::never()}});
  } else {
    emit(TaskReady{row.no});
  }
}

// A GPU in MIG mode has no use for models: they go as soon as nothing uses them.
void Decider::clear_for_mig(GpuId gpu) {
  if (state_.gpu(gpu).spec.mig == mig::Geometry::none) return;
  const std::vector<Residence> residences = state_.gpu(gpu).residences;
  for (const Residence& residence : residences) {
    if (residence.loading || residence.leases > 0) continue;
    emit(EvictModel{gpu, residence.model, residence.load});
  }
}

void Decider::evict_idle(GpuId gpu) {
  for (const ModelId model : idle_too_long(state_, gpu))
    emit(EvictModel{gpu, model, find_residence(state_.gpu(gpu), model)->load});
}

void Decider::decide_ripe() {
  for (std::size_t left = kRipePerStep; left > 0 && !state_.ripe.empty(); --left) {
    const auto [task, reason] = *state_.ripe.begin();
    if (reason) {
      emit(TaskFinished{task, TaskState::failed, reason});
    } else {
      emit(TaskReady{task});
    }
  }
}

void Decider::cancel_groups() {
  for (std::size_t left = kCancelsPerStep; left > 0 && !state_.cancelling.empty(); --left) {
    const GroupId group = state_.cancelling.begin()->first;
    cancel(state_.tasks.row(state_.groups.at(group).first).no);
  }
}

// Work is stopped for other work at whole seconds only: what a plan costs is then bounded however
// many events come, and any two engines ask at the same instants.
bool Decider::preempt() {
  if (!is_time_to_preempt(state_)) return false;
  std::vector<TaskNo> waiting = first_to_ask(state_, kPreemptorsTried);
  if (is_known_without_plan(state_, waiting)) {
    state_.placed.arrivals_stale = false;
    return false;
  }
  const PreemptionAnswer answer = plan_preemption(state_, waiting);
  if (answer.plan) {
    carry_out(state_, *answer.plan, scratch_);
  } else {
    note_no_plan(state_, std::move(waiting), answer.again);
  }
  return answer.plan.has_value();
}

bool Decider::settle() {
  cancel_groups();
  if (!state_.cancelling.empty()) return false;  // nothing starts that is about to be cancelled
  decide_ripe();
  if (state_.starts_held) return state_.ripe.empty();
  for (std::uint32_t starts = 0; starts < state_.policy.starts_per_step; ++starts) {
    scratch_.clear();
    settle_placed(state_);
    if (!next_decision(state_, scratch_) && !preempt()) return state_.ripe.empty();
    for (Action& action : scratch_)
      emit(std::move(action));
  }
  settle_placed(state_);  // whoever asks before the next step finds what would start next
  return false;
}

}  // namespace berth::core
