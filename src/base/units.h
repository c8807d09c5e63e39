// Amounts: integers with their unit in the type. VRAM in MiB, parts of a GPU in thousandths.
#pragma once

#include <compare>
#include <cstdint>

namespace berth {

// VRAM. "GB" on input means 1024 MiB, as nvidia-smi shows it.
struct Mib {
  std::int64_t value = 0;
  constexpr auto operator<=>(const Mib&) const = default;
  constexpr Mib& operator+=(Mib other) { return value += other.value, *this; }
  constexpr Mib& operator-=(Mib other) { return value -= other.value, *this; }
};
constexpr Mib operator+(Mib a, Mib b) { return {a.value + b.value}; }
constexpr Mib operator-(Mib a, Mib b) { return {a.value - b.value}; }

// Thousandths: of a GPU's compute (share, load) or of a plain ratio (weight, speed).
struct Milli {
  std::int64_t value = 0;
  constexpr auto operator<=>(const Milli&) const = default;
  constexpr Milli& operator+=(Milli other) { return value += other.value, *this; }
  constexpr Milli& operator-=(Milli other) { return value -= other.value, *this; }
};
constexpr Milli operator+(Milli a, Milli b) { return {a.value + b.value}; }
constexpr Milli operator-(Milli a, Milli b) { return {a.value - b.value}; }

inline constexpr Milli kWholeGpu{1000};

// Of a task among its tenant's; the doors, the shell and the files take no other.
inline constexpr std::int16_t kPriorityMin = -32'768;
inline constexpr std::int16_t kPriorityMax = 32'767;

// 128 bits for intermediate products; g++ and clang have it, ISO C++ does not name it.
__extension__ typedef __int128 Wide;

// value × numerator / denominator without overflow of the product, rounded to nearest, halves up; a
// result that fits nowhere is the largest (or least) that does.
constexpr std::int64_t scale(std::int64_t value, std::int64_t numerator, std::int64_t denominator) {
  const std::int64_t half = denominator / 2;
  std::int64_t narrow = 0;
  if (!__builtin_mul_overflow(value, numerator, &narrow) &&
      !__builtin_add_overflow(narrow, narrow < 0 ? -half : half, &narrow)) {
    return narrow / denominator;  // nearly always, and many times faster than the wide division
  }
  const Wide product = static_cast<Wide>(value) * numerator;
  const Wide result = (product + (product < 0 ? -half : half)) / denominator;
  if (result > INT64_MAX) return INT64_MAX;
  if (result < INT64_MIN) return INT64_MIN;
  return static_cast<std::int64_t>(result);
}

}  // namespace berth
