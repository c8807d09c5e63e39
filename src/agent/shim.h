// The shim: the small process between the agent and one task's command.
//
// It outlives the agent: it claims the task, runs the command, keeps its output, enforces its
// limits and writes down how it ended. Everything it has to say stands in the task's files
// (task_record.h). SIGTERM asks it to stop the task.
#pragma once

#include <cstdint>

#include "agent/intent.h"

namespace berth::agent {

// For a process of its own, forked by the launcher: it takes over signals, children and open files.
// `oom_kills` is how often the kernel had killed for want of memory, shortly before.
void run_shim(const Intent& intent, std::int64_t oom_kills);

}  // namespace berth::agent
