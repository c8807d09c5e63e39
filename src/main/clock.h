// The server's clocks: the one that only goes forward, the one on the wall, and the ends of days in
// a time zone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/time.h"

namespace berth::main {

std::int64_t wall_unix_ns();

// Since the machine was booted: setting the wall clock does not move it, and the machine's sleep
// counts.
Time boot_time();
// Which boot that was; "": the kernel does not say.
std::string boot_id();

// When the day of an instant ends in the time zone. Sets TZ of the process: call it before threads
// begin.
std::function<Time(Time)> day_ends_in(const std::string& timezone);

}  // namespace berth::main
