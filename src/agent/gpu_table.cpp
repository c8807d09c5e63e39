// The bookkeeping of the GPUs and the simulated gauges.
#include "agent/gpu_table.h"

#include <algorithm>
#include <cmath>

namespace berth::agent {
namespace {

constexpr double kUtilisationSeconds = 2;   // as nvidia-smi averages over about a second
constexpr double kTemperatureSeconds = 20;  // a heat sink is slow
constexpr double kIdleCelsius = 35;
constexpr double kWarmingCelsius = 45;    // above idle, at full use
constexpr std::int64_t kContextMb = 450;  // what a CUDA context takes
constexpr double kIdleWatts = 50;
constexpr double kWattsPerGbFull = 6;  // rough: 40 GB cards draw about 250 W more at full use

double toward(double from, double to, double seconds, double time_constant) {
  return to + (from - to) * std::exp(-seconds / time_constant);
}

std::int32_t rounded(double value) { return static_cast<std::int32_t>(std::lround(value)); }

std::uint32_t speed_of(const GpuDescription& gpu, std::string_view work_class) {
  for (const ClassSpeed& its : gpu.speed_by_class)
    if (its.work_class == work_class) return its.speed_milli;
  return gpu.speed_milli;
}

}  // namespace

void GpuState::gauge(Time now) {
  const double seconds = static_cast<double>((now - gauged_at).ns) * 1e-9;
  if (seconds <= 0) return;
  const double promised = std::min(1.0, static_cast<double>(promised_milli) / 1000);
  utilisation = toward(utilisation, promised, seconds, kUtilisationSeconds);
  temperature_c = toward(temperature_c, kIdleCelsius + kWarmingCelsius * utilisation, seconds,
                         kTemperatureSeconds);
  gauged_at = now;
}

GpuReadings GpuState::simulated_readings() const {
  GpuReadings readings{.uuid = description.uuid};
  readings.used_mb = kContextMb + batches_mb;
  for (const auto& [name, residence] : models) {
    readings.used_mb += residence.weights_mb;
  }
  const double vram_gb = static_cast<double>(description.vram_mb) / 1024;
  readings.utilisation_percent = rounded(utilisation * 100);
  readings.temperature_c = rounded(temperature_c);
  readings.power_w = rounded(kIdleWatts + kWattsPerGbFull * vram_gb * utilisation);
  return readings;
}

GpuTable::GpuTable(std::vector<GpuDescription> gpus, Time now) {
  for (GpuDescription& gpu : gpus) {
    by_uuid_.emplace(gpu.uuid, static_cast<std::uint32_t>(gpus_.size()));
    gpus_.push_back({.description = std::move(gpu), .gauged_at = now});
  }
}

std::uint32_t GpuTable::find(const std::string& uuid) const {
  const auto found = by_uuid_.find(uuid);
  return found == by_uuid_.end() ? kAbsent : found->second;
}

void GpuTable::begin_batch(std::span<const std::uint32_t> gpus, const BatchUse& use, Time now) {
  for (const std::uint32_t index : gpus) {
    GpuState& gpu = gpus_[index];
    gpu.gauge(now);
    gpu.promised_milli += use.share_milli;
    gpu.batches_mb += use.vram_mb;
    if (const auto model = gpu.models.find(use.model); model != gpu.models.end()) {
      ++model->second.users;
    }
  }
}

void GpuTable::end_batch(std::span<const std::uint32_t> gpus, const BatchUse& use, Time now) {
  for (const std::uint32_t index : gpus) {
    GpuState& gpu = gpus_[index];
    gpu.gauge(now);
    gpu.promised_milli -= use.share_milli;
    gpu.batches_mb -= use.vram_mb;
    if (const auto model = gpu.models.find(use.model);
        model != gpu.models.end() && model->second.users > 0) {
      --model->second.users;
    }
  }
}

std::uint32_t GpuTable::slowest_milli(std::span<const std::uint32_t> gpus,
                                      std::string_view work_class) const {
  std::uint32_t slowest = UINT32_MAX;
  for (const std::uint32_t gpu : gpus) {
    slowest = std::min(slowest, speed_of(gpus_[gpu].description, work_class));
  }
  return gpus.empty() || slowest == 0 ? 1000 : slowest;
}

}  // namespace berth::agent
