// A configuration as the API's message: what the server answers, and what `berth config show`
// prints.
#pragma once

#include "berth/v1/scheduler.pb.h"
#include "config/load_config.h"

namespace berth::main {

v1::GetConfigResponse config_message(const config::LoadedConfig& config);

}  // namespace berth::main
