// The sections of a scenario that describe the cluster and its rules, one reader each. What a
// server's configuration has as well is read by config/sections.h.
//
// A reader fills the values of one table and remembers the keys it asked for; it knows no other
// section except the names it may refer to. The workload has its own reader.
#pragma once

#include <string>

#include "config/node_blocks.h"
#include "sim/reading.h"
#include "sim/scenario.h"

namespace berth::sim {

void read_agents(TableReader& table, AgentSpec& agents);
void read_model(TableReader& table, std::string& name, Model& model);
void read_queue(TableReader& table, Scenario& scenario, std::string& name, Queue& queue);
// Adds `count` nodes that have CPUs and memory, with their GPUs. REQUIRES no other nodes yet.
void read_nodes(TableReader& table, const config::FileSource& files, NameBook& names,
                NameBook& gpu_names, Scenario& scenario);
// Adds `count` GPUs, with their kind and node.
void read_gpus(TableReader& table, NameBook& names, Scenario& scenario);

}  // namespace berth::sim
