// See batch_script.h.
#include "cli/batch_script.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cli/script_words.h"
#include "cli/slurm_options.h"
#include "cli/surroundings.h"
#include "cli/text.h"
#include "config/diagnostics.h"

namespace berth::cli {
namespace {

// Writes the copy, opens it, takes its name away, and lets the interpreter read what is open. $1 is
// the text, $2 the interpreter's words.
constexpr const char* kRunCopy =
    "copy=$(mktemp \"${TMPDIR:-/tmp}/berth-script.XXXXXX\") || exit 126\n"
    "printf %s \"$1\" > \"$copy\" && exec 3< \"$copy\" || exit 126\n"
    "rm -f \"$copy\"; shift\n"
    "exec \"$@\"";

std::string_view without_carriage_return(std::string_view line) {
  return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
}

// "#!/usr/bin/env python3" -> its two words; "/bin/sh" where there is none.
std::vector<std::string> interpreter_of(std::string_view first_line) {
  if (!first_line.starts_with("#!")) return {"/bin/sh"};
  first_line.remove_prefix(2);
  const auto trimmed = [](std::string_view text) {
    const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
    const std::size_t end = text.find_last_not_of(" \t");
    return end == text.npos ? std::string_view() : text.substr(begin, end + 1 - begin);
  };
  const std::string_view line = trimmed(first_line);
  const std::size_t space = std::min(line.find_first_of(" \t"), line.size());
  std::vector<std::string> words = {std::string(line.substr(0, space))};
  const std::string_view argument = trimmed(line.substr(space));
  if (!argument.empty() && argument != "-" && argument != "--") words.emplace_back(argument);
  return words;
}

std::string base_name(std::string_view path) {
  return std::string(path.substr(path.rfind('/') + 1));  // npos + 1 is 0
}

// Whether the interpreter takes a script as the text behind -c.
bool is_shell(const std::vector<std::string>& interpreter) {
  constexpr std::array<std::string_view, 5> kShells = {"sh", "bash", "dash", "ksh", "zsh"};
  std::string program = base_name(interpreter.front());
  if (program == "env" && interpreter.size() > 1) {
    std::istringstream words(interpreter[1]);
    while (words >> program && (program.starts_with('-') || program.find('=') != program.npos)) {
    }
    program = base_name(program);
  }
  return std::ranges::find(kShells, program) != kShells.end();
}

std::string unreadable(const std::string& name, const std::string& why) {
  return "cannot read the script " + config::quoted(name) + ": " + why +
         "; a command stands behind --: berth submit … -- " + shell_word(name);
}

// "": it can be sent.
std::string flaw_in(const std::string& name, const std::string& text) {
  const std::string script = "the script " + config::quoted(name);
  if (text.find('\0') != text.npos) {
    return config::quoted(name) + " is a program, not a script; put it behind --: berth submit … " +
           "-- " + shell_word(name);
  }
  if (text.find_first_not_of(" \t\r\n") == text.npos) return script + " is empty";
  if (text.substr(0, text.find('\n')).ends_with('\r'))
    return script + " has the line ends of DOS (CR LF); convert it, as with dos2unix";
  if (text.size() > kScriptBytesMax) {
    return script + " has " + std::to_string(text.size()) + " bytes; the limit is " +
           std::to_string(kScriptBytesMax) + ". Put the bulk of it in files that it calls";
  }
  return {};
}

std::vector<ScriptLine> lines_of(const std::string& name, const std::string& text,
                                 std::string& error) {
  std::vector<ScriptLine> lines;
  std::istringstream stream(text);
  std::size_t number = 0;
  for (std::string whole; std::getline(stream, whole);) {
    const std::string_view line = without_carriage_return(whole);
    ++number;
    if (line.find_first_not_of(" \t") == line.npos) continue;
    if (!line.starts_with('#')) break;
    for (const std::string_view keyword : {"#BERTH ", "#SBATCH "}) {
      if (!line.starts_with(keyword)) continue;
      const std::string place = name + ":" + std::to_string(number);
      const auto words = words_of_line(line.substr(keyword.size()));
      if (!words && error.empty()) error = place + ": a quote is not closed";
      lines.push_back({place, keyword == "#SBATCH ", words.value_or(std::vector<std::string>())});
    }
  }
  return lines;
}

// Reads the words of one line as flags and puts them over what is known.
void take_flags(const std::string& place, std::span<const std::string> words,
                std::span<const Flag> known, Arguments& flags, std::vector<std::string>& errors) {
  std::string error;
  auto read = Arguments::parse(words, known, error);
  if (read && !read->positional().empty())
    error = "expected a flag, found " + config::quoted(read->positional().front());
  if (read && read->has("--payload")) error = "a script takes no --payload: it is the command";
  if (!error.empty()) return errors.push_back(place + ": " + error);
  read->set_origin(place);
  // Of flags that may be repeated each line adds its own.
  std::vector<std::string_view> all;
  for (const Flag& flag : known)
    all.push_back(flag.name);
  read->put_over(flags, all);
  flags = std::move(*read);
}

void take_slurm(const ScriptLine& line, std::span<const Flag> known, Arguments& flags,
                ScriptFlags& result) {
  const SlurmReading reading = read_slurm(line.words);
  for (const std::string& option : reading.ignored)
    result.ignored.push_back(line.place + ": #SBATCH " + option + " is ignored");
  for (const std::string& error : reading.errors)
    result.errors.push_back(line.place + ": #SBATCH " + error);
  for (const std::vector<std::string>& words : reading.flags) {
    if (std::ranges::find(known, words.front(), &Flag::name) != known.end()) {
      take_flags(line.place, words, known, flags, result.errors);
    } else {
      result.ignored.push_back(line.place + ": #SBATCH " + words.front() +
                               " is ignored: this berth has no such flag");
    }
  }
}

}  // namespace

Result<BatchScript> read_batch_script(const std::string& name, const std::string& folder) {
  BatchScript script;
  script.path = absolute_path(name, folder);
  if (script.path.empty()) script.path = name;
  std::error_code error;
  if (std::filesystem::is_directory(script.path, error))
    return Error{unreadable(name, "it is a folder")};
  std::ifstream file(script.path, std::ios::binary);
  if (!file) return Error{unreadable(name, std::strerror(errno))};
  std::ostringstream bytes;
  bytes << file.rdbuf();
  script.text = bytes.str();
  if (std::string flaw = flaw_in(name, script.text); !flaw.empty()) return Error{flaw};
  script.interpreter = interpreter_of(script.text.substr(0, script.text.find('\n')));
  std::string flaw;
  script.lines = lines_of(name, script.text, flaw);
  if (!flaw.empty()) return Error{flaw};
  return script;
}

ScriptFlags flags_of(const BatchScript& script, std::span<const Flag> known) {
  ScriptFlags result;
  Arguments slurm = Arguments::unread({});
  result.flags = Arguments::unread({});
  for (const ScriptLine& line : script.lines) {
    if (line.is_slurm)
      take_slurm(line, known, slurm, result);
    else
      take_flags(line.place, line.words, known, result.flags, result.errors);
  }
  result.flags.put_over(slurm);
  return result;
}

v1::Command command_of(const BatchScript& script, std::span<const std::string> arguments) {
  v1::Command command;
  const auto add = [&](const auto& words) {
    for (const auto& word : words)
      command.add_argv(word);
  };
  if (is_shell(script.interpreter)) {
    add(script.interpreter);
    add(std::array<std::string, 3>{"-c", script.text, script.path});
  } else {
    add(std::array<std::string, 5>{"/bin/sh", "-c", kRunCopy, script.path, script.text});
    add(script.interpreter);
    command.add_argv("/dev/fd/3");
  }
  add(arguments);
  return command;
}

}  // namespace berth::cli
