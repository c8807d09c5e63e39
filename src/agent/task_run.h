// TaskRun: the processes of one task, from their start to the end of the last, under its shim.
//
// A task is one process, or the ranks of a gang: they start together, and the first that fails ends
// the others. Every process that loses its parent becomes the shim's child, so the task has ended
// when the shim has no children left. Blocks; knows no record and no agent.
#pragma once

#include <cstdint>

#include "agent/files.h"
#include "agent/intent.h"
#include "agent/task_record.h"

namespace berth::agent {

// `signals` is a signalfd for SIGTERM, which asks to stop, and SIGCHLD. `oom_kills`: how often the
// kernel had killed for want of memory before.
ExitRecord run_task(const Intent& intent, std::int64_t oom_kills, Fd signals);

}  // namespace berth::agent
