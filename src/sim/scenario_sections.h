// The sections of a scenario that describe the cluster and its rules, one reader each.
//
// A reader fills the values of one table and remembers the keys it asked for; it knows no other
// section except the names it may refer to. The workload has its own reader.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/fields.h"
#include "sim/scenario.h"

namespace berth::sim {

// A block of a named noun: reads `name`, and reports a name that is already taken.
class NameBook {
 public:
  explicit NameBook(std::string noun) : noun_(std::move(noun)) {}
  void claim(const std::string& name, Origin at, std::string_view path, Diagnostics& diagnostics);

 private:
  std::string noun_;
  std::map<std::string, Origin> taken_;
};

void read_policy(TableReader& table, core::PolicySpec& policy);
void read_agents(TableReader& table, AgentSpec& agents);
void read_tenant(TableReader& table, std::string& name, core::TenantSpec& tenant);
void read_model(TableReader& table, std::string& name, Model& model);
void read_queue(TableReader& table, const Scenario& scenario, std::string& name, Queue& queue);
// Adds `count` GPUs, with their kind and node.
void read_gpus(TableReader& table, NameBook& names, Scenario& scenario);

}  // namespace berth::sim
