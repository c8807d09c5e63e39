// Where a command's configuration comes from: --config, BERTH_* and --set, in one place for all.
#pragma once

#include <optional>

#include "cli/commands.h"
#include "config/load_config.h"

namespace berth::main {

inline constexpr cli::Flag kConfigFlag = {"--config", "FILE",
                                          "the configuration (default: BERTH_CONFIG, or none)"};
inline constexpr cli::Flag kSetFlag = {"--set", "KEY=VALUE", "sets one key; may be repeated"};
inline constexpr cli::Flag kDataFlag = {"--data", "FOLDER", "the data folder (server.data)"};

config::ConfigSources config_sources(const cli::Call& call);

// None: what is wrong has been printed.
std::optional<config::LoadedConfig> load_for(const cli::Call& call,
                                             const config::ConfigSources& sources);

}  // namespace berth::main
