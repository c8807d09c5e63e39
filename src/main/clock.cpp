// See clock.h.
#include "main/clock.h"

#include <cstdlib>
#include <ctime>
#include <fstream>

namespace berth::main {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;

std::int64_t read_clock(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return static_cast<std::int64_t>(now.tv_sec) * kNsPerSecond + now.tv_nsec;
}

}  // namespace

std::int64_t wall_unix_ns() { return read_clock(CLOCK_REALTIME); }

Time boot_time() { return Time{read_clock(CLOCK_BOOTTIME)}; }

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return id;
}

std::function<Time(Time)> day_ends_in(const std::string& timezone) {
  ::setenv("TZ", timezone.c_str(), 1);
  ::tzset();
  return [](Time at) {
    const auto seconds = static_cast<std::time_t>(at.ns / kNsPerSecond);
    std::tm day{};
    ::localtime_r(&seconds, &day);
    day.tm_mday += 1;
    day.tm_hour = day.tm_min = day.tm_sec = 0;
    day.tm_isdst = -1;
    const std::time_t midnight = std::mktime(&day);
    if (midnight <= seconds) return Time::never();
    return Time{static_cast<std::int64_t>(midnight) * kNsPerSecond};
  };
}

}  // namespace berth::main
