// BatchScript: a script that is submitted as a task, with the flags that its first comments hold.
//
// #BERTH lines hold flags of `berth submit`; #SBATCH lines hold options of Slurm, of which some
// mean the same here. They are read up to the first line that is neither empty nor a comment. A
// copy of the script travels with the task, so that what is changed after the submit changes
// nothing: to a shell as the text behind -c, to another interpreter as a file without a name.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "berth/v1/task.pb.h"
#include "cli/arguments.h"

namespace berth::cli {

// What a script may have: the kernel takes no argument of 128 KiB or more.
inline constexpr std::size_t kScriptBytesMax = 120U << 10U;

struct ScriptLine {
  std::string place;  // "train.sh:3"
  bool is_slurm = false;
  std::vector<std::string> words;  // behind the keyword
};

struct BatchScript {
  std::string path;  // from the root on
  std::string text;
  std::vector<std::string> interpreter;  // with at most one argument, as the kernel splits it
  std::vector<ScriptLine> lines;
};

// `name` as it was given, `folder` from which it counts.
Result<BatchScript> read_batch_script(const std::string& name, const std::string& folder);

struct ScriptFlags {
  Arguments flags;
  std::vector<std::string> ignored;  // a sentence each
  std::vector<std::string> errors;
};
// The flags of the lines; those of #BERTH go before those of #SBATCH.
ScriptFlags flags_of(const BatchScript& script, std::span<const Flag> known);

// The command that runs the script with these arguments.
v1::Command command_of(const BatchScript& script, std::span<const std::string> arguments);

}  // namespace berth::cli
