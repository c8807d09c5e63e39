// Whether a model fits, in words with numbers.
#include "config/model_room.h"

#include <gtest/gtest.h>

namespace berth::config::model_room_test {
namespace {

core::ModelSpec model_of(std::int64_t weights, std::int64_t per_task) {
  core::ModelSpec spec;
  spec.weights = {weights};
  spec.vram_per_task = {per_task};
  return spec;
}

TEST(ModelRoom, AModelNeedsItsWeightsAndOneTaskOnOneGpu) {
  LargestGpu largest;
  largest.consider("small", Mib{1000}, Milli{900});
  largest.consider("large", Mib{10'000}, Milli{900});
  largest.consider("other", Mib{10'000}, Milli{900});
  EXPECT_EQ(flaw_in_size("m", model_of(8000, 1000), largest), "");
  EXPECT_EQ(
      flaw_in_size("m", model_of(8000, 1001), largest),
      "model \"m\" needs 9001 MiB on one GPU (weights 8000, a task 1001), and the largest GPU, "
      "large, can promise 9000 MiB");
  EXPECT_EQ(flaw_in_size("m", model_of(1, 0), {}),
            "model \"m\" needs 1 MiB on one GPU (weights 1, a task 0), and there is no GPU that "
            "takes models");
}

}  // namespace
}  // namespace berth::config::model_room_test
