// berth config check, berth config show.
#include <algorithm>

#include "main/commands.h"
#include "main/config_sources.h"

namespace berth::main {
namespace {

constexpr cli::Flag kCheckFlags[] = {kConfigFlag, kSetFlag};
constexpr cli::Flag kShowFlags[] = {
    kConfigFlag, kSetFlag, {"--origin", "", "a line per key: value and where it came from"}};
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

int show(const cli::Call& call) {
  const auto loaded = load_for(call, sources_of(call));
  if (!loaded) return cli::kBadInput;
  if (!call.args.has("--origin")) {
    call.console.out << config::config_toml(loaded->values);
    return cli::kOk;
  }
  std::size_t widest = 0;
  for (const config::ConfigValue& value : loaded->values)
    widest = std::max(widest, value.key().size());
  for (const config::ConfigValue& value : loaded->values) {
    const std::string key = value.key();
    call.console.out << key << std::string(widest - key.size(), ' ') << " = "
                     << (value.value.empty() ? "(not set)" : value.value) << "  # " << value.origin
                     << "\n";
  }
  return cli::kOk;
}

constexpr cli::Command kCommands[] = {
    {"config check", cli::Group::local, "check a configuration and show every error",
     "[FILE] [flags]", check, cli::Reach::local, kCheckFlags, kFile},
    {"config show", cli::Group::local, "print the configuration as it would be used",
     "[FILE] [flags]", show, cli::Reach::local, kShowFlags, kFile},
};

}  // namespace

std::span<const cli::Command> config_commands() { return kCommands; }

}  // namespace berth::main
