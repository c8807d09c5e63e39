// The nodes and GPUs that the embedded agent speaks for: this machine's, or those that the
// configuration describes.
#pragma once

#include <string>
#include <vector>

#include "agent/agent.h"
#include "agent/machine.h"
#include "base/result.h"
#include "config/server_config.h"

namespace berth::main {

struct Hardware {
  std::vector<agent::NodeDescription> nodes;
  std::vector<agent::GpuDescription> gpus;
  std::vector<std::string> remarks;  // what was not found, for people
  std::string why_simulated;         // "": they are real, or were asked for

  bool is_simulated() const { return !gpus.empty() && gpus.front().simulated; }
};

// Looks at this machine unless the configuration says which nodes there are. An error: real GPUs
// were asked for, and none are found.
Result<Hardware> hardware_for(const config::ServerConfig& config);

// [[cluster.nodes]], all simulated.
Hardware described_nodes(const std::vector<config::NodeBlock>& blocks);

// This machine with these GPUs.
Hardware own_node(const config::NodeSection& section, const agent::Machine& machine,
                  std::vector<agent::GpuDescription> gpus);

// For people: one line for each block of nodes, or the GPUs.
std::string listing(const Hardware& hardware, const config::ServerConfig& config);

}  // namespace berth::main
