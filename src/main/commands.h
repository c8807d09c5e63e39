// The commands that need the server's own layers: they run one, or work on its data folder. The
// shell's table gets them from the composition root.
#pragma once

#include <vector>

#include "cli/commands.h"

namespace berth::main {

std::vector<cli::Command> server_commands();

// The tables of the files.
std::span<const cli::Command> serve_commands();
std::span<const cli::Command> config_commands();
std::span<const cli::Command> token_commands();
std::span<const cli::Command> data_commands();
std::span<const cli::Command> doctor_commands();
std::span<const cli::Command> service_bench_commands();

}  // namespace berth::main
