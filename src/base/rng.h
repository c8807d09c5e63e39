// Rng: the only source of chance. The same seed gives the same numbers everywhere.
//
// The generator is xoshiro256**, seeded by splitmix64; the transforms use only operations whose
// result IEEE 754 fixes, because the standard distributions and libm's functions differ between
// libraries. A generator is made for one purpose and one subject (`keyed`), so that what happens to
// task 7 does not depend on which tasks were drawn before it: policies meet the same luck.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

namespace berth {

class Rng {
 public:
  explicit Rng(std::uint64_t seed);

  // A generator for one subject, independent of all others: Rng::keyed(seed, {purpose, number}).
  static Rng keyed(std::uint64_t seed, std::initializer_list<std::uint64_t> keys);

  std::uint64_t next();

  // Uniform in [0, 1).
  double unit();

  // Uniform among the integers low..high, both included. REQUIRES low <= high.
  std::int64_t between(std::int64_t low, std::int64_t high);

  // Exponential with mean 1; never infinite.
  double exponential();

  // Normal with mean 0 and deviation 1.
  double normal();

  // True with the given probability.
  bool chance(double probability) { return unit() < probability; }

 private:
  std::array<std::uint64_t, 4> state_;
};

// The natural logarithm, the same on every machine. REQUIRES x > 0 and finite.
double portable_log(double x);

}  // namespace berth
