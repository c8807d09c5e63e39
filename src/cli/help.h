// Help texts, made from the table of commands.
#pragma once

#include <ostream>
#include <span>
#include <string_view>

#include "cli/commands.h"

namespace berth::cli {

// "work", "the cluster", …
std::string_view title_of(Group group);

// The lines behind "usage:", each a whole command line.
std::vector<std::string> usage_lines(const Command& command);

void print_overview(std::ostream& out, std::span<const Command> commands);
void print_command_help(std::ostream& out, const Command& command);
// For a first word that several commands share: "put".
void print_family_help(std::ostream& out, std::string_view word, std::span<const Command> commands);

}  // namespace berth::cli
