// See commands.h.
#include "cli/commands.h"

#include <algorithm>
#include <array>

#include "cli/help.h"
#include "cli/redraw.h"
#include "config/diagnostics.h"

#ifndef BERTH_VERSION
#define BERTH_VERSION "unknown"
#endif

namespace berth::cli {
namespace {

constexpr std::array kServerFlags = {
    Flag{"--server", "HOST:PORT", "the server (default $BERTH_SERVER, or 127.0.0.1:50051)"},
    Flag{"--token", "TOKEN", "your token (default $BERTH_TOKEN, which other users cannot see)"},
    Flag{"--ca", "FILE", "use TLS and trust these certificates (default $BERTH_CA)"},
    Flag{"--cert", "FILE", "your certificate, if the server asks for one (default $BERTH_CERT)"},
    Flag{"--key", "FILE", "the key of --cert (default $BERTH_KEY)"},
    Flag{"--timeout", "DURATION",
         "give up after this long: 90s, 5min (default: 10s for each call)"},
    Flag{"-o", "table|wide|json|yaml|name", "how to print the answer (default table)"},
    Flag{"--no-headers", "", "leave out the heading of tables"},
};

constexpr std::array kShowFlags = {
    Flag{"--watch", "", "show it again and again, until Ctrl-C"},
    Flag{"--every", "DURATION", "how often --watch shows it (default 2s)"},
    Flag{"--sort", "KEY,...", "sort by these columns; -KEY: the highest first"},
};

// The second words of the commands that begin with this one.
std::vector<std::string> family(std::string_view word, std::span<const Command> commands) {
  std::vector<std::string> members;
  for (const Command& command : commands) {
    if (command.group != Group::hidden && command.name.starts_with(std::string(word) + " "))
      members.emplace_back(command.name.substr(word.size() + 1));
  }
  return members;
}

std::vector<std::string> first_words(std::span<const Command> commands) {
  std::vector<std::string> words;
  for (const Command& command : commands) {
    if (command.group == Group::hidden) continue;
    words.emplace_back(command.name.substr(0, command.name.find(' ')));
  }
  return words;
}

// Why the positional arguments are too few or too many; "": they fit.
std::string misfit(const Command& command, const Arguments& args,
                   std::span<const Command> commands) {
  const std::vector<std::string>& given = args.positional();
  const std::span<const Positional> wanted = command.positional;
  if (given.size() < wanted.size() && wanted[given.size()].required) {
    const Positional& missing = wanted[given.size()];
    return "expected " + std::string(missing.name) + ", " + std::string(missing.help);
  }
  if (given.size() <= wanted.size() || (!wanted.empty() && wanted.back().repeated)) return {};
  const std::string nearest = config::nearest_name(given[0], family(command.name, commands));
  if (!nearest.empty()) {
    return "expected one " + std::string(wanted[0].name) + ", found " + config::quoted(given[0]) +
           " before it; did you mean " + config::quoted(nearest) + "?";
  }
  const std::string extra = config::quoted(given[wanted.size()]);
  if (wanted.size() != 1) return "unexpected argument " + extra;
  return "expected one " + std::string(wanted[0].name) + ", found also " + extra;
}

// The arguments up to the first that is neither a flag nor a flag's value.
Args before_first_word(const Command& command, Args args) {
  const std::vector<Flag> flags = all_flags(command);
  std::size_t at = 0;
  while (at < args.size() && args[at].size() > 1 && args[at].starts_with('-')) {
    const auto flag = std::ranges::find(flags, args[at], &Flag::name);
    at += flag != flags.end() && !flag->value.empty() ? 2 : 1;
  }
  return args.first(std::min(at, args.size()));
}

int run_one(const Command& command, Args args, Console& console,
            std::span<const Command> commands) {
  if (command.reach == Reach::unread)
    return command.run({command, Arguments::unread(args), console, commands});
  const Args own =
      command.flags_end == FlagsEnd::at_first_word ? before_first_word(command, args) : args;
  if (asks_for_help(own)) {
    print_command_help(console.out, command);
    return kOk;
  }
  std::string error;
  const std::optional<Arguments> parsed =
      Arguments::parse(args, all_flags(command), error, command.flags_end);
  if (!parsed) return bad_usage(console, command.name, error);
  error = misfit(command, *parsed, commands);
  if (!error.empty()) return bad_usage(console, command.name, error);
  const Call call{command, *parsed, console, commands};
  const bool again = command.shows != Shows::nothing && parsed->has("--watch");
  return again ? run_again_and_again(call) : command.run(call);
}

int run_family(const std::string& word, Args args, Console& console,
               std::span<const Command> commands) {
  if (asks_for_help(args)) {
    print_family_help(console.out, word, commands);
    return kOk;
  }
  const std::vector<std::string> members = family(word, commands);
  if (args.empty()) {
    std::string list;
    for (const std::string& member : members)
      list += (list.empty() ? "" : ", ") + member;
    return bad_usage(console, word, "expected one of: " + list);
  }
  return bad_usage(
      console, word,
      "unknown command " + config::quoted(args[0]) + config::suggestion(args[0], members));
}

int run_unknown(const std::string& name, Console& console, std::span<const Command> commands) {
  const bool is_flag = name.starts_with('-');
  const std::string flag = name.substr(0, name.find('='));
  if (is_flag && std::ranges::find(kServerFlags, flag, &Flag::name) != kServerFlags.end())
    return bad_usage(console, "",
                     flag + " stands behind the command: berth COMMAND " + flag + " …");
  const std::vector<std::string> names =
      is_flag ? std::vector<std::string>{"--help", "--version"} : first_words(commands);
  return bad_usage(console, "",
                   (is_flag ? "unknown option " : "unknown command ") + config::quoted(name) +
                       config::suggestion(name, names));
}

int dispatch(Args args, Console& console, std::span<const Command> commands) {
  const std::string& word = args.front();
  const auto named = [&](const std::string& name) {
    return std::ranges::find(commands, name, &Command::name);
  };
  if (args.size() > 1) {
    const auto found = named(word + " " + args[1]);
    if (found != commands.end()) return run_one(*found, args.subspan(2), console, commands);
  }
  const auto found = named(word);
  if (found != commands.end()) return run_one(*found, args.subspan(1), console, commands);
  if (!family(word, commands).empty()) return run_family(word, args.subspan(1), console, commands);
  return run_unknown(word, console, commands);
}

}  // namespace

std::span<const Flag> server_flags() { return kServerFlags; }

std::span<const Flag> flags_for(Shows shows) {
  const std::span<const Flag> all = kShowFlags;
  return all.first(shows == Shows::nothing ? 0 : shows == Shows::one ? 2 : 3);
}

std::vector<Flag> all_flags(const Command& command) {
  std::vector<Flag> flags = own_flags(command);
  if (command.reach == Reach::server)
    flags.insert(flags.end(), kServerFlags.begin(), kServerFlags.end());
  return flags;
}

std::vector<Flag> own_flags(const Command& command) {
  std::vector<Flag> flags(command.flags.begin(), command.flags.end());
  const std::span<const Flag> shared = flags_for(command.shows);
  flags.insert(flags.end(), shared.begin(), shared.end());
  return flags;
}

std::string_view version() { return BERTH_VERSION; }

std::vector<Command> own_commands() {
  std::vector<Command> all;
  for (const auto& table :
       {submit_commands(), workflow_commands(), wait_commands(), task_commands(), stream_commands(),
        change_commands(), signal_commands(), cluster_commands(), administration_commands(),
        put_commands(), delete_commands(), sim_commands(), bench_commands(), exp_commands(),
        completion_commands(), manual_commands()})
    all.insert(all.end(), table.begin(), table.end());
  return all;
}

int bad_usage(Console& console, std::string_view command, std::string_view message) {
  console.err << "berth" << (command.empty() ? "" : " ") << command << ": " << message << "\n"
              << "Try 'berth" << (command.empty() ? "" : " ") << command << " --help'.\n";
  return kBadInput;
}

int complain(Console& console, std::string_view message, int code) {
  console.err << "berth: error: " << message << "\n";
  return code;
}

int run_command_line(Args args, Console& console, std::span<const Command> more) {
  // What the composition root brings comes first: a newcomer looks for `serve`.
  std::vector<Command> commands(more.begin(), more.end());
  const std::vector<Command> own = own_commands();
  commands.insert(commands.end(), own.begin(), own.end());
  if (args.empty()) {
    print_overview(console.err, commands);
    return kBadInput;
  }
  const std::string& name = args.front();
  if (name == "--version" || name == "version") {
    console.out << "berth " << version() << "\n";
    return kOk;
  }
  const bool help = name == "--help" || name == "-h" || name == "help";
  if (help && args.size() == 1) {
    print_overview(console.out, commands);
    return kOk;
  }
  if (!help) return dispatch(args, console, commands);
  std::vector<std::string> asked(args.begin() + 1, args.end());
  asked.emplace_back("--help");
  return dispatch(asked, console, commands);
}

}  // namespace berth::cli
