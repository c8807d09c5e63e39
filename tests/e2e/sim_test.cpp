// berth sim as a process: what it prints, how it exits, and what the first document promised.
#include <string>

#include <gtest/gtest.h>

#include "tests/e2e/process.h"

namespace berth::sim_test {
namespace {

using e2e::berth;
using e2e::number;
using e2e::Result;
using e2e::text;

// The first document's sample run: 32 tasks in at most 14 batches, waiting 122 ms on average, at
// 50.87 tasks a second. All three together in at least 95 of 100 seeds.
TEST(FirstRun, KeepsWhatTheFirstDocumentMeasured) {
  const Result result = berth("sim examples/first-run.toml --seeds 100 --json");
  ASSERT_EQ(result.code, 0) << result.out;
  int good = 0;
  int runs = 0;
  for (std::size_t at = result.out.find("\"runs\""); at != std::string::npos;
       at = result.out.find("\"makespan_s\"", at + 1)) {
    at = result.out.find("\"seed\"", at);
    if (at == std::string::npos) break;
    ++runs;
    const bool complete = number(result.out, {"tasks", "completed"}, at) == 32;
    const bool few = number(result.out, {"batches"}, at) <= 14;
    const bool quick = number(result.out, {"wait_ms", "mean"}, at) <= 122.0;
    const bool much = number(result.out, {"throughput_per_s"}, at) >= 50.87;
    good += complete && few && quick && much ? 1 : 0;
    // All models are resident from the start, and nothing is won by moving any.
    EXPECT_EQ(number(result.out, {"models", "loads"}, at), 0);
  }
  EXPECT_EQ(runs, 100);
  EXPECT_GE(good, 95);
}

TEST(FirstRun, BatchesOfOneMissTheThroughputAndALongWaitMissesTheLatency) {
  const Result single = berth("sim examples/first-run.toml --set queues.max_batch_size=1 --json");
  ASSERT_EQ(single.code, 0) << single.out;
  EXPECT_LT(number(single.out, {"throughput_per_s"}), 50.87);
  const Result patient = berth(
      "sim examples/first-run.toml --set queues.max_batch_size=8 "
      "--set queues.max_batch_wait=1s --json");
  ASSERT_EQ(patient.code, 0) << patient.out;
  EXPECT_GT(number(patient.out, {"wait_ms", "mean"}), 122.0);
}

// In the binary, whose allocator is not the libc's.
TEST(Bench, TellsWhatATaskThatWaitsTakes) {
  const Result result = berth(
      "bench core --pending 40000 --gpus 500 --tenants 200 --queues 200 --events 50000 "
      "--no-growth --json");
  ASSERT_EQ(result.code, 0) << result.out;
  EXPECT_GT(number(result.out, {"bytes_per_pending_task"}), 50);
  EXPECT_LT(number(result.out, {"bytes_per_pending_task"}), 2'000);
}

TEST(Sim, TwoProcessesDecideTheSame) {
  for (const char* example : {"first-run", "dependencies"}) {
    const std::string arguments = std::string("sim examples/") + example + ".toml --json";
    const std::string hash = text(berth(arguments).out, "actions_hash");
    EXPECT_EQ(hash.size(), 16U) << example;
    EXPECT_EQ(text(berth(arguments).out, "actions_hash"), hash) << example;
    EXPECT_NE(text(berth(arguments + " --seed 99").out, "actions_hash"), hash) << example;
  }
}

TEST(Sim, EveryExampleRunsAndLosesNothing) {
  for (const std::string& example : e2e::examples()) {
    const Result result = berth("sim examples/" + example + ".toml --json");
    ASSERT_EQ(result.code, 0) << example << "\n" << result.out;
    const auto count = [&](const std::string& key) { return number(result.out, {"tasks", key}); };
    EXPECT_GT(count("completed"), 0) << example;
    EXPECT_EQ(count("submitted"), count("completed") + count("refused") + count("cancelled") +
                                      count("failed") + count("expired") + count("unfinished"))
        << example;
  }
}

// Nothing that can run is left behind, unless the scenario itself stops early.
TEST(Sim, AnExampleWithoutAnEndFinishesItsWork) {
  for (const std::string& example : e2e::examples()) {
    const Result result = berth("sim examples/" + example + ".toml --json");
    const bool stops_early = example == "multi-tenant" || example == "noisy-neighbour";
    if (stops_early) continue;
    EXPECT_EQ(number(result.out, {"tasks", "unfinished"}), 0) << example;
  }
}

TEST(Sim, ExitCodesTellWrongInputFromAFailedWrite) {
  EXPECT_EQ(berth("").code, 2);
  EXPECT_EQ(berth("--help").code, 0);
  EXPECT_EQ(berth("--version").code, 0);
  EXPECT_EQ(berth("smi examples/first-run.toml").code, 2);
  EXPECT_EQ(berth("sim examples/none.toml").code, 2);
  EXPECT_EQ(berth("sim examples").code, 2);
  EXPECT_EQ(berth("sim examples/first-run.toml --set seed=-1").code, 2);
  EXPECT_EQ(berth("sim examples/first-run.toml --quiet --timeline /dev/full").code, 1);
  EXPECT_EQ(berth("sim examples/first-run.toml --quiet > /dev/full").code, 0);
  EXPECT_EQ(berth("sim examples/first-run.toml > /dev/full").code, 1);
}

}  // namespace
}  // namespace berth::sim_test
