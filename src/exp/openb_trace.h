// The openb trace (Alibaba, GPUs of 2023): nodes and pods, as its CSVs list them.
//
// Read from DIR/openb: one node list and any number of pod lists, each a workload. Checks the
// cells; knows nothing of scenarios.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/diagnostics.h"

namespace berth::exp {

struct OpenbNode {
  std::string name;
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::int64_t gpus = 0;
  std::string model;
};

struct OpenbPod {
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;
  std::int64_t gpus = 0;
  std::int64_t gpu_milli = 0;       // of each GPU; 0 without GPUs
  std::vector<std::string> models;  // it may run on; empty: any

  std::int64_t asked() const { return gpus * gpu_milli; }
};

struct OpenbWorkload {
  std::string name;
  std::vector<OpenbPod> pods;
};

struct OpenbTrace {
  std::vector<OpenbNode> nodes;  // those with GPUs
  std::vector<OpenbWorkload> workloads;
  std::vector<std::string> notes;  // what was skipped, and why

  std::int64_t gpu_milli() const;
};

// `only`: the workloads that are wanted; empty: every one there is. None: something is wrong.
std::optional<OpenbTrace> read_openb(const std::string& traces,
                                     const std::vector<std::string>& only,
                                     config::Diagnostics& diagnostics);

}  // namespace berth::exp
