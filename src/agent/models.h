// Models: loads and evictions on this node's GPUs, each in its place of the GPU's stream.
//
// No weights move yet: a load takes the time that the server expects of it, an eviction none, once
// no load and no batch uses the model. One thread.
#pragma once

#include "agent/gpu_streams.h"
#include "agent/gpu_table.h"
#include "agent/loop.h"
#include "agent/reports.h"
#include "berth/v1/agent.pb.h"

namespace berth::agent {

class Models {
 public:
  Models(Loop& loop, GpuTable& gpus, GpuStreams& streams, Reports& reports, double time_scale)
      : loop_(loop), gpus_(gpus), streams_(streams), reports_(reports), time_scale_(time_scale) {}

  void load(const berth::v1::LoadModel& message);
  void evict(const berth::v1::EvictModel& message);

 private:
  void begin_load(const berth::v1::LoadModel& message, std::uint32_t gpu);
  void report_loaded(const berth::v1::LoadModel& message, Duration took, std::string failure);
  bool try_evict(const berth::v1::EvictModel& message, std::uint32_t gpu);

  Loop& loop_;
  GpuTable& gpus_;
  GpuStreams& streams_;
  Reports& reports_;
  double time_scale_;
};

}  // namespace berth::agent
