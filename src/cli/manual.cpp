// See manual.h.
#include "cli/manual.h"

#include <algorithm>
#include <array>

#include "cli/help.h"

namespace berth::cli {
namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kVariables = {{
    {"BERTH_SERVER", "HOST:PORT of the server, unless --server is given."},
    {"BERTH_TOKEN", "Who asks, unless --token is given."},
    {"BERTH_CA", "Certificates to trust, unless --ca is given."},
    {"BERTH_CERT", "This client's own certificate, unless --cert is given."},
    {"BERTH_KEY", "Its key, unless --key is given."},
    {"NO_COLOR", "If set and not empty: no colours, even on a terminal."},
}};

// The text as roff shows it: no character is taken for a request.
std::string roff(std::string_view text) {
  std::string result;
  bool at_start = true;
  for (const char c : text) {
    if (at_start && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
    at_start = c == '\n';
  }
  return result;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + roff(text) + "\\fR"; }

std::string capital(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) {
    return c == ' ' ? '-' : static_cast<char>(std::toupper(c));
  });
  return result;
}

std::string dashed(std::string_view name) {
  std::string result(name);
  std::ranges::replace(result, ' ', '-');
  return result;
}

std::string heading(std::string_view title) {
  return ".TH \"" + std::string(title) + "\" \"1\" \"\" \"berth " + std::string(version()) +
         "\" \"Berth\"\n";
}

std::string tagged(const std::string& tag, std::string_view text) {
  return ".TP\n" + tag + "\n" + roff(text) + "\n";
}

std::string flag_entries(std::span<const Flag> flags) {
  std::string text;
  for (const Flag& flag : flags) {
    std::string tag = bold(flag.name);
    if (!flag.value.empty()) tag += " " + italic(flag.value);
    text += tagged(tag, flag.help);
  }
  return text;
}

// Those of waiting are only for commands that wait.
std::string exit_entries(bool waits) {
  std::string text = ".SH \"EXIT STATUS\"\n";
  for (const ExitCode& exit : kExitCodes) {
    if (waits || !exit.of_waiting) text += tagged(bold(std::to_string(exit.code)), exit.meaning);
  }
  return text;
}

std::string variable_entries() {
  std::string text = ".SH ENVIRONMENT\n";
  for (const auto& [name, meaning] : kVariables)
    text += tagged(bold(name), meaning);
  return text;
}

std::string with_capital(std::string_view sentence) {
  std::string text(sentence);
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text + ".";
}

// An empty line parts them.
std::vector<std::string> paragraphs_of(std::string_view text) {
  std::vector<std::string> paragraphs;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find("\n\n"), text.size());
    paragraphs.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 2, text.size()));
  }
  return paragraphs;
}

std::string table_row(std::string_view left, std::string_view right) {
  std::string text(left);
  for (std::size_t at = 0; (at = text.find('|', at)) != text.npos; at += 2)
    text.insert(at, "\\");
  return "| `" + text + "` | " + std::string(right) + " |\n";
}

std::string flag_rows(std::span<const Flag> flags) {
  std::string text = "| option | |\n|---|---|\n";
  for (const Flag& flag : flags) {
    std::string left(flag.name);
    if (!flag.value.empty()) left.append(" ").append(flag.value);
    text += table_row(left, flag.help);
  }
  return text;
}

}  // namespace

std::string man_file_name(const Command& command) { return "berth-" + dashed(command.name) + ".1"; }

std::string man_page(const Command& command) {
  std::string text = heading("BERTH-" + capital(command.name));
  text +=
      ".SH NAME\nberth\\-" + roff(dashed(command.name)) + " \\- " + roff(command.summary) + "\n";
  text += ".SH SYNOPSIS\n.nf\n";
  for (const std::string& line : usage_lines(command))
    text += roff(line) + "\n";
  text += ".fi\n.SH DESCRIPTION\n" + roff(with_capital(command.summary)) + "\n";
  for (const std::string& paragraph : paragraphs_of(command.description))
    text += ".PP\n" + roff(paragraph) + "\n";
  for (const Positional& argument : command.positional)
    text += tagged(italic(argument.name), argument.help);
  const bool asks = command.reach == Reach::server;
  const std::vector<Flag> own = own_flags(command);
  if (asks || !own.empty()) text += ".SH OPTIONS\n" + flag_entries(own);
  if (asks) text += ".SS \"Of every command that asks a server\"\n" + flag_entries(server_flags());
  text += exit_entries(command.waits);
  if (asks) text += variable_entries();
  if (!command.examples.empty()) text += ".SH EXAMPLES\n.nf\n";
  for (const std::string_view example : command.examples)
    text += roff(example) + "\n";
  if (!command.examples.empty()) text += ".fi\n";
  return text + ".SH \"SEE ALSO\"\n" + bold("berth") + "(1)\n";
}

std::string man_overview(std::span<const Command> commands) {
  std::string text = heading("BERTH");
  text += ".SH NAME\nberth \\- schedule GPU work\n.SH SYNOPSIS\n" + bold("berth") + " " +
          italic("COMMAND") + " [" + italic("ARGUMENTS") +
          "]\n.SH DESCRIPTION\nBerth schedules GPU work: batches, models, tenants, on one node or "
          "many.\n";
  for (const Group group : {Group::work, Group::cluster, Group::administration, Group::local}) {
    text += ".SS \"Commands: " + std::string(title_of(group)) + "\"\n";
    for (const Command& command : commands) {
      if (command.group != group) continue;
      text += tagged(bold("berth-" + dashed(command.name)) + "(1)", command.summary);
    }
  }
  return text + exit_entries(true) + variable_entries();
}

std::string reference_section(const Command& command) {
  std::string text = "### berth " + std::string(command.name) + "\n\n";
  text += with_capital(command.summary);
  const char* before = " ";
  for (std::string& paragraph : paragraphs_of(command.description)) {
    std::ranges::replace(paragraph, '\n', ' ');
    text += before + paragraph;
    before = "\n\n";
  }
  text += "\n\n```\n";
  for (const std::string& line : usage_lines(command))
    text += line + "\n";
  text += "```\n";
  if (!command.positional.empty()) {
    text += "\n| argument | |\n|---|---|\n";
    for (const Positional& argument : command.positional)
      text += table_row(argument.name, argument.help);
  }
  if (const auto own = own_flags(command); !own.empty()) text += "\n" + flag_rows(own);
  if (command.examples.empty()) return text;
  text += "\n```\n";
  for (const std::string_view example : command.examples)
    text += std::string(example) + "\n";
  return text + "```\n";
}

std::string reference_common() {
  std::string text = "Options of every command that asks a server:\n\n" + flag_rows(server_flags());
  text += "\nExit codes:\n\n| code | |\n|---|---|\n";
  for (const ExitCode& exit : kExitCodes)
    text += table_row(std::to_string(exit.code), exit.meaning);
  return text;
}

}  // namespace berth::cli
