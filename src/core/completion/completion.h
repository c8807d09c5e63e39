// Completion: what follows when a task ends, fails, is cancelled or loses its GPU.
//
// Decides from the task's retry rule and the policy's bounds whether it ends, is tried again, or is
// held; emits actions and applies them through the primitives below. One terminal state, once.
#pragma once

#include "core/action.h"
#include "core/state/state.h"

namespace berth::core {

// What becomes of a task that failed: TaskFinished (failed, or expired with its deadline) or
// TaskDeferred. One that never began is put back as if it had not been promised.
Action judge_failure(const State& state, const TaskRow& row, Failure failure);
// What becomes of a task whose GPU was lost: back to its place, or failed after too many losses.
Action judge_loss(const State& state, const TaskRow& row, GpuId gpu);
// Applies TaskFinished; dependants that this unblocks or dooms become ripe.
void finish_task(State& state, const TaskFinished& finished);
// Applies StopTask: the attempt may be there until its lease ends.
void begin_stop(State& state, const StopTask& stop);
// Applies TaskDeferred: back to waiting (or, with eligible_at due, pending at its old
// place), and not before a stopped attempt has ended.
void defer_task(State& state, const TaskDeferred& deferred);
// Applies TaskReady.
void make_ready(State& state, TaskNo task);
// Applies the events of the same names.
void resolve_signal(State& state, SignalId signal);
void release_task(State& state, TaskNo task);
void start_running(State& state, LeaseId lease);

}  // namespace berth::core
