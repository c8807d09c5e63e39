// See clock.h.
#include "service/clock.h"

#include <algorithm>

namespace berth::service {
namespace {

// Smaller differences are the time between two readings: instants keep the names they have.
constexpr Duration kJitter = seconds(1);

Duration magnitude(Duration d) { return d.ns < 0 ? Duration{-d.ns} : d; }

std::string length_text(Duration d) {
  const std::int64_t s = (magnitude(d).ns + 500'000'000) / 1'000'000'000;
  if (s < 300) return std::to_string(s) + " s";
  if (s < 5 * 3600) return std::to_string(s / 60) + " min";
  if (s < 72 * 3600) return std::to_string(s / 3600) + " h";
  return std::to_string(s / 86'400) + " d";
}

Duration ahead_at(Time now, std::int64_t wall_unix_ns, Duration known) {
  const Duration ahead = Time{wall_unix_ns} - now;
  return magnitude(ahead - known) <= kJitter ? known : ahead;
}

bool is_same_boot(const ClockMapped& last, const ClockReading& reading) {
  return !reading.boot.empty() && last.boot == reading.boot && reading.boot_ns >= last.boot_ns;
}

}  // namespace

Time wall_time(Time engine, const ClockMapped& clock) {
  return engine == Time::never() ? engine : engine + clock.ahead;
}

Time engine_time(Time wall, const ClockMapped& clock) {
  return wall == Time::never() ? wall : wall - clock.ahead;
}

Resumed resume_time(const ClockMapped& last, Time last_now, const ClockReading& reading,
                    Duration max_downtime) {
  const bool same_boot = is_same_boot(last, reading);
  const Time by_clock = same_boot ? last.at + Duration{reading.boot_ns - last.boot_ns}
                                  : engine_time(Time{reading.wall_unix_ns}, last);
  const Duration passed = by_clock - last_now;
  const bool is_too_long = passed > max_downtime;
  const Time now = is_too_long ? last_now : std::max(last_now, by_clock);
  std::string remark;
  if (is_too_long) {
    remark = std::string(same_boot ? "by the boot-time clock " : "by the wall clock ") +
             length_text(passed) +
             " have passed since the last event, more than server.max_downtime, " +
             length_text(max_downtime) +
             ": engine time goes on where it ended, and nothing that is kept for a time ends early";
  }
  const Duration ahead = ahead_at(now, reading.wall_unix_ns, last.ahead);
  Resumed resumed{{reading.boot, reading.boot_ns, now, ahead}, remark};
  if (resumed.clock.ahead != last.ahead) {
    if (!remark.empty()) resumed.remark += "; ";
    resumed.remark += "the wall clock was set while the server was down, to " +
                      change_text(last, resumed.clock) +
                      ": engine time did not follow, wall times are mapped anew, and what waits "
                      "for an instant that was asked for before still waits as long as it would "
                      "have";
  }
  return resumed;
}

ClockMapped begin_time(const ClockReading& reading) {
  return {reading.boot, reading.boot_ns, Time{std::max<std::int64_t>(0, reading.wall_unix_ns)}, {}};
}

std::optional<ClockMapped> mapped_anew(const ClockMapped& last, Time now,
                                       std::int64_t wall_unix_ns) {
  const Duration ahead = ahead_at(now, wall_unix_ns, last.ahead);
  if (ahead == last.ahead) return std::nullopt;
  return ClockMapped{last.boot, last.boot_ns, last.at, ahead};
}

std::string change_text(const ClockMapped& from, const ClockMapped& to) {
  const Duration change = to.ahead - from.ahead;
  return length_text(change) + (change.ns > 0 ? " later" : " earlier");
}

}  // namespace berth::service
