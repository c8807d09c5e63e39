// Change: a task that has not started becomes another, in part of what it asked for.
//
// The first stage once more: a task may enter another queue only if it could have been submitted
// there. Its place in the order is as old as it was.
#pragma once

#include "core/action.h"
#include "core/event.h"
#include "core/state/state.h"

namespace berth::core {

// Answers with TaskChanged, or TaskRefused and why not.
Action judge_change(const State& state, const ChangeTask& change);

// Applies TaskChanged. What the task had claimed by preemption is given up.
void change_task(State& state, const TaskChanged& changed);

}  // namespace berth::core
