// berth man: a man page for each command; berth __reference: the part of the guide made from them.
#include <array>
#include <filesystem>

#include "cli/commands.h"
#include "cli/help.h"
#include "cli/manual.h"
#include "cli/output_file.h"

namespace berth::cli {
namespace {

constexpr std::array kFolder = {Positional{"DIR", "where to write them; made if it is not there"}};
constexpr std::array<std::string_view, 2> kManualExamples = {
    "berth man ~/.local/share/man/man1",
    "man berth-submit",
};

bool write_file(const Call& call, const std::string& path, const std::string& text) {
  OutputFile file;
  if (file.open(path)) file.write(text);
  if (file.close()) return true;
  complain(call.console, file.error());
  return false;
}

int run_man(const Call& call) {
  const std::filesystem::path folder = call.args.positional().front();
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return complain(call.console, "cannot make " + folder.string() + ": " + error.message());
  if (!write_file(call, folder / "berth.1", man_overview(call.commands))) return kFailed;
  for (const Command& command : call.commands) {
    if (command.group == Group::hidden) continue;
    if (!write_file(call, folder / man_file_name(command), man_page(command))) return kFailed;
  }
  return kOk;
}

int run_reference(const Call& call) {
  call.console.out << reference_common();
  for (const Group group : {Group::work, Group::cluster, Group::administration, Group::local}) {
    std::string title(title_of(group));
    title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(title[0])));
    call.console.out << "\n## " << title << "\n";
    for (const Command& command : call.commands) {
      if (command.group == group) call.console.out << "\n" << reference_section(command);
    }
  }
  return kOk;
}

constexpr std::array kManualCommands = {
    Command{.name = "man",
            .group = Group::local,
            .summary = "write the man pages of all commands",
            .usage = "DIR",
            .run = run_man,
            .positional = kFolder,
            .examples = kManualExamples},
    Command{.name = "__reference",
            .group = Group::hidden,
            .summary = "print the commands as the guide shows them",
            .usage = "",
            .run = run_reference},
};

}  // namespace

std::span<const Command> manual_commands() { return kManualCommands; }

}  // namespace berth::cli
