// A configuration as the controls that bring a service to it.
#pragma once

#include <vector>

#include "config/changes.h"
#include "config/server_config.h"
#include "service/commands.h"

namespace berth::main {

// Policy, models, queues, tenants: what differs becomes events, the rest nothing.
std::vector<service::Control> controls_for(const config::ServerConfig& config);

// What a reload asks for. Removed queues drain, removed tenants fall back to the
// defaults, removed models stay until nobody uses them.
std::vector<service::Control> controls_for(const config::ConfigChanges& changes,
                                           const config::ServerConfig& next);

}  // namespace berth::main
