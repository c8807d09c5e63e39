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

// Ends a shim that does nothing, and before it all that came from it, in whatever session: while it
// is there, every process that loses its parent is its child. An error: not all could be looked at.
Status kill_family(const ProcessIdentity& shim);

// Ends all processes of the session that `leader` began, when it cannot do so any more itself. A
// pid that has been given to somebody else since proves that nobody of that session is left. An
// error: not all could be looked at now.
Status kill_session(const ProcessIdentity& leader);

// Direct children of the calling process.
std::vector<pid_t> own_children();

// How often the kernel has killed a process for want of memory, since the boot.
std::int64_t kernel_oom_kills();

}  // namespace berth::agent
