// The last steps before a task's command runs, in the process that becomes it.
#pragma once

#include <filesystem>

#include "agent/task_folder.h"

namespace berth::agent {

// Becomes the command of the intent. Returns only on failure, with the sentence that says why.
// `out` and `err` become its standard output and errors.
Error exec_task(const Intent& intent, const std::filesystem::path& folder, int out, int err);

}  // namespace berth::agent
