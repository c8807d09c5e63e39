// The benchmark's workload is what it says: the same each time, and with all that it promises.
#include "sim/core_bench.h"

#include <string>

#include <gtest/gtest.h>

namespace berth::sim::core_bench_test {
namespace {

CoreBenchOptions small() {
  CoreBenchOptions options;
  options.pending = 40'000;
  options.gpus = 500;
  options.tenants = 200;
  options.queues = 200;
  options.events = 100'000;
  return options;
}

double count_of(const std::vector<CoreBenchCount>& counts, const std::string& name) {
  for (const CoreBenchCount& row : counts) {
    if (row.name == name) return static_cast<double>(row.count);
  }
  ADD_FAILURE() << "no " << name;
  return -1;
}

TEST(CoreBench, TheSameOptionsGiveTheSameDecisions) {
  const CoreBenchResult first = run_core_bench(small());
  EXPECT_EQ(run_core_bench(small()).hash, first.hash);
  CoreBenchOptions other = small();
  other.seed = 2;
  EXPECT_NE(run_core_bench(other).hash, first.hash);
}

TEST(CoreBench, TasksAreCancelledRetriedAndExpireAndModelsComeAndGo) {
  const CoreBenchResult result = run_core_bench(small());
  const double submits = count_of(result.mix, "submit");
  EXPECT_NEAR(count_of(result.mix, "cancel") / submits, 0.05, 0.01);
  EXPECT_NEAR(count_of(result.deeds, "retries") / submits, 0.01, 0.003);
  EXPECT_NEAR(count_of(result.deeds, "expired") / submits, 0.01, 0.003);
  EXPECT_GT(count_of(result.deeds, "completed") / submits, 0.9);
  EXPECT_GT(count_of(result.deeds, "loads"), 20);
  EXPECT_GT(count_of(result.deeds, "evictions"), 20);
  EXPECT_GT(count_of(result.mix, "model_loaded"), 20);
  EXPECT_NEAR(static_cast<double>(result.pending_at_end), 40'000, 4'000);
}

TEST(CoreBench, ATaskThatWaitsTakesSomeMemory) {
  const CoreBenchResult result = run_core_bench(small());
  EXPECT_GT(result.bytes_per_pending_task, 50);
  EXPECT_LT(result.bytes_per_pending_task, 2'000);
}

}  // namespace
}  // namespace berth::sim::core_bench_test
