// The commands of the shell: one table of values, from which come the dispatch, the help, the man
// pages, the reference and the completion of shells.
//
// To add a command: write its function and add its line to the table of its file; a new file adds
// its table to commands.cpp. The composition root brings its own in a span of the same struct.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.h"
#include "cli/console.h"

namespace berth::cli {

using Args = std::span<const std::string>;

enum class Group { work, cluster, administration, local, hidden };

// An argument without a flag, in its place. Its name is completed like a flag's value.
struct Positional {
  std::string_view name;  // "ID"
  std::string_view help;
  bool required = true;
  bool repeated = false;  // only the last may be
};

enum class Reach {
  local,   // asks no server
  server,  // asks one: takes the flags that say which, and how to print the answer
  unread,  // gets its arguments as they are, --help included
};

// What a command prints, and so which flags it takes for that.
enum class Shows {
  nothing,  // or what --watch and --sort mean nothing for
  one,      // how one thing is: may be watched
  list,     // a list of things: may be watched and sorted
};

struct Command;

// What a command is run with.
struct Call {
  const Command& command;
  const Arguments& args;
  Console& console;
  std::span<const Command> commands;  // all there are
};

struct Command {
  std::string_view name;  // "submit", "put tenant"
  Group group;
  std::string_view summary;  // one line; small letter, no full stop
  std::string_view usage;    // what follows the name; a line for each way to use it
  int (*run)(const Call& call);
  Reach reach = Reach::local;
  std::span<const Flag> flags = {};
  std::span<const Positional> positional = {};
  std::string_view description = {};  // sentences in lines that fit a terminal
  std::span<const std::string_view> examples = {};
  Shows shows = Shows::nothing;
  bool waits = false;  // for the end of a task, and ends as it does
  FlagsEnd flags_end = FlagsEnd::at_dashes;
};

// The flags of every command that asks a server.
std::span<const Flag> server_flags();
// Those of commands that show this.
std::span<const Flag> flags_for(Shows shows);
// The command's own flags, with those for what it shows.
std::vector<Flag> own_flags(const Command& command);
// All that the command takes but --help: its own, then those of every command that asks a server.
std::vector<Flag> all_flags(const Command& command);

// Those of this library, in the order of the help.
std::vector<Command> own_commands();

// Runs what the arguments (without the program's name) ask for; returns the exit code.
int run_command_line(Args args, Console& console, std::span<const Command> more = {});

// "berth: message", the command's help named; returns kBadInput.
int bad_usage(Console& console, std::string_view command, std::string_view message);
inline int bad_usage(const Call& call, std::string_view message) {
  return bad_usage(call.console, call.command.name, message);
}

// "berth: error: message"; returns the code.
int complain(Console& console, std::string_view message, int code = kFailed);

std::string_view version();

// The tables of the files.
std::span<const Command> submit_commands();
std::span<const Command> workflow_commands();
std::span<const Command> wait_commands();
std::span<const Command> task_commands();
std::span<const Command> stream_commands();
std::span<const Command> change_commands();
std::span<const Command> signal_commands();
std::span<const Command> cluster_commands();
std::span<const Command> administration_commands();
std::span<const Command> put_commands();
std::span<const Command> delete_commands();
std::span<const Command> sim_commands();
std::span<const Command> bench_commands();
std::span<const Command> exp_commands();
std::span<const Command> completion_commands();
std::span<const Command> manual_commands();

}  // namespace berth::cli
