// What an agent's hello says of hardware, and what is wrong with it. Pure.
//
// The core asserts what it is told of nodes and GPUs, and the journal keeps it: no agent may get
// past this with anything else.
#pragma once

#include <string>
#include <vector>

#include "berth/v1/agent.pb.h"
#include "core/model/specs.h"
#include "service/names.h"

namespace berth::service {

inline constexpr std::uint32_t kAgentProtocol = 1;

// The nodes that the agent speaks for, each with a rack: at least its own.
std::vector<v1::Node> nodes_of(const v1::Hello& hello);
const std::string& node_of(const v1::Hello& hello, const v1::Gpu& gpu);

// What does not depend on the numbers of node, kind, island and rack.
core::GpuSpec spec_of(const v1::Gpu& gpu);  // without its speeds by class, which have names
core::NodeSpec spec_of(const v1::Node& node);

// "": nothing is wrong.
std::string flaw_in_hello(const Names& names, const v1::Hello& hello);

}  // namespace berth::service
