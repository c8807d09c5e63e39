// Output of a command into files of its folder: --output and --error of `berth submit`.
//
// A name may hold %j (the task's id), %A (the same), %a (its place in an array), %x (its group), %u
// (the user), %t (its rank) and %%, as Slurm has them. What is written is added to a file, so that
// no attempt and no rank takes away what another wrote.
#pragma once

#include <string>

#include "base/result.h"
#include "berth/v1/task.pb.h"

namespace berth::cli {

// "" for a name: that stream goes where it went. Without `error`, stderr goes with stdout.
Result<v1::Command> redirected(const v1::Command& command, const std::string& output,
                               const std::string& error, const std::string& group);

}  // namespace berth::cli
