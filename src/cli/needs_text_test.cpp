// What a task asks for, in words.
#include "cli/needs_text.h"

#include <gtest/gtest.h>

namespace berth::cli::needs_text_test {
namespace {

TEST(NeedsText, AWholeGpuNeedsNoWords) {
  v1::TaskSpec spec;
  EXPECT_EQ(needs_text(spec), "");
  spec.set_gpus(1);
  spec.set_share_milli(1000);
  spec.set_gpu_memory_mb(8192);
  EXPECT_EQ(needs_text(spec), "");
}

TEST(NeedsText, PartsOfAGpuAndNone) {
  v1::TaskSpec share;
  share.set_share_milli(250);
  EXPECT_EQ(needs_text(share), "0.25 of a GPU");
  v1::TaskSpec slice;
  slice.set_mig_profile("1g.10gb");
  EXPECT_EQ(needs_text(slice), "a MIG instance 1g.10gb");
  v1::TaskSpec none;
  none.set_gpus(0);
  none.set_cpus_milli(1000);
  none.set_memory_mb(512);
  EXPECT_EQ(needs_text(none), "no GPU, 1 CPU, 512MB of memory");
}

TEST(NeedsText, Gangs) {
  v1::TaskSpec spec;
  spec.set_gpus(16);
  EXPECT_EQ(needs_text(spec), "16 GPUs");
  spec.set_within("rack");
  EXPECT_EQ(needs_text(spec), "16 GPUs preferably within one rack");
  spec.set_within("island");
  spec.set_required(true);
  spec.set_groups(2);
  spec.add_gpu_kinds("h100");
  spec.add_gpu_kinds("h200");
  spec.set_cpus_milli(32'500);
  spec.set_memory_mb(131'072);
  EXPECT_EQ(needs_text(spec),
            "16 GPUs of kind h100 or h200 in 2 groups, each within one island, 32.5 CPUs, 128GB of "
            "memory");
  spec.set_required(false);
  spec.clear_cpus_milli();
  spec.clear_memory_mb();
  EXPECT_EQ(needs_text(spec),
            "16 GPUs of kind h100 or h200 in 2 groups, each preferably within one island");
}

}  // namespace
}  // namespace berth::cli::needs_text_test
