// The sketches learn what they should from exact and from changing data.
#include "core/state/learned.h"

#include <gtest/gtest.h>

namespace berth::core::learned_test {
namespace {

TEST(BatchTimeSketch, RecoversALine) {
  BatchTimeSketch sketch;
  for (int round = 0; round < 1'000; ++round) {
    const std::int64_t n = 1 + round % 8;
    sketch.add(n, microseconds(50'000 + 12'500 * n));
  }
  ASSERT_TRUE(sketch.known());
  EXPECT_NEAR(static_cast<double>(sketch.base.ns), 50e6, 1e5);
  EXPECT_NEAR(static_cast<double>(sketch.per_task.ns), 12.5e6, 1e5);
  EXPECT_NEAR(static_cast<double>(sketch.predict(4).ns), 100e6, 1e5);
}

TEST(BatchTimeSketch, OneSizeOnlyGivesItsMean) {
  BatchTimeSketch sketch;
  for (int round = 0; round < 10; ++round)
    sketch.add(4, milliseconds(80));
  EXPECT_EQ(sketch.predict(4), milliseconds(80));
}

TEST(BatchTimeSketch, ForgetsWhatWas) {
  BatchTimeSketch sketch;
  for (int round = 0; round < 2'000; ++round)
    sketch.add(1, milliseconds(100));
  for (int round = 0; round < 2'000; ++round)
    sketch.add(1, milliseconds(10));
  EXPECT_LT(sketch.predict(1), milliseconds(11));
}

TEST(BatchTimeSketch, CoefficientsAreNeverNegative) {
  BatchTimeSketch sketch;
  for (const std::int64_t n : {1, 2, 3, 4, 5})
    sketch.add(n, milliseconds(n * n * 10));
  EXPECT_GE(sketch.base.ns, 0);
  for (const std::int64_t n : {1, 2, 3, 4, 5})
    sketch.add(n, milliseconds(100 - n * 10));
  EXPECT_GE(sketch.per_task.ns, 0);
}

TEST(ArrivalSketch, FollowsTheGapAndNoticesSilence) {
  ArrivalSketch sketch;
  EXPECT_EQ(sketch.gap(Time{0}), Duration::forever());
  Time now{0};
  for (int i = 0; i < 200; ++i)
    sketch.add(now = now + milliseconds(10));
  EXPECT_EQ(sketch.gap(now), milliseconds(10));
  EXPECT_EQ(sketch.gap(now + seconds(3)), seconds(3));
}

TEST(MeanSketch, StartsAtThePriorAndMoves) {
  MeanSketch sketch;
  EXPECT_EQ(sketch.or_else(seconds(5)), seconds(5));
  sketch.add(seconds(8));
  EXPECT_EQ(sketch.or_else(seconds(5)), seconds(8));
  sketch.add(seconds(4));
  EXPECT_EQ(sketch.or_else(seconds(5)), seconds(7));
}

}  // namespace
}  // namespace berth::core::learned_test
