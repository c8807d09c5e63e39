// The parts of the engine, for its own files only: applying, deciding, and the round that joins
// them. Only files named engine* may include this; it is where all stages meet.
#pragma once

#include <optional>

#include "core/action.h"
#include "core/event.h"
#include "core/model/explanation.h"
#include "core/state/state.h"

namespace berth::core {

// --- engine_apply.cpp: the only writers ---

// Moves time forward; timers that only re-sort (kQuietTimerKinds) take effect at their instants.
void apply_time(State& state, Time now);
void apply_quiet_timer(State& state, const DueTimer& timer);
void apply_event(State& state, const Event& event);
void apply_action(State& state, const Action& action);

// --- engine_decide.cpp: what an event or a timer asks for ---

// Collects actions. Each is applied at once, so that the next decision sees it.
class Decider {
 public:
  // `scratch` is memory to reuse.
  Decider(State& state, Actions& out, Actions& scratch)
      : state_(state), out_(out), scratch_(scratch) {}

  // From here on actions are decided at this instant, by a timer.
  void at_timer(Time instant) { instant_ = instant; }
  void at_event() { instant_ = Time::never(); }

  void answer(const Event& event);
  // A timer that decides something: a task's or a lease's.
  void fire(const DueTimer& timer);
  void evict_idle(GpuId gpu);
  // Groups to cancel, ripe tasks, then batches, within the limits per step. False: something was
  // left to do.
  bool settle();

 private:
  void emit(Action action);
  void answer_submit();
  void answer_request(TaskNo task, ReasonCode refusal);
  void cancel(TaskNo task);
  void hold(TaskNo task);
  void end_task(LeaseId lease, const TaskOutcome& outcome);
  // `ran`: as told; none: until now.
  void end_lease(const LeaseEnded& ended, std::optional<Duration> ran = std::nullopt);
  void clear_for_mig(GpuId gpu);
  void lose_gpu(GpuId gpu);
  void lose_node(NodeId node);
  void cancel_groups();
  void decide_ripe();
  bool preempt();

  State& state_;
  Actions& out_;
  Actions& scratch_;
  Time instant_ = Time::never();
};

// --- engine_choose.cpp: the order of decision, read only ---

// Appends the actions of the next decision about free GPUs: start a batch, load a model (and evict
// others first), hold a GPU, or step aside. False: there is nothing to decide.
bool next_decision(const State& state, Actions& out);

}  // namespace berth::core
