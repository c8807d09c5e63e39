// The server's clocks: engine time, which only goes forward, and the ends of days in a time zone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/time.h"

namespace berth::main {

std::int64_t wall_unix_ns();

// Unix nanoseconds at the first call, advanced by the boot-time clock from then on: setting the
// wall clock does not move it, and the machine's sleep counts.
std::function<Time()> engine_clock();

// When the day of an instant ends in the time zone. Sets TZ of the process: call it before threads
// begin.
std::function<Time(Time)> day_ends_in(const std::string& timezone);

}  // namespace berth::main
