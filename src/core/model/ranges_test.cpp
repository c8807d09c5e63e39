// What the core can reckon with is accepted, and what would overflow it is named.
#include "core/model/ranges.h"

#include <gtest/gtest.h>

namespace berth::core::ranges_test {
namespace {

TEST(Ranges, DefaultsHaveNoFlaw) {
  EXPECT_EQ(flaw_in(PolicySpec{}), nullptr);
  EXPECT_EQ(flaw_in(TenantSpec{}), nullptr);
  EXPECT_EQ(flaw_in(QueueSpec{}), nullptr);
  EXPECT_EQ(flaw_in(ModelSpec{}), nullptr);
  EXPECT_EQ(flaw_in(GpuSpec{.vram = Mib{1}}), nullptr);
  EXPECT_EQ(flaw_in(TaskSpec{}), nullptr);
}

TEST(Ranges, LimitsThemselvesAreInRange) {
  EXPECT_EQ(flaw_in(TenantSpec{.token_bucket_size = kTokensMax}), nullptr);
  EXPECT_EQ(flaw_in(PolicySpec{.age_step = kAgeStepMax}), nullptr);
  EXPECT_EQ(flaw_in(PolicySpec{.max_infrastructure_losses = 255}), nullptr);
  EXPECT_EQ(flaw_in(TaskSpec{.expected_run = kDurationMax}), nullptr);
}

TEST(Ranges, WhatWouldOverflowIsNamed) {
  EXPECT_STREQ(flaw_in(TenantSpec{.token_bucket_size = kTokensMax + 1}), "a bucket in range");
  EXPECT_STREQ(flaw_in(PolicySpec{.age_step = kAgeStepMax + nanoseconds(1)}),
               "an age_step in range");
  EXPECT_STREQ(flaw_in(PolicySpec{.max_infrastructure_losses = 256}),
               "max_infrastructure_losses in range");
  EXPECT_STREQ(flaw_in(QueueSpec{.max_batch_size = 1000, .batch_per_task = kDurationMax}),
               "a time in range for a full batch");
  EXPECT_STREQ(flaw_in(TaskSpec{.expected_run = Duration::forever()}), "an expected_run in range");
  EXPECT_STREQ(flaw_in(TaskSpec{.checkpoint_interval = Duration{-1}}),
               "a checkpoint_interval in range");
  EXPECT_STREQ(flaw_in(TaskSpec{.restart_cost = Duration::forever()}), "a restart_cost in range");
}

TEST(Ranges, SpeedsByClassAreFewInOrderAndInRange) {
  GpuSpec gpu{.vram = Mib{1}};
  gpu.class_speeds = {{WorkClassId{0}, Milli{1}}, {WorkClassId{15}, Milli{kSpeedMax}}};
  EXPECT_EQ(flaw_in(gpu), nullptr);
  gpu.class_speeds[1].work_class = WorkClassId{16};
  EXPECT_STREQ(flaw_in(gpu), "a class of work in range");
  gpu.class_speeds[1].work_class = WorkClassId::none();
  EXPECT_STREQ(flaw_in(gpu), "a class of work in range");
  gpu.class_speeds[1].work_class = WorkClassId{0};
  EXPECT_STREQ(flaw_in(gpu), "speeds by ascending class");
  gpu.class_speeds[1] = {WorkClassId{1}, Milli{0}};
  EXPECT_STREQ(flaw_in(gpu), "a speed in range for each class of work");
  gpu.class_speeds[1].speed = Milli{kSpeedMax + 1};
  EXPECT_STREQ(flaw_in(gpu), "a speed in range for each class of work");
  EXPECT_EQ(flaw_in(QueueSpec{.work_class = WorkClassId{15}}), nullptr);
  EXPECT_STREQ(flaw_in(QueueSpec{.work_class = WorkClassId{16}}), "a class of work in range");
}

// The products that the limits are made for.
TEST(Ranges, ProductsOfLimitsFit) {
  std::int64_t product = 0;
  EXPECT_FALSE(__builtin_mul_overflow(kAgeStepMax.ns, std::int64_t{32768}, &product));
  EXPECT_FALSE(__builtin_mul_overflow(kTokensMax, std::int64_t{1'000'000'000}, &product));
  const std::int64_t work_us = minutes(10LL * 24 * 60).ns / 1000;  // kWorkCounted of state.h
  EXPECT_FALSE(__builtin_mul_overflow(work_us, kLiveTasksMax, &product));
}

}  // namespace
}  // namespace berth::core::ranges_test
