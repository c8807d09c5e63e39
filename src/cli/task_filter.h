// The flags that choose tasks, shared by the commands that list, watch and cancel them.
#pragma once

#include "berth/v1/scheduler.pb.h"
#include "cli/arguments.h"
#include "cli/values.h"

namespace berth::cli {

inline constexpr Flag kTenantFlag{"--tenant", "TENANT",
                                  "only this tenant's (default: all that you may see)"};
inline constexpr Flag kQueueFlag{"--queue", "QUEUE", "only this queue's"};
inline constexpr Flag kGroupFlag{"--group", "GROUP", "only this group's"};
inline constexpr Flag kStateFlag{
    "--state", "waiting|pending|starting|running|completed|failed|cancelled|expired",
    "only tasks in this state; may be repeated"};
inline constexpr Flag kLabelFlag{"--label", "KEY=VALUE",
                                 "only tasks with this label; may be repeated"};

// The filter that the flags describe; what is wrong is noted in the values.
v1::TaskFilter read_filter(const Call& call, Values& values);

// " --tenant NAME" if the flag was given, for command lines shown to people.
std::string tenant_words(const Call& call);

// "12 completed, 10 running, 78 pending": what has ended first.
std::string counts_text(const v1::ArrayStatus& array);
// "x[0-99]" of an array.
std::string shown_id(const v1::TaskStatus& task);

// Why the task is not running, or why it did not complete; filled for all that does not run. Of
// an array, how many of its tasks are in which state.
std::string reason_text(const v1::TaskStatus& task);
// How an attempt ended; "": it completed and has nothing to say.
std::string result_text(const v1::TaskResult& result);
// One sentence with its numbers.
std::string sentence_of(const v1::Reason& reason);

}  // namespace berth::cli
