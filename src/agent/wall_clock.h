// The wall clock in milliseconds, for what people read and what a server compares roughly.
// Durations are measured by the loop's own clock.
#pragma once

#include <cstdint>
#include <ctime>

namespace berth::agent {

inline std::int64_t unix_ms() {
  timespec clock{};
  ::clock_gettime(CLOCK_REALTIME, &clock);
  return clock.tv_sec * 1000 + clock.tv_nsec / 1'000'000;
}

}  // namespace berth::agent
