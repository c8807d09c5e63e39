// Surroundings: what a command finds around it as if it ran where the person stands: the folder,
// and the variables by which an activated environment is found.
//
// They are names and values only; whether the folder is there and may be entered, the machine finds
// out on which the command runs.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "berth/v1/task.pb.h"
#include "cli/console.h"
#include "cli/values.h"

namespace berth::cli {

inline constexpr std::array<std::string_view, 5> kCarriedVariables = {
    "PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "HF_HOME"};

// The variables that are set here. Those that the task has already stay as they are.
void carry_variables(const Console& console, v1::TaskSpec& spec);

// The path from the root on, without dots; "": it is relative, and the folder is not known.
std::string absolute_path(const std::string& path, const std::string& folder);

// --workdir, --no-workdir, --env and --no-env of a command, with what is sent without them.
void read_surroundings(const Call& call, v1::TaskSpec& spec, Values& values);

}  // namespace berth::cli
