// The flags of `berth submit` as a request: a command, a script or a payload, and all it needs.
#pragma once

#include "berth/v1/scheduler.pb.h"
#include "cli/batch_script.h"
#include "cli/commands.h"
#include "cli/values.h"

namespace berth::cli {

// `script` null: the positional arguments are the command. Else they are the script's name and its
// arguments. What is wrong is noted in the values.
v1::SubmitTaskRequest read_task_request(const Call& call, const BatchScript* script,
                                        Values& values);

}  // namespace berth::cli
