// Crash points: named places where a test lets the process die, to see what recovery makes of it.
//
// All names stand here, the service's too, so that one test can walk them. An unarmed point costs
// one relaxed load and a branch. Nothing here reads the environment: faults.h parses, main arms.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace berth::store {

// clang-format off
#define BERTH_CRASH_POINTS(POINT)                       \
  POINT(before_append,    "store.before_append")        \
  POINT(inside_append,    "store.inside_append")        \
  POINT(after_append,     "store.after_append")         \
  POINT(after_sync,       "store.after_sync")           \
  POINT(durable_noted,    "store.durable_noted")        \
  POINT(segment_written,  "store.segment_written")      \
  POINT(segment_created,  "store.segment_created")      \
  POINT(segment_removed,  "store.segment_removed")      \
  POINT(snapshot_written, "store.snapshot_written")     \
  POINT(snapshot_renamed, "store.snapshot_renamed")     \
  POINT(history_before,   "store.history_before_commit")\
  POINT(history_after,    "store.history_after_commit") \
  POINT(release_before,   "release.before")             \
  POINT(release_replied,  "release.after_reply")        \
  POINT(lease_before,     "lease.before_send")          \
  POINT(lease_sent,       "lease.after_send")
// clang-format on

enum class CrashPoint : std::uint8_t {
#define BERTH_POINT(name, text) name,
  BERTH_CRASH_POINTS(BERTH_POINT)
#undef BERTH_POINT
};

inline constexpr std::string_view kCrashPointNames[] = {
#define BERTH_POINT(name, text) text,
    BERTH_CRASH_POINTS(BERTH_POINT)
#undef BERTH_POINT
};
inline constexpr std::size_t kCrashPoints = sizeof kCrashPointNames / sizeof kCrashPointNames[0];

constexpr std::string_view name_of(CrashPoint point) {
  return kCrashPointNames[static_cast<std::size_t>(point)];
}
std::optional<CrashPoint> crash_point_named(std::string_view name);

// What happens at the point. It may return; the process then goes on.
using CrashHook = void (*)(CrashPoint);

// Ends the process at once, as kill -9 would: no destructor, no flush.
void die_at(CrashPoint point);

// From the `nth` time (1 is the first) that `point` is reached, `hook` is called. One point at a
// time; arming another forgets the first.
void arm_crash_point(CrashPoint point, std::uint64_t nth, CrashHook hook = die_at);
void disarm_crash_points();

namespace detail {
extern std::atomic<bool> crash_armed;
void crash_point_reached(CrashPoint point);
}  // namespace detail

inline bool crash_points_armed() { return detail::crash_armed.load(std::memory_order_relaxed); }

inline void crash_point(CrashPoint point) {
  if (crash_points_armed()) [[unlikely]]
    detail::crash_point_reached(point);
}

}  // namespace berth::store
