// The generator's numbers are part of the contract: a seed printed today must mean the same later.
#include "base/rng.h"

#include <cmath>

#include <gtest/gtest.h>

namespace berth::rng_test {
namespace {

TEST(Rng, TheSameSeedGivesTheSameNumbersForEver) {
  Rng rng(42);
  EXPECT_EQ(rng.next(), 1546998764402558742U);
  EXPECT_EQ(rng.next(), 6990951692964543102U);
  EXPECT_NE(Rng(43).next(), Rng(42).next());
}

TEST(Rng, KeyedGeneratorsDependOnEveryKeyAndOnTheirOrder) {
  const auto first = [](Rng rng) { return rng.next(); };
  EXPECT_EQ(first(Rng::keyed(1, {2, 3})), first(Rng::keyed(1, {2, 3})));
  EXPECT_NE(first(Rng::keyed(1, {2, 3})), first(Rng::keyed(1, {3, 2})));
  EXPECT_NE(first(Rng::keyed(1, {2, 3})), first(Rng::keyed(2, {2, 3})));
  EXPECT_NE(first(Rng::keyed(1, {2})), first(Rng::keyed(1, {2, 0})));
}

TEST(Rng, BetweenReachesBothEndsAndNothingBeyond) {
  Rng rng(7);
  bool low = false;
  bool high = false;
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t value = rng.between(-2, 3);
    ASSERT_GE(value, -2);
    ASSERT_LE(value, 3);
    low = low || value == -2;
    high = high || value == 3;
  }
  EXPECT_TRUE(low && high);
  EXPECT_EQ(rng.between(5, 5), 5);
  (void)rng.between(INT64_MIN, INT64_MAX);
}

TEST(Rng, MomentsAreThoseOfTheDistribution) {
  Rng rng(11);
  constexpr int kDraws = 200'000;
  double unit = 0;
  double exponential = 0;
  double normal = 0;
  double normal_square = 0;
  for (int i = 0; i < kDraws; ++i) {
    unit += rng.unit();
    exponential += rng.exponential();
    const double x = rng.normal();
    normal += x;
    normal_square += x * x;
  }
  EXPECT_NEAR(unit / kDraws, 0.5, 0.005);
  EXPECT_NEAR(exponential / kDraws, 1.0, 0.01);
  EXPECT_NEAR(normal / kDraws, 0.0, 0.01);
  EXPECT_NEAR(normal_square / kDraws, 1.0, 0.02);
}

TEST(Rng, OurLogarithmIsTheLogarithm) {
  for (const double x : {1e-300, 1e-9, 0.1, 0.5, 0.7071, 0.9999999, 1.0, 1.5, 2.0, 10.0, 1e200}) {
    EXPECT_NEAR(portable_log(x), std::log(x), 1e-13 * std::max(1.0, std::abs(std::log(x))));
  }
}

}  // namespace
}  // namespace berth::rng_test
