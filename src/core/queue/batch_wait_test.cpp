// The adaptive wait: no waiting where waiting buys nothing, more where the GPUs need fuller
// batches.
#include "core/queue/batch_wait.h"

#include <gtest/gtest.h>

namespace berth::core {
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

TEST(ChooseWait, WaitsWhenSingleBatchesWouldSaturateTheGpu) {
  // One task takes 55 ms; a new one comes every 40 ms: alone they never keep up.
  EXPECT_GT(choose_wait(on_one_gpu(milliseconds(40))), milliseconds(20));
}

TEST(ChooseWait, NeverExceedsTheLongestAllowed) {
  for (const std::int64_t gap_us : {10, 100, 1'000, 10'000, 100'000}) {
    EXPECT_LE(choose_wait(on_one_gpu(microseconds(gap_us))), milliseconds(200));
  }
}

TEST(ChooseWait, MoreGpusNeedLessWaiting) {
  WaitInputs many = on_one_gpu(milliseconds(40));
  many.servers = 8;
  EXPECT_LT(choose_wait(many), choose_wait(on_one_gpu(milliseconds(40))));
}

}  // namespace
}  // namespace berth::core
