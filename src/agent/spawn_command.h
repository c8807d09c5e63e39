// The birth of a task's command: a clean process with its group, signals, working folder, files.
#pragma once

#include <string>
#include <variant>

#include <sys/types.h>

#include "agent/intent.h"

namespace berth::agent {

struct NotSpawned {
  EndCause cause;  // not_executed or not_begun
  std::string message;
};

// Starts the command of the intent as a child that is the leader of a group of its own, and dies
// with the caller. What `rank` has (null: it is none) stands over the task's environment. `out` and
// `err` become its standard output and errors; standard input stays the caller's.
std::variant<pid_t, NotSpawned> spawn_command(const Intent& intent, const RankIntent* rank, int out,
                                              int err);

}  // namespace berth::agent
