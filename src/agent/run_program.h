// Runs a small tool of the system and takes what it prints, within a time limit.
//
// For nvidia-smi; tasks are not run this way. Blocks its caller, so never the loop.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace berth::agent {

// Its standard output, if it ends with status 0 in time; else it is killed. At most 1 MiB.
Result<std::string> run_program(const std::vector<std::string>& argv, Duration limit);

}  // namespace berth::agent
