// Time, amounts and ids: arithmetic that cannot wrap, and types that cannot be mixed up.
#include <type_traits>

#include <gtest/gtest.h>

#include "base/assert.h"
#include "base/ids.h"
#include "base/time.h"
#include "base/units.h"

namespace berth::values_test {
namespace {

TEST(Time, SaturatesInsteadOfWrapping) {
  EXPECT_EQ(Time{5} + seconds(1), Time{1'000'000'005});
  EXPECT_EQ(Time::never() + seconds(1), Time::never());
  EXPECT_EQ(Time{1} + Duration::forever(), Time::never());
  EXPECT_EQ(Time{10} - Time{4}, nanoseconds(6));
  EXPECT_EQ((Time{INT64_MIN} - minutes(1)).ns, INT64_MIN);
  EXPECT_EQ(milliseconds(1) + microseconds(500), nanoseconds(1'500'000));
  EXPECT_LT(seconds(59), minutes(1));
}

TEST(Scale, RoundsToNearestWithoutOverflow) {
  EXPECT_EQ(scale(10, 1, 4), 3);  // 2.5 rounds up
  EXPECT_EQ(scale(-10, 1, 4), -3);
  EXPECT_EQ(scale(9, 1, 4), 2);
  EXPECT_EQ(scale(INT64_MAX, 1000, 1000), INT64_MAX);
  EXPECT_EQ(scale(INT64_MAX / 2, 4, 8), INT64_MAX / 4 + 1);
}

TEST(Units, AddUp) {
  Mib vram{10};
  vram += Mib{5};
  vram -= Mib{3};
  EXPECT_EQ(vram, Mib{12});
  EXPECT_EQ(Mib{7} - Mib{2} + Mib{1}, Mib{6});
  Milli share{250};
  share += Milli{600};
  share -= Milli{50};
  EXPECT_EQ(share, Milli{800});
  EXPECT_LT(Milli{850}, kWholeGpu);
}

TEST(Ids, AreTypesOfTheirOwn) {
  static_assert(!std::is_convertible_v<GpuId, QueueId>);
  EXPECT_FALSE(GpuId::none());
  EXPECT_TRUE(GpuId{0});
  EXPECT_LT(TaskNo{3}, TaskNo{4});
}

TEST(AssertDeathTest, TellsTheHandlerAndAborts) {
  EXPECT_DEATH(
      {
        set_assert_handler([](const char* expression, const char*, int) {
          fprintf(stderr, "broken: %s", expression);
        });
        ASSERT(1 == 2);
      },
      "broken: 1 == 2");
}

}  // namespace
}  // namespace berth::values_test
