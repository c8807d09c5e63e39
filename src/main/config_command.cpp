// berth config check, berth config show.
#include <algorithm>

#include "cli/session.h"
#include "cli/text.h"
#include "main/commands.h"
#include "main/config_message.h"
#include "main/config_sources.h"

namespace berth::main {
namespace {

constexpr cli::Flag kCheckFlags[] = {kConfigFlag, kSetFlag};
constexpr cli::Flag kShowFlags[] = {
    kConfigFlag,
    kSetFlag,
    {"--running", "", "of the running server, with what was reloaded"},
    {"--origin", "", "a line per key: value and where it came from"}};
constexpr cli::Positional kFile[] = {{"FILE", "the configuration; instead of --config", false}};

config::ConfigSources sources_of(const cli::Call& call) {
  config::ConfigSources sources = config_sources(call);
  if (!call.args.positional().empty()) sources.path = call.args.positional().front();
  return sources;
}

int check(const cli::Call& call) {
  const auto loaded = load_for(call, sources_of(call));
  if (!loaded) return cli::kBadInput;
  const auto& config = loaded->config;
  call.console.out << "good: " << config.queues.size() << " queues, " << config.models.size()
                   << " models, " << config.tenants.size() << " tenants\n";
  return cli::kOk;
}

void print_origins(std::ostream& out, const v1::GetConfigResponse& config) {
  std::size_t widest = 0;
  for (const v1::ConfigValue& value : config.values())
    widest = std::max(widest, value.key().size());
  for (const v1::ConfigValue& value : config.values()) {
    out << cli::harmless(value.key()) << std::string(widest - value.key().size(), ' ') << " = "
        << (value.value().empty() ? "(not set)" : cli::harmless(value.value())) << "  # "
        << cli::harmless(value.origin()) << "\n";
  }
}

int print(const cli::Session& session, const v1::GetConfigResponse& config) {
  if (session.format() == cli::Format::json) {
    session.print_json(config);
  } else if (session.args().has("--origin")) {
    print_origins(session.console().out, config);
  } else {
    session.console().out << config.toml();
  }
  return cli::kOk;
}

int show_running(cli::Session& session) {
  for (const char* flag : {"--config", "--set"}) {
    if (session.args().has(flag)) {
      return cli::bad_usage(session.call(), std::string(flag) +
                                                " is for the configuration of a server to come; a "
                                                "running one has its own");
    }
  }
  if (!session.args().positional().empty())
    return cli::bad_usage(session.call(), "give FILE or ask a running server, not both");
  const auto answer = session.client().config();
  if (!answer) return session.fail("ask for the configuration", answer.failure());
  return print(session, *answer);
}

int show(const cli::Call& call) {
  int code = cli::kOk;
  auto session = cli::Session::open(call, code);
  if (!session) return code;
  if (call.args.has("--running") || call.args.has("--server")) return show_running(*session);
  const auto loaded = load_for(call, sources_of(call));
  if (!loaded) return cli::kBadInput;
  return print(*session, config_message(*loaded));
}

constexpr std::string_view kShowExamples[] = {
    "berth config show berth.toml",
    "berth config show --running --origin",
};

constexpr cli::Command kConfigCommands[] = {
    {"config check", cli::Group::local, "check a configuration and show every error",
     "[FILE] [OPTIONS]", check, cli::Reach::local, kCheckFlags, kFile},
    {"config show", cli::Group::local,
     "print the configuration: as it would be used, or of a running server",
     "[FILE] [OPTIONS]\n--running [OPTIONS]", show, cli::Reach::server, kShowFlags, kFile,
     "All keys, with the defaults of those that nobody set. --running, or --server, asks the\n"
     "server for the configuration in force; that needs an administrator's token.",
     kShowExamples},
};

}  // namespace

std::span<const cli::Command> config_commands() { return kConfigCommands; }

}  // namespace berth::main
