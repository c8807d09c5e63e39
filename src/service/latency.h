// Latency: a histogram of durations that many threads add to. Bounds in kLatencyBoundsS.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace berth::api {

inline constexpr std::array<double, 12> kLatencyBoundsS = {0.0005, 0.001, 0.002, 0.005, 0.01, 0.02,
                                                           0.05,   0.1,   0.2,   0.5,   1.0,  5.0};

class Latency {
 public:
  void add(std::chrono::nanoseconds took) {
    const double seconds = static_cast<double>(took.count()) / 1e9;
    std::size_t i = 0;
    while (i < kLatencyBoundsS.size() && seconds > kLatencyBoundsS[i])
      ++i;
    counts_[i].fetch_add(1, std::memory_order_relaxed);
    sum_ns_.fetch_add(static_cast<std::uint64_t>(took.count()), std::memory_order_relaxed);
  }
  std::array<std::uint64_t, kLatencyBoundsS.size() + 1> counts() const {
    std::array<std::uint64_t, kLatencyBoundsS.size() + 1> counts{};
    for (std::size_t i = 0; i < counts.size(); ++i)
      counts[i] = counts_[i].load(std::memory_order_relaxed);
    return counts;
  }
  double sum_s() const { return static_cast<double>(sum_ns_.load()) / 1e9; }

 private:
  std::array<std::atomic<std::uint64_t>, kLatencyBoundsS.size() + 1> counts_{};
  std::atomic<std::uint64_t> sum_ns_{0};
};

}  // namespace berth::api
