// The adaptive wait: no waiting where waiting buys nothing, more where the GPUs need fuller
// batches.
#include "core/queue/batch_wait.h"

#include <gtest/gtest.h>

namespace berth::core::batch_wait_test {
namespace {

WaitInputs on_one_gpu(Duration gap) {
  WaitInputs in;
  in.gap = gap;
  in.base = milliseconds(50);
  in.per_task = milliseconds(5);
  in.servers = 1;
  in.max_batch_size = 16;
  in.longest = milliseconds(200);
  return in;
}

TEST(ChooseWait, RareTasksDoNotWait) {
  EXPECT_EQ(choose_wait(on_one_gpu(seconds(10))), Duration{0});
}

TEST(ChooseWait, WaitsALittleWhereEvenBatchesFindAFreeGpuSooner) {
  // Two GPUs, a task every 13.5 ms: batches reach 2.3 tasks by themselves; a short wait makes them
  // leave evenly, which is worth a little more than it costs.
  WaitInputs two = on_one_gpu(microseconds(13'550));
  two.servers = 2;
  EXPECT_GT(choose_wait(two), Duration{0});
  EXPECT_LT(choose_wait(two), milliseconds(40));
}

TEST(ChooseWait, BusyGpusCollectBatchesByThemselves) {
  // A task every 2 ms on one GPU fills batches while it works; waiting on top only adds time.
  EXPECT_EQ(choose_wait(on_one_gpu(milliseconds(2))), Duration{0});
}

TEST(ChooseWait, NeverExceedsTheLongestAllowed) {
  for (const std::int64_t gap_us : {10, 100, 1'000, 10'000, 100'000}) {
    EXPECT_LE(choose_wait(on_one_gpu(microseconds(gap_us))), milliseconds(200));
  }
}

}  // namespace
}  // namespace berth::core::batch_wait_test
