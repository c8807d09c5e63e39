// See rng.h. xoshiro256** and splitmix64 are Blackman's and Vigna's public-domain algorithms.
#include "base/rng.h"

#include <bit>
#include <cmath>

#include "base/assert.h"

namespace berth {
namespace {

std::uint64_t splitmix(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15U;
  std::uint64_t z = state;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

}  // namespace

Rng::Rng(std::uint64_t seed) : state_{} {
  for (std::uint64_t& word : state_)
    word = splitmix(seed);
}

Rng Rng::keyed(std::uint64_t seed, std::initializer_list<std::uint64_t> keys) {
  std::uint64_t mixed = splitmix(seed);
  for (const std::uint64_t key : keys) {
    mixed ^= key;
    mixed = splitmix(mixed);
  }
  return Rng(mixed);
}

std::uint64_t Rng::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17U;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Rng::unit() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

std::int64_t Rng::between(std::int64_t low, std::int64_t high) {
  ASSERT(low <= high);
  const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
  if (span == UINT64_MAX) return static_cast<std::int64_t>(next());
  // The high half of a 128-bit product: uniform up to one part in 2^64 / span.
  __extension__ using Wide = unsigned __int128;
  const auto offset = static_cast<std::uint64_t>((Wide{next()} * (span + 1)) >> 64U);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
}

double Rng::exponential() { return -portable_log(1.0 - unit()); }

double Rng::normal() {
  // Marsaglia's polar method; the second value is given up so that a draw has no hidden state.
  for (;;) {
    const double x = 2.0 * unit() - 1.0;
    const double y = 2.0 * unit() - 1.0;
    const double s = x * x + y * y;
    if (s >= 1.0 || s == 0.0) continue;
    return x * std::sqrt(-2.0 * portable_log(s) / s);
  }
}

double portable_log(double x) {
  ASSERT(x > 0.0 && std::isfinite(x));
  // x = m · 2^e with m in [sqrt(1/2), sqrt(2)); log m = 2 artanh((m - 1) / (m + 1)).
  constexpr double kLogTwo = 0.69314718055994530942;
  constexpr double kSqrtHalf = 0.70710678118654752440;
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < kSqrtHalf) {
    mantissa *= 2.0;
    --exponent;
  }
  const double t = (mantissa - 1.0) / (mantissa + 1.0);
  const double square = t * t;
  double sum = 0.0;
  for (int power = 23; power >= 1; power -= 2)
    sum = sum * square + 1.0 / power;
  return 2.0 * t * sum + exponent * kLogTwo;
}

}  // namespace berth
