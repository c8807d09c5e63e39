// How a task that was waited for ended, as an exit code and as a sentence.
//
// A command's own exit status is the code; a signal is 128 and its number, as shells have it. What
// has no status of its own has a code of exit_codes.h.
#pragma once

#include "berth/v1/scheduler.pb.h"
#include "cli/session.h"
#include "cli/watch.h"

namespace berth::cli {

// By the server, after like failures; not by a person, who knows when to release it.
bool is_held_by_server(const v1::TaskStatus& task);

// Whether nothing more happens to it by itself: it has ended, or the server holds it.
bool is_settled(const v1::TaskStatus& task);

// REQUIRES is_settled(task).
int end_code(const v1::TaskStatus& task);

// Says how it ended, unless it completed, and what to do next; returns end_code().
int tell_end(const Session& session, const TaskName& name, const v1::TaskStatus& task);

}  // namespace berth::cli
