// Latency: a histogram of durations that many threads add to and read. kBoundsS: the upper bounds
// of its buckets in seconds, upwards; one more bucket stands above the last.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/time.h"

namespace berth::service {

template <const auto& kBoundsS>
class Latency {
 public:
  using Counts = std::array<std::uint64_t, kBoundsS.size() + 1>;

  void add(Duration took) {
    const double seconds = static_cast<double>(took.ns) / 1e9;
    std::size_t i = 0;
    while (i < kBoundsS.size() && seconds > kBoundsS[i])
      ++i;
    counts_[i].fetch_add(1, std::memory_order_relaxed);
    sum_ns_.fetch_add(took.ns, std::memory_order_relaxed);
  }
  Counts counts() const {
    Counts counts{};
    for (std::size_t i = 0; i < counts.size(); ++i)
      counts[i] = counts_[i].load(std::memory_order_relaxed);
    return counts;
  }
  double sum_s() const {
    return static_cast<double>(sum_ns_.load(std::memory_order_relaxed)) / 1e9;
  }

 private:
  std::array<std::atomic<std::uint64_t>, kBoundsS.size() + 1> counts_{};
  std::atomic<std::int64_t> sum_ns_{0};
};

// From the instant a task could start to the moment its lease left for its agent.
inline constexpr std::array<double, 15> kDispatchBoundsS = {
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 30.0, 120.0, 600.0, 3600.0};
using DispatchLatency = Latency<kDispatchBoundsS>;

}  // namespace berth::service
