// The configuration as it is in force: what the file says, with what was put over it. Pure.
//
// What was refused, because it does not go with what was put, is not in force: the service's values
// are.
#pragma once

#include <string>
#include <vector>

#include "config/changes.h"
#include "config/load_config.h"
#include "service/names.h"

namespace berth::main {

// The configuration's values with those that were put in their places, and the blocks that exist
// only because they were put. Whether the service took it is not asked.
config::LoadedConfig with_puts(const config::LoadedConfig& config, const service::Names& names);

// The same, with the service's value where it has another one.
config::LoadedConfig in_force(const config::LoadedConfig& config, const service::Names& names);

// A sentence for each key that was put and that the configuration has otherwise, and for each block
// that it does not have.
std::vector<std::string> puts_against(const config::LoadedConfig& config,
                                      const service::Names& names);

// What a reload changes. Both have their puts in them, so that a key that was put is no change.
config::ConfigChanges changes_between(const config::LoadedConfig& before,
                                      const config::LoadedConfig& next,
                                      const service::Names& names);

// A sentence for each key of which the configuration says something new and the put value stays.
std::vector<std::string> kept_puts(const config::LoadedConfig& before,
                                   const config::LoadedConfig& next, const service::Names& names);

}  // namespace berth::main
