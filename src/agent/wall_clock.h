// Clocks beside the loop's own: the wall's in milliseconds, for what people read and what a server
// compares roughly; and the time since the boot, sleep included, by which an agent knows how long
// ago something ended that an earlier one began.
#pragma once

#include <cstdint>
#include <ctime>

#include "base/time.h"

namespace berth::agent {

inline std::int64_t unix_ms() {
  timespec clock{};
  ::clock_gettime(CLOCK_REALTIME, &clock);
  return clock.tv_sec * 1000 + clock.tv_nsec / 1'000'000;
}

// Means nothing on another boot.
inline Time since_boot() {
  timespec clock{};
  ::clock_gettime(CLOCK_BOOTTIME, &clock);
  return Time{clock.tv_sec * 1'000'000'000 + clock.tv_nsec};
}

}  // namespace berth::agent
