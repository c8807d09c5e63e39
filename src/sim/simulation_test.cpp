// Whole runs against the engine: the arithmetic of small scenarios, checked by hand.
#include "sim/simulation.h"

#include <gtest/gtest.h>

#include "sim/event_log.h"
#include "sim/recorder.h"
#include "sim/scenario_reader.h"
#include "sim/timeline.h"

namespace berth::sim::simulation_test {
namespace {

struct Outcome {
  Report report;
  std::string timeline;
  std::string events;
};

Scenario read(const std::string& text) {
  Diagnostics diagnostics;
  const ReadFile read_file = [&](const std::string&, std::string&) {
    return std::optional<std::string>(text);
  };
  std::optional<Scenario> scenario = load_scenario("s.toml", {}, diagnostics, read_file);
  EXPECT_TRUE(scenario) << diagnostics.text();
  return scenario ? *scenario : Scenario{};
}

// Every step is followed by a check of the engine's invariants.
Outcome run(const std::string& text, std::uint64_t seed = 1) {
  const Scenario scenario = read(text);
  Recorder recorder(scenario, seed);
  Timeline timeline(scenario);
  Outcome outcome;
  EventLog log(scenario, [&](std::string_view line) { outcome.events += line; });
  Simulation simulation(scenario, seed);
  for (Observer* observer : {static_cast<Observer*>(&recorder), static_cast<Observer*>(&timeline),
                             static_cast<Observer*>(&log)}) {
    simulation.add_observer(*observer);
  }
  simulation.check_invariants();
  simulation.run();
  EXPECT_EQ(simulation.broken_invariants(), std::vector<std::string>{});
  outcome.report = recorder.report();
  outcome.timeline = timeline.csv();
  return outcome;
}

constexpr std::string_view kOneGpu = "[[cluster.gpus]]\nname = \"g\"\nvram = \"40GB\"\n";

// One GPU. Tasks at 0, 10, 20, 30 ms; a batch of two takes 100 ms, so the second pair, ready at
// 30 ms, starts at 110 ms and ends at 210 ms. Waits: 10, 0, 90, 80 ms.
TEST(Simulation, TwoBatchesOnOneGpu) {
  const Outcome outcome = run(std::string(kOneGpu) + R"(
    [[queues]]
    name = "q"
    max_batch_size = 2
    max_batch_wait = "1s"
    batch_base = "60ms"
    batch_per_task = "20ms"
    [[workload]]
    kind = "fixed_gap"
    gap = "10ms"
    count = 4
    vram = "4GB"
  )");
  EXPECT_EQ(outcome.report.tasks.completed, 4U);
  EXPECT_EQ(outcome.report.batches, 2U);
  EXPECT_DOUBLE_EQ(outcome.report.waits.mean, 45.0);
  EXPECT_DOUBLE_EQ(outcome.report.waits.max, 90.0);
  EXPECT_DOUBLE_EQ(outcome.report.makespan_s, 0.21);
  EXPECT_NEAR(outcome.report.busy_ratio, 200.0 / 210.0, 1e-9);
  EXPECT_NEAR(outcome.report.vram_ratio, 8.0 / 40.0 * 200.0 / 210.0, 1e-9);
  EXPECT_EQ(outcome.timeline,
            "lease,queue,model,gpus,start_s,end_s,size,completed,vram_mib,share,tasks\n"
            "0,q,,g,0.010000000,0.110000000,2,2,8192,1,0 1\n"
            "1,q,,g,0.110000000,0.210000000,2,2,8192,1,2 3\n");
}

TEST(Simulation, TheSameSeedGivesTheSameHashAndAnotherSeedDoesNot) {
  const std::string text = std::string(kOneGpu) + R"(
    [[queues]]
    name = "q"
    max_batch_size = 4
    max_batch_wait = "20ms"
    batch_base = "5ms"
    [agents]
    jitter = 0.3
    error_rate = 0.1
    [[workload]]
    kind = "poisson"
    rate_per_second = 200
    count = 200
    vram = { min = "1GB", max = "8GB" }
    retry = { attempts = 2 }
  )";
  const Outcome one = run(text, 1);
  EXPECT_EQ(one.report.actions_hash, run(text, 1).report.actions_hash);
  EXPECT_NE(one.report.actions_hash, run(text, 2).report.actions_hash);
  EXPECT_GT(one.report.retries, 0U);
  EXPECT_EQ(one.report.tasks.completed + one.report.tasks.failed, 200U);
}

TEST(Simulation, FlushAtTheEndStartsWhatWaits) {
  const std::string text = std::string(kOneGpu) + R"(
    [[queues]]
    name = "q"
    max_batch_size = 8
    max_batch_wait = "10s"
    batch_base = "10ms"
    [[workload]]
    kind = "fixed_gap"
    gap = "1ms"
    count = 3
  )";
  EXPECT_DOUBLE_EQ(run("flush_at_end = true\n" + text).report.makespan_s, 0.012);
  EXPECT_DOUBLE_EQ(run(text).report.makespan_s, 10.01);
}

// The model is loaded once for 2 s; the task waits for it.
TEST(Simulation, ALoadIsWaitedForAndCounted) {
  const Outcome outcome = run(std::string(kOneGpu) + R"(
    [[models]]
    name = "m"
    weights = "10GB"
    vram_per_task = "2GB"
    load_time = "2s"
    [[queues]]
    name = "q"
    model = "m"
    batch_base = "500ms"
    [[workload]]
    kind = "fixed_gap"
    gap = "1s"
    count = 1
  )");
  EXPECT_EQ(outcome.report.loads, 1U);
  EXPECT_DOUBLE_EQ(outcome.report.waits.mean, 2000.0);
  EXPECT_DOUBLE_EQ(outcome.report.makespan_s, 2.5);
  EXPECT_DOUBLE_EQ(outcome.report.models[0].resident_s, 0.5);
  EXPECT_DOUBLE_EQ(outcome.report.models[0].computing_s, 0.5);
  EXPECT_NEAR(outcome.report.vram_ratio, (10 * 2.0 + 12 * 0.5) / 2.5 / 40, 1e-9);
}

TEST(Simulation, AResidentModelNeedsNoLoad) {
  const Outcome outcome = run(R"(
    [[cluster.gpus]]
    vram = "40GB"
    resident = ["m"]
    [[models]]
    name = "m"
    weights = "10GB"
    [[queues]]
    name = "q"
    model = "m"
    batch_base = "500ms"
    [[workload]]
    kind = "fixed_gap"
    gap = "1s"
    count = 1
  )");
  EXPECT_EQ(outcome.report.loads, 0U);
  EXPECT_DOUBLE_EQ(outcome.report.waits.mean, 0.0);
}

TEST(Simulation, TheOversizedIsRefusedAndBlocksNothing) {
  const Outcome outcome = run(std::string(kOneGpu) + R"(
    [[queues]]
    name = "q"
    [[workload]]
    kind = "tasks"
    expected_run = "1s"
    [[workload.tasks]]
    vram = "37GB"
    [[workload.tasks]]
    vram = "36GB"
  )");
  EXPECT_EQ(outcome.report.tasks.refused, 1U);
  EXPECT_EQ(outcome.report.tasks.completed, 1U);
  ASSERT_EQ(outcome.report.refusals.size(), 1U);
  EXPECT_EQ(outcome.report.refusals[0].name, "vram_over_any_gpu");
}

// a waits for the signal at 5 s, b for a, c is cancelled, d is held for ever.
TEST(Simulation, SignalsDependenciesCancelsAndHolds) {
  const Outcome outcome = run(std::string(kOneGpu) + R"(
    [[queues]]
    name = "q"
    [[workload]]
    kind = "tasks"
    expected_run = "1s"
    [[workload.tasks]]
    id = "b"
    depends_on = "a"
    [[workload.tasks]]
    id = "a"
    signals = "go"
    [[workload.tasks]]
    id = "c"
    signals = "never"
    [[workload.tasks]]
    id = "d"
    held = true
    [[at]]
    time = "5s"
    signal = "go"
    [[at]]
    time = "3s"
    cancel = "c"
  )");
  EXPECT_EQ(outcome.report.tasks.completed, 2U);
  EXPECT_EQ(outcome.report.tasks.cancelled, 1U);
  EXPECT_EQ(outcome.report.tasks.unfinished, 1U);
  EXPECT_DOUBLE_EQ(outcome.report.makespan_s, 7.0);
}

TEST(Simulation, ALostGpuGivesItsWorkBack) {
  const Outcome outcome = run(R"(
    [[cluster.gpus]]
    name = "g"
    count = 2
    vram = "40GB"
    [[queues]]
    name = "q"
    [[workload]]
    kind = "tasks"
    expected_run = "10s"
    [[workload.tasks]]
    [[workload.tasks]]
    [[at]]
    time = "4s"
    lose_gpu = "g-0"
    [[at]]
    time = "6s"
    return_gpu = "g-0"
  )");
  EXPECT_EQ(outcome.report.tasks.completed, 2U);
  EXPECT_EQ(outcome.report.retries, 1U);
  EXPECT_DOUBLE_EQ(outcome.report.makespan_s, 16.0);
}

TEST(Simulation, FailingGpusDoNotKeepARunGoing) {
  const Outcome outcome = run(R"(
    [[cluster.gpus]]
    count = 4
    vram = "40GB"
    [[queues]]
    name = "q"
    [agents]
    gpu_mtbf = "30s"
    gpu_repair = "5s"
    [[workload]]
    kind = "fixed_gap"
    gap = "1s"
    count = 100
    expected_run = "3s"
  )");
  EXPECT_EQ(outcome.report.tasks.completed, 100U);
  EXPECT_GT(outcome.report.retries, 0U);
}

// Days pass, GPUs fail and come back, and the held task waits: nothing of that is progress.
TEST(Simulation, AHeldTaskDoesNotKeepARunGoingEither) {
  const Outcome outcome = run(R"(
    [[cluster.gpus]]
    vram = "40GB"
    [[tenants]]
    name = "t"
    daily_token_limit = 5
    [[queues]]
    name = "q"
    [agents]
    gpu_mtbf = "1h"
    [[workload]]
    kind = "tasks"
    expected_run = "1s"
    [[workload.tasks]]
    held = true
    [[workload.tasks]]
  )");
  EXPECT_EQ(outcome.report.tasks.unfinished, 1U);
  EXPECT_EQ(outcome.report.tasks.completed, 1U);
}

TEST(Simulation, AGangTakesItsGpusTogetherOrNotAtAll) {
  const Outcome outcome = run(R"(
    [[cluster.gpus]]
    name = "g"
    count = 4
    vram = "40GB"
    [[queues]]
    name = "q"
    [[workload]]
    kind = "tasks"
    expected_run = "10s"
    [[workload.tasks]]
    gpus = 3
    [[workload.tasks]]
    gpus = 2
    at = "1s"
    [[at]]
    time = "5s"
    lose_gpu = "g-1"
    [[at]]
    time = "7s"
    return_gpu = "g-1"
  )");
  EXPECT_EQ(outcome.report.tasks.completed, 2U);
}

TEST(Simulation, StopAtEndsARunEarly) {
  const Outcome outcome = run("stop_at = \"3500ms\"\n" + std::string(kOneGpu) + R"(
    [[queues]]
    name = "q"
    [[workload]]
    kind = "fixed_gap"
    gap = "1s"
    count = 10
    expected_run = "900ms"
  )");
  EXPECT_EQ(outcome.report.tasks.submitted, 4U);
  EXPECT_EQ(outcome.report.tasks.completed, 3U);
  EXPECT_EQ(outcome.report.tasks.unfinished, 1U);
}

// The last that happens is the submit at 4 s; until then the first task runs.
TEST(Simulation, WhatStillRunsAtTheEndIsCountedAsUse) {
  const Outcome outcome = run("stop_at = \"4500ms\"\n" + std::string(kOneGpu) + R"(
    [[queues]]
    name = "q"
    [[workload]]
    kind = "fixed_gap"
    gap = "1s"
    count = 10
    expected_run = "1min"
  )");
  EXPECT_DOUBLE_EQ(outcome.report.queues[0].gpu_seconds, 4.0);
  EXPECT_DOUBLE_EQ(outcome.report.tenants[0].gpu_seconds, 4.0);
  EXPECT_DOUBLE_EQ(outcome.report.tenants[0].gpu_share, 1.0);
}

TEST(Simulation, EventsAreLinesOfJsonWithNames) {
  const Outcome outcome = run(std::string(kOneGpu) + R"(
    [[queues]]
    name = "q"
    [[workload]]
    kind = "fixed_gap"
    gap = "1s"
    count = 1
    expected_run = "1s"
    vram = "2GB"
  )");
  EXPECT_NE(outcome.events.find(R"({"t_ns":0,"event":"submit","task":0,"queue":"q",)"
                                R"("tenant":"default","vram_mib":2048,)"),
            std::string::npos);
  EXPECT_NE(outcome.events.find(R"({"t_ns":0,"action":"task_accepted","task":0})"),
            std::string::npos);
  EXPECT_NE(outcome.events.find(R"({"t_ns":1000000000,"action":"task_finished","task":0,)"
                                R"("state":"completed"})"),
            std::string::npos);
}

TEST(Simulation, EventsNameClassesOfWork) {
  const Outcome outcome = run(R"(
    [[cluster.gpus]]
    name = "g"
    vram = "40GB"
    speed_by_class = { decode = 4 }
    [[queues]]
    name = "q"
    work_class = "decode"
    [[workload]]
    kind = "fixed_gap"
    gap = "1s"
    count = 1
    expected_run = "1s"
    vram = "2GB"
  )");
  EXPECT_NE(outcome.events.find(R"("work_class":"decode"})"), std::string::npos) << outcome.events;
  EXPECT_NE(outcome.events.find(R"("speed_milli":1000,"speed_milli_by_class":{"decode":4000}})"),
            std::string::npos)
      << outcome.events;
  EXPECT_DOUBLE_EQ(outcome.report.makespan_s, 0.25);
}

}  // namespace
}  // namespace berth::sim::simulation_test
