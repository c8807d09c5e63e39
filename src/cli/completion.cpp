// See completion.h.
#include "cli/completion.h"

#include <algorithm>
#include <map>
#include <sstream>

namespace berth::cli {
namespace {

std::string spaced(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string in_quotes(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'')
      result += "'\\''";
    else
      result += c;
  }
  return result + "'";
}

std::vector<Command> shown(std::span<const Command> commands) {
  std::vector<Command> result;
  std::ranges::copy_if(commands, std::back_inserter(result),
                       [](const Command& command) { return command.group != Group::hidden; });
  return result;
}

std::vector<std::string> completed_words(std::span<const Command> commands) {
  std::vector<std::string> words;
  for (const Command& command : commands) {
    const std::string word(command.name.substr(0, command.name.find(' ')));
    if (std::ranges::find(words, word) == words.end()) words.push_back(word);
  }
  return words;
}

// First word -> the second words that may follow it.
std::map<std::string, std::vector<std::string>> families(std::span<const Command> commands) {
  std::map<std::string, std::vector<std::string>> result;
  for (const Command& command : commands) {
    const std::size_t space = command.name.find(' ');
    if (space == command.name.npos) continue;
    result[std::string(command.name.substr(0, space))].emplace_back(command.name.substr(space + 1));
  }
  return result;
}

std::vector<Flag> offered_flags(const Command& command) {
  std::vector<Flag> flags = all_flags(command);
  flags.push_back({"--help", "", "explain the command"});
  return flags;
}

// The call of a helper function of the script.
std::string helper_call(const Completion& completion) {
  switch (completion.kind) {
    case Completion::Kind::words:
      return "_berth_words " + in_quotes(spaced(completion.words));
    case Completion::Kind::names:
      return "_berth_names " + completion.words.front();
    case Completion::Kind::files:
      return "_berth_files";
    case Completion::Kind::nothing:
      break;
  }
  return ":";
}

// The part that bash and zsh read alike: what may stand at the cursor, by $command and $prev.
std::string shared_cases(std::span<const Command> commands) {
  std::string text;
  for (const Command& command : commands) {
    text += "    " + in_quotes(command.name) + ")\n      case \"$prev\" in\n";
    std::vector<std::string> names;
    for (const Flag& flag : offered_flags(command)) {
      names.emplace_back(flag.name);
      if (flag.value.empty()) continue;
      text += "        " + std::string(flag.name) + ") " + helper_call(completion_of(flag.value)) +
              "; return ;;\n";
    }
    text += "      esac\n      case \"$cur\" in\n        -*) _berth_words " +
            in_quotes(spaced(names)) + " ;;\n";
    const bool has_argument = !command.positional.empty();
    if (has_argument)
      text += "        *) " + helper_call(completion_of(command.positional.back().name)) + " ;;\n";
    text += "      esac ;;\n";
  }
  return text;
}

// Sets $command, or completes a command's second word.
std::string shared_families(std::span<const Command> commands) {
  std::string text;
  for (const auto& [word, members] : families(commands)) {
    std::string alternatives;
    for (const std::string& member : members)
      alternatives += (alternatives.empty() ? "" : "|") + member;
    text += "    " + word + ")\n      if [ \"$index\" -eq 2 ]; then _berth_words " +
            in_quotes(spaced(members)) + "; fi\n      case \"$second\" in\n        " +
            alternatives +
            ") [ \"$index\" -gt 2 ] && command=\"$first $second\" ;;\n      esac ;;\n";
  }
  return text;
}

std::string shared_body(std::span<const Command> commands) {
  return "  if [ \"$index\" -eq 1 ]; then _berth_words " +
         in_quotes(spaced(completed_words(commands))) +
         "; return; fi\n  command=$first\n  case \"$first\" in\n" + shared_families(commands) +
         "  esac\n  case \"$command\" in\n" + shared_cases(commands) + "  esac\n";
}

std::string fish_argument(const Completion& completion) {
  switch (completion.kind) {
    case Completion::Kind::words:
      return " -x -a " + in_quotes(spaced(completion.words));
    case Completion::Kind::names:
      return " -x -a " + in_quotes("(__berth_names " + completion.words.front() + ")");
    case Completion::Kind::files:
      return " -r -F";
    case Completion::Kind::nothing:
      break;
  }
  return " -x";
}

// When the cursor stands behind the command.
std::string fish_condition(const Command& command) {
  const std::size_t space = command.name.find(' ');
  std::string text = "__fish_seen_subcommand_from " + std::string(command.name.substr(0, space));
  if (space != command.name.npos)
    text += "; and __fish_seen_subcommand_from " + std::string(command.name.substr(space + 1));
  return " -n " + in_quotes(text);
}

}  // namespace

Completion completion_of(std::string_view value) {
  static const std::map<std::string_view, std::string> kNames = {
      {"QUEUE", "queues"}, {"TENANT", "tenants"}, {"ID", "tasks"},
      {"GPU", "gpus"},     {"GPU-KIND", "kinds"}, {"MODEL", "models"}};
  if (const auto found = kNames.find(value); found != kNames.end())
    return {Completion::Kind::names, {found->second}};
  if (value == "FILE" || value == "DIR" || value == "COMMAND") return {Completion::Kind::files, {}};
  if (value.find('|') == value.npos || value.find('@') != value.npos) return {};
  Completion completion{Completion::Kind::words, {}};
  std::istringstream words{std::string(value)};
  for (std::string word; std::getline(words, word, '|');)
    completion.words.push_back(word);
  return completion;
}

std::string bash_script(std::span<const Command> commands) {
  const std::vector<Command> known = shown(commands);
  return "# bash completion for berth: source <(berth completion bash)\n"
         "_berth_words() { mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\"); }\n"
         "_berth_names() { _berth_words \"$(berth __complete \"$1\" \"${COMP_WORDS[@]:1}\" "
         "2>/dev/null)\"; }\n"
         "_berth_files() { mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); }\n"
         "_berth() {\n"
         "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} word command\n"
         "  local first=${COMP_WORDS[1]} second=${COMP_WORDS[2]} index=$COMP_CWORD\n"
         "  COMPREPLY=()\n"
         "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
         "    if [ \"$word\" = -- ]; then _berth_files; return; fi\n"
         "  done\n" +
         shared_body(known) +
         "}\n"
         "complete -F _berth berth\n";
}

std::string zsh_script(std::span<const Command> commands) {
  const std::vector<Command> known = shown(commands);
  return "#compdef berth\n"
         "# zsh completion for berth: berth completion zsh > a folder of $fpath/_berth\n"
         "_berth_words() { compadd -- ${=1}; }\n"
         "_berth_names() { compadd -- ${(f)\"$(berth __complete \"$1\" \"${(@)words[2,-1]}\" "
         "2>/dev/null)\"}; }\n"
         "_berth() {\n"
         "  local cur=$words[CURRENT] prev=$words[CURRENT-1] word command\n"
         "  local first=$words[2] second=$words[3] index=$((CURRENT - 1))\n"
         "  for word in \"${(@)words[2,CURRENT-1]}\"; do\n"
         "    if [ \"$word\" = -- ]; then _files; return; fi\n"
         "  done\n" +
         shared_body(known) +
         "}\n"
         "_berth_files() { _files; }\n"
         "if [ \"$funcstack[1]\" = _berth ]; then _berth \"$@\"; else compdef _berth berth; fi\n";
}

std::string fish_script(std::span<const Command> commands) {
  const std::vector<Command> known = shown(commands);
  std::string text =
      "# fish completion for berth: berth completion fish | source\n"
      "function __berth_names\n"
      "  berth __complete $argv[1] (commandline -opc)[2..-1] 2>/dev/null\n"
      "end\n"
      "complete -c berth -f\n";
  const auto grouped = families(known);
  for (const std::string& word : completed_words(known)) {
    const auto found = std::ranges::find(known, word, &Command::name);
    text += "complete -c berth -n __fish_use_subcommand -a " + word;
    if (found != known.end()) text += " -d " + in_quotes(found->summary);
    text += "\n";
  }
  for (const auto& [word, members] : grouped) {
    text += "complete -c berth -n " +
            in_quotes("__fish_seen_subcommand_from " + word +
                      "; and not __fish_seen_subcommand_from " + spaced(members)) +
            " -a " + in_quotes(spaced(members)) + "\n";
  }
  for (const Command& command : known) {
    const std::string start = "complete -c berth" + fish_condition(command);
    for (const Flag& flag : offered_flags(command)) {
      const bool is_long = flag.name.starts_with("--");
      text += start + (is_long ? " -l " : " -s ") + std::string(flag.name.substr(is_long ? 2 : 1));
      if (!flag.value.empty()) text += fish_argument(completion_of(flag.value));
      text += " -d " + in_quotes(flag.help) + "\n";
    }
    if (command.positional.empty()) continue;
    const Completion argument = completion_of(command.positional.back().name);
    if (argument.kind == Completion::Kind::files)
      text += start + " -F\n";
    else if (argument.kind != Completion::Kind::nothing)
      text += start + fish_argument(argument) + "\n";
  }
  return text;
}

}  // namespace berth::cli
