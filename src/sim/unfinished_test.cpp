// Why tasks are left: each by its nearest obstacle, and a bounded look at very many.
#include "sim/unfinished.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/recorder.h"
#include "sim/scenario_reader.h"
#include "sim/simulation.h"

namespace berth::sim::unfinished_test {
namespace {

struct Left {
  Unfinished unfinished;
  std::uint64_t live = 0;
};

Left left_after(const std::string& text) {
  Diagnostics diagnostics;
  const ReadFile read_file = [&](const std::string&, std::string&) {
    return std::optional<std::string>(text);
  };
  const std::optional<Scenario> scenario = load_scenario("s.toml", {}, diagnostics, read_file);
  EXPECT_TRUE(scenario) << diagnostics.text();
  Recorder recorder(*scenario, 1);
  Simulation simulation(*scenario, 1);
  simulation.add_observer(recorder);
  simulation.run();
  const std::vector<TaskNo> live = recorder.live_tasks();
  return {explain_unfinished(simulation.engine(), live), live.size()};
}

// "name tasks example" of each row.
std::vector<std::string> rows_of(const Unfinished& unfinished) {
  std::vector<std::string> rows;
  for (const UnfinishedReason& row : unfinished.reasons) {
    rows.push_back(row.name + " " + std::to_string(row.tasks) + " " + std::to_string(row.example));
  }
  return rows;
}

const std::string kCluster =
    "[[cluster.gpus]]\nvram = \"40GB\"\n[[queues]]\nname = \"q\"\n[[queues]]\nname = \"paused\"\n"
    "[[at]]\ntime = \"0s\"\npause_queue = \"paused\"\n";

// Task 0 has run. 1 is held, 2 depends on it, 3 waits for a signal that never comes, 4 and 5 stand
// in a paused queue.
TEST(Unfinished, EachTaskIsCountedByWhatStandsNearestToItsStart) {
  const Left left = left_after(kCluster + R"(
    [[workload]]
    kind = "tasks"
    queue = "q"
    expected_run = "1s"
    [[workload.tasks]]
    [[workload.tasks]]
    id = "held"
    at = "1s"
    held = true
    [[workload.tasks]]
    at = "2s"
    depends_on = "held"
    [[workload.tasks]]
    at = "3s"
    signals = "never"
    [[workload.tasks]]
    at = "4s"
    queue = "paused"
    [[workload.tasks]]
    at = "5s"
    queue = "paused"
  )");
  EXPECT_EQ(left.live, 5U);
  EXPECT_EQ(left.unfinished.asked, 5U);
  EXPECT_EQ(rows_of(left.unfinished),
            (std::vector<std::string>{"queue_paused 2 4", "task_held 1 1", "waits_for_task 1 2",
                                      "waits_for_signal 1 3"}));
}

TEST(Unfinished, WhatRunsAtTheEndOfARunIsSaidToRun) {
  const Left left = left_after("stop_at = \"1500ms\"\n" + kCluster + R"(
    [[workload]]
    kind = "fixed_gap"
    gap = "1ms"
    count = 3
    queue = "q"
    expected_run = "1s"
  )");
  EXPECT_EQ(rows_of(left.unfinished),
            (std::vector<std::string>{"running 1 1", "compute_short 1 2"}));
}

TEST(Unfinished, ARunThatFinishedHasNothingToSay) {
  const Left left = left_after(kCluster + R"(
    [[workload]]
    kind = "fixed_gap"
    gap = "1ms"
    count = 3
    queue = "q"
    expected_run = "1s"
  )");
  EXPECT_EQ(left.unfinished.asked, 0U);
  EXPECT_TRUE(left.unfinished.reasons.empty());
}

// Fifty thousand behind one another: explaining all would walk past hundreds of millions of them.
TEST(Unfinished, OfVeryManyAnEvenPartIsAsked) {
  const Left left = left_after("stop_at = \"2s\"\n" + kCluster + R"(
    [[workload]]
    kind = "fixed_gap"
    gap = "10us"
    count = 50000
    queue = "q"
    expected_run = "1h"
    [[workload]]
    kind = "fixed_gap"
    gap = "10us"
    count = 25000
    queue = "q"
    expected_run = "1h"
    held = true
  )");
  EXPECT_EQ(left.live, 75'000U);
  EXPECT_LT(left.unfinished.asked, 1'000U);
  const std::vector<UnfinishedReason>& reasons = left.unfinished.reasons;
  ASSERT_EQ(reasons.size(), 3U);
  EXPECT_EQ(reasons[0].name, "compute_short");
  EXPECT_EQ(reasons[1].name, "task_held");
  EXPECT_EQ(reasons[2].name, "running");
  const auto held = static_cast<double>(reasons[1].tasks);
  EXPECT_NEAR(held / static_cast<double>(left.unfinished.asked), 1.0 / 3.0, 0.1);
}

}  // namespace
}  // namespace berth::sim::unfinished_test
