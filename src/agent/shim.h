// The shim: the tiny program between the agent and one task's command.
//
// It outlives the agent: it claims the task, runs the command in a session of its own, keeps its
// output, enforces its limits and writes down how it ended. Everything it needs stands in the
// task's folder (task_folder.h), everything it has to say too. SIGTERM asks it to stop the task.
#pragma once

#include <filesystem>

namespace berth::agent {

// Does all this and returns the exit status for main: 0 when an exit record was written, else why
// not on stderr. For a process of its own: it takes over signals, children and open files.
int run_shim(const std::filesystem::path& folder);

}  // namespace berth::agent
