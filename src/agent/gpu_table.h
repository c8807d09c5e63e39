// GpuTable: what the agent has promised on each GPU, and a model of how such a GPU would be.
//
// Resident models, running batches, and from them the used VRAM, utilisation, temperature and power
// that a simulated GPU shows. Times come in; no clock here. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/devices.h"
#include "base/time.h"

namespace berth::agent {

struct Residence {
  std::uint64_t load = 0;
  std::int64_t weights_mb = 0;
  bool ready = false;       // false: still loading
  std::uint32_t users = 0;  // running batches
};

struct GpuState {
  GpuDescription description;
  std::map<std::string, Residence> models;
  std::int64_t batches_mb = 0;
  std::int64_t promised_milli = 0;  // compute of the running batches; may exceed 1000
  double utilisation = 0;           // 0 to 1, smoothed
  double temperature_c = 35;
  Time gauged_at{};

  // Moves the gauges on to `now` under what has been promised since the last call.
  void gauge(Time now);
  GpuReadings simulated_readings() const;
};

// What one batch takes of each of its GPUs.
struct BatchUse {
  std::string model;
  std::int64_t share_milli = 0;
  std::int64_t vram_mb = 0;
};

class GpuTable {
 public:
  static constexpr std::uint32_t kAbsent = UINT32_MAX;

  GpuTable(std::vector<GpuDescription> gpus, Time now);

  std::uint32_t find(const std::string& uuid) const;
  std::size_t size() const { return gpus_.size(); }
  GpuState& operator[](std::uint32_t gpu) { return gpus_[gpu]; }
  const GpuState& operator[](std::uint32_t gpu) const { return gpus_[gpu]; }

  void begin_batch(std::span<const std::uint32_t> gpus, const BatchUse& use, Time now);
  void end_batch(std::span<const std::uint32_t> gpus, const BatchUse& use, Time now);
  // The speed of the slowest of them at work of this class; "": in general.
  std::uint32_t slowest_milli(std::span<const std::uint32_t> gpus,
                              std::string_view work_class) const;

 private:
  std::vector<GpuState> gpus_;
  std::map<std::string, std::uint32_t> by_uuid_;
};

}  // namespace berth::agent
