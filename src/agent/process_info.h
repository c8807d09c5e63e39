// What /proc tells of processes: whether one is still the one it was, and who belongs to it.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

#include "agent/task_record.h"
#include "base/result.h"
#include "base/time.h"

namespace berth::agent {

// Changes with each boot of the machine. Empty where the kernel does not tell. Read once.
const std::string& boot_id();

// When the process started, counted from the boot. 0 if there is no such process, or it cannot be
// read.
std::uint64_t start_ticks_of(pid_t pid);

// The same process still runs; one that has ended and waits for its parent does not. An error: it
// could not be read now.
Result<bool> is_running(const ProcessIdentity& identity);

// It has been suspended by a signal or a debugger, and does nothing. An error: as above.
Result<bool> is_stopped(const ProcessIdentity& identity);

// How long ago the process began.
Duration age_of(const ProcessIdentity& identity);

// Ends all that came from a shim, in whatever session: while it is there, every process that loses
// its parent is its child. An error: not all could be looked at.
Status kill_descendants(const ProcessIdentity& shim);
// The same, and then the shim.
Status kill_family(const ProcessIdentity& shim);

// A task by what its processes can be known by when its shim has ended.
struct Family {
  ProcessIdentity shim;
  std::uint64_t lease = 0;
  pid_t launcher = 0;  // that forked the shim and still runs; 0: none
};

// NAME=value, which each command has in its environment and which names its shim for ever.
std::string shim_mark(const ProcessIdentity& shim);

// Ends what a shim that was killed has left: the processes of its session, those that have its mark
// and its lease in their environment, and the children of its launcher that are no shims, since
// only orphans of a dead shim become that; each with all that came from it. Who has left the
// session and the environment is known by the launcher alone. False: some are dying still. An
// error: not all could be looked at now.
Result<bool> end_leftovers(const Family& family);

// Direct children of the calling process.
std::vector<pid_t> own_children();

// How often the kernel has killed a process for want of memory, since the boot.
std::int64_t kernel_oom_kills();

}  // namespace berth::agent
