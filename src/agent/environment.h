// The environment of a task's command.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "agent/task_user.h"
#include "berth/v1/agent.pb.h"

namespace berth::agent {

struct EnvironmentRules {
  std::vector<std::string> passthrough;  // names that are taken from the agent's own environment
  std::string visible_devices;           // of the leased GPUs, as CUDA_VISIBLE_DEVICES takes them
  const TaskUser* user = nullptr;        // as whom it runs; null: the agent's own
};

// NAME=value, sorted. Later ones win: what is passed through, what the user has, what the task asks
// for, what Berth says. Another user has a HOME of its own, a plain PATH and none of the agent's
// TMPDIR. LD_* and names with TOKEN, SECRET or PASSWORD are never passed through, whatever the list
// says; a task may set them itself.
std::vector<std::string> task_environment(const berth::v1::Lease& lease,
                                          const berth::v1::LeasedTask& task,
                                          const EnvironmentRules& rules,
                                          const std::function<const char*(const char*)>& lookup);

}  // namespace berth::agent
