// Control groups, version 2: the CPUs, memory and processes that a task may have, enforced by the
// kernel.
//
// All tasks' groups stand in one group, the root, that holds no process itself: ROOT/LEASE.TASK.
// The agent prepares the root; each task's shim makes, fills and removes the group of its task, and
// stays outside. Knows no leases.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include "agent/files.h"
#include "base/result.h"

namespace berth::agent {

// Zero: without limit.
struct GroupLimits {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mb = 0;
  std::int64_t processes = 0;  // and threads
  bool operator==(const GroupLimits&) const = default;
};

// Makes the root where it is missing, lets its groups have limits, and removes those that are
// empty. An error: the kernel does not offer it here, or does not let this process.
Status prepare_group_root(const std::filesystem::path& root);

// Whether that would do, and leaves everything as it was: another agent may be using it.
Status try_group_root(const std::filesystem::path& root);

// Ends all in the group of a task whose shim cannot do so any more, and removes it. False: some are
// dying still. An empty path, or no such group: nothing is left.
bool end_group(const std::filesystem::path& group);

// The group of one task, for its shim. Removed with its owner, if it is empty by then.
class TaskGroup {
 public:
  // An empty path: none, and everything below does nothing.
  static Result<TaskGroup> make(const std::string& path, const GroupLimits& limits);
  TaskGroup() = default;
  TaskGroup(TaskGroup&& other) noexcept { *this = std::move(other); }
  TaskGroup& operator=(TaskGroup&& other) noexcept;
  ~TaskGroup();

  // A process that writes "0" to it is in the group, with all that it starts. -1: there is no
  // group.
  int entrance() const { return entrance_.get(); }
  void kill_all() const;
  // The kernel has killed one of its processes for want of memory.
  bool ran_out_of_memory() const;

 private:
  void remove();

  std::string path_;
  Fd entrance_;
};

}  // namespace berth::agent
