// The birth of a task's command: a clean process with its user, group, signals, working folder,
// files.
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

// The caller's descriptors that a command is to have, or -1.
struct CommandFiles {
  int out;          // becomes its standard output
  int err;          // and its standard errors; standard input stays the caller's
  int cgroup = -1;  // the entrance of its control group
};

// Starts the command of the intent as a child that is the leader of a group of its own, and dies
// with the caller; as the intent's user, with nothing of the caller's rights. What `rank` has
// (null: it is none) and the mark of the calling shim stand over the task's environment. A program
// without a slash is looked for in the first 128 folders of the task's PATH.
std::variant<pid_t, NotSpawned> spawn_command(const Intent& intent, const RankIntent* rank,
                                              const CommandFiles& files);

}  // namespace berth::agent
