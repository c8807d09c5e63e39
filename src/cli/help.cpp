// See help.h.
#include "cli/help.h"

#include <algorithm>
#include <array>

#include "cli/table.h"

namespace berth::cli {
namespace {

constexpr std::array kShownGroups = {Group::work, Group::cluster, Group::administration,
                                     Group::local};

void print_pairs(std::ostream& out,
                 const std::vector<std::pair<std::string, std::string_view>>& pairs) {
  std::size_t widest = 0;
  for (const auto& [left, right] : pairs)
    widest = std::max(widest, width_of(left));
  for (const auto& [left, right] : pairs)
    out << "  " << left << std::string(widest - width_of(left) + 2, ' ') << right << "\n";
}

}  // namespace

std::string_view title_of(Group group) {
  switch (group) {
    case Group::work:
      return "work";
    case Group::cluster:
      return "the cluster";
    case Group::administration:
      return "administration";
    case Group::local:
      return "on this machine";
    case Group::hidden:
      break;
  }
  return "hidden";
}

std::vector<std::string> usage_lines(const Command& command) {
  std::vector<std::string> lines;
  std::string_view rest = command.usage;
  for (;;) {
    const std::size_t end = rest.find('\n');
    std::string line = "berth " + std::string(command.name);
    if (const auto part = rest.substr(0, end); !part.empty()) line.append(" ").append(part);
    lines.push_back(line);
    if (end == rest.npos) return lines;
    rest.remove_prefix(end + 1);
  }
}

void print_overview(std::ostream& out, std::span<const Command> commands) {
  out << "Berth schedules GPU work: batches, models, tenants, on one node or many.\n"
         "\n"
         "usage: berth COMMAND [ARGUMENTS]\n";
  std::size_t widest = 0;
  for (const Command& command : commands) {
    if (command.group != Group::hidden) widest = std::max(widest, command.name.size());
  }
  for (const Group group : kShownGroups) {
    out << "\n" << title_of(group) << ":\n";
    for (const Command& command : commands) {
      if (command.group != group) continue;
      out << "  " << command.name << std::string(widest - command.name.size() + 2, ' ')
          << command.summary << "\n";
    }
  }
  out << "\n"
         "  berth COMMAND --help   explains a command\n"
         "  berth --version        prints the version\n"
         "\n"
         "try: berth serve, and in another terminal: berth submit --queue llm --wait -- echo hi\n";
}

void print_command_help(std::ostream& out, const Command& command) {
  std::string summary(command.summary);
  summary[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(summary[0])));
  out << summary << ".\n";
  if (!command.description.empty()) out << "\n" << command.description << "\n";
  const char* before = "\nusage: ";
  for (const std::string& line : usage_lines(command)) {
    out << before << line << "\n";
    before = "       ";
  }
  std::vector<std::pair<std::string, std::string_view>> pairs;
  for (const Positional& argument : command.positional)
    pairs.emplace_back(argument.name, argument.help);
  if (!pairs.empty()) out << "\narguments:\n";
  print_pairs(out, pairs);
  const std::vector<Flag> own = own_flags(command);
  if (!own.empty()) out << "\noptions:\n" << flag_help(own);
  if (command.reach == Reach::server) {
    out << "\noptions of every command that asks a server:\n" << flag_help(server_flags());
  }
  out << "\nexit codes:\n";
  pairs.clear();
  for (const ExitCode& exit : kExitCodes) {
    const bool concerns =
        exit.of_waiting ? command.waits : command.reach == Reach::server || exit.code <= kBadInput;
    if (concerns) pairs.emplace_back(std::to_string(exit.code), exit.meaning);
  }
  print_pairs(out, pairs);
  if (!command.examples.empty()) out << "\nexamples:\n";
  for (const std::string_view example : command.examples)
    out << "  " << example << "\n";
}

void print_family_help(std::ostream& out, std::string_view word,
                       std::span<const Command> commands) {
  out << "usage: berth " << word << " COMMAND [ARGUMENTS]\n\ncommands:\n";
  std::vector<std::pair<std::string, std::string_view>> pairs;
  for (const Command& command : commands) {
    const bool shown = command.group != Group::hidden;
    if (shown && command.name.starts_with(std::string(word) + " "))
      pairs.emplace_back(command.name.substr(word.size() + 1), command.summary);
  }
  print_pairs(out, pairs);
  out << "\n  berth " << word << " COMMAND --help   explains a command\n";
}

}  // namespace berth::cli
