// A configuration as the command that brings a service to it.
#pragma once

#include "config/server_config.h"
#include "service/commands.h"

namespace berth::main {

// Policy, defaults, models, queues, tenants: what differs becomes events, the rest nothing.
service::Configure wanted_by(const config::ServerConfig& config, std::int64_t wall_unix_ns);

}  // namespace berth::main
