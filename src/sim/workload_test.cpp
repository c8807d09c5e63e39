// Arrivals: exact where they are regular, right on average where they are not, equal by seed.
#include "sim/workload.h"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "sim/scenario_reader.h"

namespace berth::sim::workload_test {
namespace {

constexpr std::string_view kCluster = R"(
[[cluster.gpus]]
vram = "40GB"
[[tenants]]
name = "a"
[[tenants]]
name = "b"
[[queues]]
name = "x"
batch_base = "50ms"
[[queues]]
name = "y"
batch_base = "50ms"
)";

Scenario scenario_of(const std::string& workload) {
  Diagnostics diagnostics;
  const ReadFile read_file = [&](const std::string&, std::string&) {
    return std::optional<std::string>(std::string(kCluster) + workload);
  };
  std::optional<Scenario> scenario = load_scenario("s.toml", {}, diagnostics, read_file);
  EXPECT_TRUE(scenario) << diagnostics.text();
  return scenario ? *scenario : Scenario{};
}

std::vector<Arrival> all_arrivals(const Scenario& scenario, std::uint64_t seed = 1) {
  Workload workload(scenario, seed);
  std::vector<Arrival> arrivals;
  std::uint64_t number = 0;
  while (workload.next_at() != Time::never()) {
    const Time at = workload.next_at();
    arrivals.push_back(workload.take(TaskNo{number}));
    EXPECT_EQ(arrivals.back().event.now, at);
    number += arrivals.back().actual_runs.size();
  }
  return arrivals;
}

std::vector<std::int64_t> times_of(const std::vector<Arrival>& arrivals) {
  std::vector<std::int64_t> times;
  for (const Arrival& arrival : arrivals)
    times.push_back(arrival.event.now.ns);
  return times;
}

const core::TaskSpec& spec_of(const Arrival& arrival) {
  return std::get<core::Submit>(arrival.event.body).spec;
}

TEST(Workload, SeventyASecondIsExact) {
  const Scenario scenario = scenario_of(
      "[[workload]]\nkind = \"fixed_gap\"\nrate_per_second = 70\ncount = 141\nqueue = \"x\"\n"
      "tenant = \"a\"\n");
  const auto arrivals = all_arrivals(scenario);
  ASSERT_EQ(arrivals.size(), 141U);
  EXPECT_EQ(arrivals[1].event.now.ns, 14'285'714);
  EXPECT_EQ(arrivals[31].event.now.ns, 442'857'142);
  EXPECT_EQ(arrivals[70].event.now.ns, 1'000'000'000);
  EXPECT_EQ(arrivals[140].event.now.ns, 2'000'000'000);
}

TEST(Workload, FixedGapEndsByCountOrByDuration) {
  const std::string rule =
      "[[workload]]\nkind = \"fixed_gap\"\ngap = \"10ms\"\nstart = \"1s\"\nqueue = \"x\"\n"
      "tenant = \"a\"\n";
  EXPECT_EQ(times_of(all_arrivals(scenario_of(rule + "count = 3\n"))),
            (std::vector<std::int64_t>{1'000'000'000, 1'010'000'000, 1'020'000'000}));
  EXPECT_EQ(all_arrivals(scenario_of(rule + "duration = \"30ms\"\n")).size(), 3U);
  EXPECT_EQ(all_arrivals(scenario_of(rule + "duration = \"31ms\"\n")).size(), 4U);
  EXPECT_EQ(all_arrivals(scenario_of(rule + "duration = \"1h\"\ncount = 2\n")).size(), 2U);
}

TEST(Workload, BurstsComeTogether) {
  const Scenario scenario = scenario_of(
      "[[workload]]\nkind = \"bursts\"\nburst_size = 2\nburst_every = \"1s\"\ngap = \"1ms\"\n"
      "count = 5\nqueue = \"x\"\ntenant = \"a\"\n");
  EXPECT_EQ(times_of(all_arrivals(scenario)),
            (std::vector<std::int64_t>{0, 1'000'000, 1'000'000'000, 1'001'000'000, 2'000'000'000}));
}

TEST(Workload, PoissonHasItsRateAndDependsOnTheSeed) {
  const Scenario scenario = scenario_of(
      "[[workload]]\nkind = \"poisson\"\nrate_per_second = 100\nduration = \"100s\"\n"
      "queue = \"x\"\ntenant = \"a\"\n");
  const auto one = times_of(all_arrivals(scenario, 1));
  EXPECT_NEAR(static_cast<double>(one.size()), 10'000, 300);
  EXPECT_EQ(one, times_of(all_arrivals(scenario, 1)));
  EXPECT_NE(one, times_of(all_arrivals(scenario, 2)));
}

TEST(Workload, ADayHasItsPeakAndItsNight) {
  const Scenario scenario = scenario_of(
      "[[workload]]\nkind = \"daily\"\nrate_per_second = 10\nlow_rate_per_second = 1\n"
      "period = \"1000s\"\npeak_at = \"600s\"\nduration = \"10000s\"\nqueue = \"x\"\n"
      "tenant = \"a\"\n");
  std::map<std::int64_t, int> by_tenth;
  for (const std::int64_t ns : times_of(all_arrivals(scenario))) {
    ++by_tenth[ns / 100'000'000'000 % 10];
  }
  // Ten days of a hundred seconds each: about 10 × 100 × rate.
  EXPECT_NEAR(by_tenth[5] + by_tenth[6], 2 * 9'680, 400);
  EXPECT_NEAR(by_tenth[0] + by_tenth[1], 2 * 1'320, 200);
  EXPECT_DOUBLE_EQ(daily_rate_micro(scenario.rules[0], Time{600'000'000'000}), 10e6);
  EXPECT_DOUBLE_EQ(daily_rate_micro(scenario.rules[0], Time{1'100'000'000'000}), 1e6);
}

TEST(Workload, QueuesRotateAndTenantsChangeAfterEachRound) {
  const Scenario scenario = scenario_of(
      "[[workload]]\nkind = \"fixed_gap\"\ngap = \"1ms\"\ncount = 6\nqueues = [\"x\", \"y\"]\n"
      "tenants = [\"a\", \"b\"]\n");
  std::string seen;
  for (const Arrival& arrival : all_arrivals(scenario)) {
    seen += scenario.tenants.names[spec_of(arrival).tenant.value];
    seen += scenario.queues.names[spec_of(arrival).queue.value] + " ";
  }
  EXPECT_EQ(seen, "ax ay bx by ax ay ");
}

TEST(Workload, WeightsAreProportions) {
  const Scenario scenario = scenario_of(
      "[[workload]]\nkind = \"fixed_gap\"\ngap = \"1ms\"\ncount = 10000\n"
      "queues = [\"x\", \"y\"]\nqueue_weights = [3, 1]\ntenant = \"a\"\n");
  int of_x = 0;
  for (const Arrival& arrival : all_arrivals(scenario))
    of_x += spec_of(arrival).queue.value == 0;
  EXPECT_NEAR(of_x, 7'500, 150);
}

TEST(Workload, DrawnAmountsStayInTheirRange) {
  const Scenario scenario = scenario_of(
      "[[workload]]\nkind = \"fixed_gap\"\ngap = \"1ms\"\ncount = 2000\nqueue = \"x\"\n"
      "tenant = \"a\"\nvram = { min = \"2GB\", max = \"8GB\", step = \"2GB\" }\n"
      "priority = [0, 5]\nexpected_run = { mean = \"1s\" }\nactual_run_ms = { min = 5, max = 6 "
      "}\n");
  std::map<std::int64_t, int> vram;
  std::map<int, int> priority;
  double run = 0;
  for (const Arrival& arrival : all_arrivals(scenario)) {
    ++vram[spec_of(arrival).vram.value];
    ++priority[spec_of(arrival).priority];
    run += static_cast<double>(spec_of(arrival).expected_run.ns);
    EXPECT_GE(arrival.actual_runs[0]->ns, 5'000'000);
    EXPECT_LE(arrival.actual_runs[0]->ns, 6'000'000);
  }
  ASSERT_EQ(vram.size(), 4U);
  EXPECT_EQ(vram.begin()->first, 2048);
  EXPECT_EQ(vram.rbegin()->first, 8192);
  EXPECT_EQ(priority.size(), 2U);
  EXPECT_NEAR(run / 2000, 1e9, 1e8);
}

TEST(Workload, StepsArriveAsOneWorkflow) {
  const Scenario scenario = scenario_of(
      "[[workload]]\nkind = \"fixed_gap\"\ngap = \"1s\"\ncount = 2\ntenant = \"a\"\n"
      "[[workload.steps]]\nid = \"last\"\nqueue = \"y\"\ndepends_on = [\"first\"]\n"
      "[[workload.steps]]\nid = \"first\"\nqueue = \"x\"\n");
  const auto arrivals = all_arrivals(scenario);
  ASSERT_EQ(arrivals.size(), 2U);
  const auto& workflow = std::get<core::SubmitWorkflow>(arrivals[1].event.body);
  EXPECT_EQ(workflow.first.value, 2U);
  ASSERT_EQ(workflow.tasks.size(), 2U);
  EXPECT_EQ(workflow.tasks[0].queue.value, 0U);
  EXPECT_EQ(workflow.tasks[1].depends_on,
            (std::vector<core::Dependency>{{core::Dependency::Kind::task, 2}}));
}

TEST(Workload, ExplicitTasksComeAfterWhatTheyDependOn) {
  const Scenario scenario = scenario_of(
      "[[workload]]\nkind = \"tasks\"\nqueue = \"x\"\ntenant = \"a\"\n"
      "[[workload.tasks]]\nid = \"late\"\nat = \"2s\"\n"
      "[[workload.tasks]]\nid = \"end\"\ndepends_on = \"middle\"\nsignals = \"go\"\n"
      "[[workload.tasks]]\nid = \"middle\"\ndepends_on = \"begin\"\n"
      "[[workload.tasks]]\nid = \"begin\"\n");
  std::string order;
  for (const ExplicitTask& task : scenario.tasks)
    order += task.id + " ";
  EXPECT_EQ(order, "begin middle end late ");
  const auto arrivals = all_arrivals(scenario);
  EXPECT_EQ(spec_of(arrivals[2]).depends_on,
            (std::vector<core::Dependency>{{core::Dependency::Kind::signal, 0},
                                           {core::Dependency::Kind::task, 1}}));
}

TEST(Workload, AnotherBlockDoesNotChangeTheDrawsOfThisOne) {
  const std::string first =
      "[[workload]]\nkind = \"poisson\"\nrate_per_second = 5\ncount = 20\nqueue = \"x\"\n"
      "tenant = \"a\"\nvram = { min = \"1GB\", max = \"9GB\" }\n";
  const std::string second =
      "[[workload]]\nkind = \"poisson\"\nrate_per_second = 50\ncount = 20\nqueue = \"y\"\n"
      "tenant = \"b\"\n";
  const auto specs = [](const Scenario& scenario) {
    std::vector<std::pair<std::int64_t, std::int64_t>> result;
    for (const Arrival& arrival : all_arrivals(scenario)) {
      if (spec_of(arrival).queue.value != 0) continue;
      result.emplace_back(arrival.event.now.ns, spec_of(arrival).vram.value);
    }
    return result;
  };
  EXPECT_EQ(specs(scenario_of(first)), specs(scenario_of(first + second)));
}

}  // namespace
}  // namespace berth::sim::workload_test
