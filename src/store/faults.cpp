// See faults.h.
#include "store/faults.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <limits>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "store/crash_points.h"

namespace berth::store {
namespace {

constexpr std::uint64_t kForGood = std::numeric_limits<std::uint64_t>::max();

struct Counted {
  Faults faults;
  std::uint64_t writes = 0;
  std::uint64_t syncs = 0;
};

std::mutex plan_mutex;
std::atomic<bool> any = false;
Counted now;

int error_of_call(const CallFault& fault, std::uint64_t call) {
  const bool hit = fault.nth != 0 && call >= fault.nth && call - fault.nth < fault.times;
  return hit ? fault.error : 0;
}

constexpr std::array<std::pair<std::string_view, int>, 4> kErrors{
    {{"EIO", EIO}, {"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT}, {"EROFS", EROFS}}};

int error_named(std::string_view name) {
  for (const auto& [text, number] : kErrors) {
    if (text == name) return number;
  }
  return 0;
}

bool parse_number(std::string_view text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

// "NAME@nth" or "NAME@nth+".
bool parse_call(std::string_view text, CallFault& fault) {
  const std::size_t at = text.find('@');
  if (at == std::string_view::npos) return false;
  std::string_view nth = text.substr(at + 1);
  if (nth.ends_with('+')) {
    fault.times = kForGood;
    nth.remove_suffix(1);
  }
  fault.error = error_named(text.substr(0, at));
  return fault.error != 0 && parse_number(nth, fault.nth) && fault.nth > 0;
}

bool parse_crash(std::string_view text) {
  const std::size_t at = text.find('@');
  std::uint64_t nth = 1;
  if (at != std::string_view::npos && !parse_number(text.substr(at + 1), nth)) return false;
  const auto point = crash_point_named(text.substr(0, at));
  if (!point || nth == 0) return false;
  arm_crash_point(*point, nth);
  return true;
}

bool parse_one(std::string_view item, Faults& faults) {
  const std::size_t equals = item.find('=');
  if (equals == std::string_view::npos) return false;
  const std::string_view key = item.substr(0, equals);
  const std::string_view value = item.substr(equals + 1);
  if (key == "write") return parse_call(value, faults.write);
  if (key == "sync") return parse_call(value, faults.sync);
  if (key == "crash") return parse_crash(value);
  std::uint64_t ms = 0;
  if (key != "sync_delay" || !parse_number(value, ms) || ms > 3'600'000) return false;
  faults.sync_delay_ms = static_cast<std::uint32_t>(ms);
  return true;
}

}  // namespace

void set_faults(const Faults& faults) {
  const std::lock_guard lock(plan_mutex);
  now = {faults};
  any.store(faults.write.nth != 0 || faults.sync.nth != 0 || faults.sync_delay_ms != 0);
}

Status arm_faults(std::string_view text) {
  Faults faults;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    if (!parse_one(item, faults)) {
      return Error{"cannot read the fault '" + std::string(item) +
                   "': write=ENOSPC@3, sync=EIO@2+, sync_delay=2000 or "
                   "crash=store.after_append@5 is expected"};
    }
    text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
  }
  set_faults(faults);
  return Done{};
}

namespace detail {

int next_write_fault() {
  if (!any.load(std::memory_order_relaxed)) return 0;
  const std::lock_guard lock(plan_mutex);
  return error_of_call(now.faults.write, ++now.writes);
}

int next_sync_fault() {
  if (!any.load(std::memory_order_relaxed)) return 0;
  std::uint32_t delay_ms = 0;
  int error = 0;
  {
    const std::lock_guard lock(plan_mutex);
    delay_ms = now.faults.sync_delay_ms;
    error = error_of_call(now.faults.sync, ++now.syncs);
  }
  if (delay_ms != 0) std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
  return error;
}

}  // namespace detail
}  // namespace berth::store
