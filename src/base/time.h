// Time values: nanoseconds as 64-bit integers. Values only; nothing here can read a clock.
//
// A Time is an instant on the engine's own axis (it never runs backwards); a Duration is a
// difference. Arithmetic saturates at "never" so that absurd inputs cannot wrap around.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace berth {

struct Duration {
  std::int64_t ns = 0;
  constexpr auto operator<=>(const Duration&) const = default;
  static constexpr Duration forever() { return {std::numeric_limits<std::int64_t>::max()}; }
};

struct Time {
  std::int64_t ns = 0;
  constexpr auto operator<=>(const Time&) const = default;
  static constexpr Time never() { return {std::numeric_limits<std::int64_t>::max()}; }
};

constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? std::numeric_limits<std::int64_t>::max()
               : std::numeric_limits<std::int64_t>::min();
}

constexpr Duration nanoseconds(std::int64_t n) { return {n}; }
constexpr Duration microseconds(std::int64_t n) { return {n * 1'000}; }
constexpr Duration milliseconds(std::int64_t n) { return {n * 1'000'000}; }
constexpr Duration seconds(std::int64_t n) { return {n * 1'000'000'000}; }
constexpr Duration minutes(std::int64_t n) { return seconds(n * 60); }

constexpr Time operator+(Time t, Duration d) { return {saturating_add(t.ns, d.ns)}; }
constexpr Time operator-(Time t, Duration d) { return {saturating_add(t.ns, -d.ns)}; }
constexpr Duration operator-(Time a, Time b) { return {saturating_add(a.ns, -b.ns)}; }
constexpr Duration operator+(Duration a, Duration b) { return {saturating_add(a.ns, b.ns)}; }
constexpr Duration operator-(Duration a, Duration b) { return {saturating_add(a.ns, -b.ns)}; }

}  // namespace berth
