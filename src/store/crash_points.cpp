// See crash_points.h.
#include "store/crash_points.h"

#include <csignal>
#include <mutex>

#include <unistd.h>

namespace berth::store {
namespace {

struct Armed {
  CrashPoint point{};
  std::uint64_t left = 0;  // times it is still passed
  CrashHook hook = nullptr;
};

std::mutex armed_mutex;
Armed armed;

}  // namespace

namespace detail {

std::atomic<bool> crash_armed = false;

void crash_point_reached(CrashPoint point) {
  CrashHook hook = nullptr;
  {
    const std::lock_guard lock(armed_mutex);
    if (armed.hook == nullptr || armed.point != point) return;
    if (armed.left > 0) --armed.left;
    if (armed.left == 0) hook = armed.hook;
  }
  if (hook != nullptr) hook(point);
}

}  // namespace detail

std::optional<CrashPoint> crash_point_named(std::string_view name) {
  for (std::size_t i = 0; i < kCrashPoints; ++i) {
    if (kCrashPointNames[i] == name) return static_cast<CrashPoint>(i);
  }
  return std::nullopt;
}

void die_at(CrashPoint) {
  (void)::kill(::getpid(), SIGKILL);
  ::_exit(137);
}

void arm_crash_point(CrashPoint point, std::uint64_t nth, CrashHook hook) {
  const std::lock_guard lock(armed_mutex);
  armed = {point, nth, hook};
  detail::crash_armed.store(true);
}

void disarm_crash_points() {
  const std::lock_guard lock(armed_mutex);
  armed = {};
  detail::crash_armed.store(false);
}

}  // namespace berth::store
