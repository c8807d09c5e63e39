// See config_sources.h.
#include "main/config_sources.h"

#include <string_view>

#include <unistd.h>

namespace berth::main {
namespace {

struct KeyFlag {
  std::string_view flag;
  std::string_view key;
};
// Flags that stand for one key with a text.
constexpr KeyFlag kKeyFlags[] = {{"--data", "server.data"},
                                 {"--grpc", "server.grpc_address"},
                                 {"--http", "server.http_address"}};

}  // namespace

config::ConfigSources config_sources(const cli::Call& call) {
  config::ConfigSources sources;
  sources.path = call.args.value("--config");
  if (!sources.path) {
    const std::string named = call.console.environment("BERTH_CONFIG");
    if (!named.empty()) sources.path = named;
  }
  for (char** entry = ::environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (text.starts_with("BERTH_") && equals != std::string_view::npos) {
      sources.environment.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  for (const std::string& setting : call.args.values("--set"))
    sources.settings.push_back({setting});
  for (const KeyFlag& key : kKeyFlags) {
    if (const auto value = call.args.value(key.flag)) {
      sources.settings.push_back(
          {std::string(key.key) + "=" + config::toml_string(*value), std::string(key.flag)});
    }
  }
  return sources;
}

std::optional<config::LoadedConfig> load_for(const cli::Call& call,
                                             const config::ConfigSources& sources) {
  config::Diagnostics diagnostics;
  std::optional<config::LoadedConfig> loaded = config::load_config(sources, diagnostics);
  if (!loaded) call.console.err << diagnostics.text();
  return loaded;
}

}  // namespace berth::main
