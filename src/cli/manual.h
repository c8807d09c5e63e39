// Man pages and the reference of the guide, made from the table of commands.
#pragma once

#include <span>
#include <string>

#include "cli/commands.h"

namespace berth::cli {

// The page of one command in roff, and that of the program as a whole.
std::string man_page(const Command& command);
std::string man_overview(std::span<const Command> commands);
// "berth-put-tenant.1"
std::string man_file_name(const Command& command);

// A section of docs/guide/cli.md in Markdown: the command's usage, arguments, options, examples.
std::string reference_section(const Command& command);
// The options of every command that asks a server, and the exit codes.
std::string reference_common();

}  // namespace berth::cli
