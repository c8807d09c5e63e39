// The commands of the shell. To add one: write its function, declare it here, add its line to the
// table in commands.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/console.h"

namespace berth::cli {

using Args = std::span<const std::string>;

struct Command {
  std::string_view name;
  std::string_view summary;
  int (*run)(Args args, Console& console);
};

std::span<const Command> commands();

// Runs what the arguments (without the program's name) ask for; returns the exit code.
int run_command_line(Args args, Console& console);

// berth sim FILE … and berth sim compare FILE …
int run_sim(Args args, Console& console);

// berth bench core …
int run_bench(Args args, Console& console);

// "berth: message", the command's help named; returns kBadInput.
int bad_usage(Console& console, std::string_view command, std::string_view message);

}  // namespace berth::cli
