// berth config check, berth config show, berth config revert.
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
    {"--running", "", "ask the running server, with what was reloaded and put"},
    {"--origin", "", "a line for each key: its value and where it came from (as -o wide)"}};
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
  if (session.as_document()) {
    session.print_document(config);
  } else if (session.format() == cli::Format::name) {
    for (const v1::ConfigValue& value : config.values())
      session.console().out << cli::harmless(value.key()) << "\n";
  } else if (session.args().has("--origin") || session.format() == cli::Format::wide) {
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

int revert(const cli::Call& call) {
  const auto& words = call.args.positional();
  v1::RevertConfigRequest request;
  if (words.size() == 1) {
    return cli::bad_usage(call, "expected KIND and NAME, such as tenant research, or neither");
  }
  if (words.size() == 2) {
    constexpr std::string_view kKinds[] = {"tenant", "queue", "model"};
    if (std::ranges::find(kKinds, words[0]) == std::end(kKinds)) {
      return cli::bad_usage(call, "expected tenant, queue or model, found \"" + words[0] + "\"");
    }
    request.set_kind(words[0]);
    request.set_name(words[1]);
  }
  int code = cli::kOk;
  auto session = cli::Session::open(call, code);
  if (!session) return code;
  const std::string what = words.empty() ? "what was put" : words[0] + " " + words[1];
  const auto answer = session->client().revert(request);
  if (!answer) return session->fail("revert " + what, answer.failure());
  const int done = answer->refused().empty() ? cli::kOk : cli::kConflict;
  if (session->as_document()) {
    session->print_document(*answer);
    return done;
  }
  for (const std::string& sentence : answer->changes())
    call.console.out << cli::harmless(sentence) << "\n";
  for (const std::string& sentence : answer->refused())
    call.console.err << "refused: " << cli::harmless(sentence) << "\n";
  if (answer->changes().empty() && answer->refused().empty()) {
    session->say(words.empty() ? "nothing to revert: all is as the configuration says"
                               : "nothing to revert: " + what + " is as the configuration says");
  }
  return done;
}

constexpr cli::Positional kBlock[] = {
    {"KIND", "tenant, queue or model; without it, all that was put", false},
    {"NAME", "of the tenant, queue or model", false}};
constexpr std::string_view kRevertExamples[] = {
    "berth config revert tenant research",
    "berth config revert",
};
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
     "server for the configuration in force, with what was put; that needs a token of an\n"
     "administrator or a reader.",
     kShowExamples},
    {"config revert",
     cli::Group::administration,
     "undo what was put: the configuration file holds again",
     "[KIND NAME] [OPTIONS]",
     revert,
     cli::Reach::server,
     {},
     kBlock,
     "What 'berth put' set holds against the file until it is reverted; this takes effect at\n"
     "once. A queue that exists only because it was put is removed: it takes no new tasks and\n"
     "is forgotten when it is empty.",
     kRevertExamples},
};

}  // namespace

std::span<const cli::Command> config_commands() { return kConfigCommands; }

}  // namespace berth::main
