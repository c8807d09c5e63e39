// The cluster benchmark's cases run on a small cluster, do what they say, and decide the same
// again.
#include "sim/cluster_bench.h"

#include <gtest/gtest.h>

namespace berth::sim::cluster_bench_test {
namespace {

ClusterBenchOptions small() {
  ClusterBenchOptions options;
  options.nodes = 20;
  options.pending = 500;
  return options;
}

double figure(const ClusterBenchCase& result, std::string_view name) {
  for (const ClusterBenchFigure& figure : result.more) {
    if (figure.name == name) return figure.value;
  }
  ADD_FAILURE() << result.name << " has no " << name;
  return -1;
}

TEST(ClusterBench, EveryCaseRunsAndDecidesTheSameAgain) {
  for (const std::string_view name : cluster_bench_cases()) {
    const ClusterBenchCase first = run_cluster_bench(name, small());
    EXPECT_EQ(first.name, name);
    EXPECT_GT(first.value, 0) << name;
    EXPECT_EQ(run_cluster_bench(name, small()).hash, first.hash) << name;
    EXPECT_TRUE(first.published_by.empty()) << name << " is smaller than what was published";
  }
}

TEST(ClusterBench, TheNumberThatWaitsStaysWhatWasAskedFor) {
  const ClusterBenchCase singles = run_cluster_bench("singles", small());
  EXPECT_NEAR(figure(singles, "pending"), 500, 5);
  EXPECT_EQ(figure(singles, "refused"), 0);
}

TEST(ClusterBench, ANoHasItsReason) {
  EXPECT_NE(run_cluster_bench("no", small()).what.find("(gpus_short)"), std::string::npos);
}

TEST(ClusterBench, EveryWorkloadOfKueueRuns) {
  EXPECT_EQ(figure(run_cluster_bench("kueue_large_scale", small()), "workloads"), 8 * 50);
}

}  // namespace
}  // namespace berth::sim::cluster_bench_test
