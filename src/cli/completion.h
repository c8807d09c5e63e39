// Completion scripts for bash, zsh and fish, made from the table of commands.
//
// Commands, flags and fixed values stand in the script; names of queues, tenants, tasks, GPUs,
// kinds of GPU and models are asked of the server by `berth __complete KIND WORD...`.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"

namespace berth::cli {

// What completes a flag's value or an argument: follows from the name it has in the help.
struct Completion {
  enum class Kind { nothing, words, names, files } kind = Kind::nothing;
  std::vector<std::string> words;  // the words themselves, or the one kind of names
};
Completion completion_of(std::string_view value);

std::string bash_script(std::span<const Command> commands);
std::string zsh_script(std::span<const Command> commands);
std::string fish_script(std::span<const Command> commands);

}  // namespace berth::cli
