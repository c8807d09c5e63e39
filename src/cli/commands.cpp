// See commands.h.
#include "cli/commands.h"

#include <algorithm>
#include <array>
#include <vector>

#include "config/diagnostics.h"

#ifndef BERTH_VERSION
#define BERTH_VERSION "unknown"
#endif

namespace berth::cli {
namespace {

constexpr std::array kCommands = {
    Command{"sim", "run a scenario in virtual time and report how it went", run_sim},
    Command{"bench", "measure the engine on this machine", run_bench},
};

void print_help(std::ostream& out) {
  out << "Berth schedules GPU work: batches, models, tenants, on one node or many.\n"
         "\n"
         "usage: berth COMMAND [ARGUMENTS]\n"
         "\n"
         "commands:\n";
  std::size_t widest = 0;
  for (const Command& command : kCommands)
    widest = std::max(widest, command.name.size());
  for (const Command& command : kCommands) {
    out << "  " << command.name << std::string(widest - command.name.size() + 2, ' ')
        << command.summary << "\n";
  }
  out << "\n"
         "  berth COMMAND --help   explains a command\n"
         "  berth --version        prints the version\n"
         "\n"
         "try: berth sim examples/first-run.toml\n";
}

}  // namespace

std::span<const Command> commands() { return kCommands; }

int bad_usage(Console& console, std::string_view command, std::string_view message) {
  console.err << "berth" << (command.empty() ? "" : " ") << command << ": " << message << "\n"
              << "Try 'berth" << (command.empty() ? "" : " ") << command << " --help'.\n";
  return kBadInput;
}

int run_command_line(Args args, Console& console) {
  if (args.empty()) {
    print_help(console.err);
    return kBadInput;
  }
  const std::string& name = args.front();
  if (name == "--help" || name == "-h" || name == "help") {
    print_help(console.out);
    return kOk;
  }
  if (name == "--version" || name == "version") {
    console.out << "berth " BERTH_VERSION "\n";
    return kOk;
  }
  const auto command = std::ranges::find(kCommands, name, &Command::name);
  if (command != kCommands.end()) return command->run(args.subspan(1), console);

  std::vector<std::string> names;
  for (const Command& known : kCommands)
    names.emplace_back(known.name);
  const bool is_flag = name.starts_with('-');
  if (is_flag) names = {"--help", "--version"};
  return bad_usage(console, "",
                   (is_flag ? "unknown option " : "unknown command ") + config::quoted(name) +
                       config::suggestion(name, names));
}

}  // namespace berth::cli
