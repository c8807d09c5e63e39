// openb on tiny traces of the test's own: set-up, figures, and that nothing that fits is given up.
#include "exp/openb.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "core/packing/node_view.h"
#include "sim/scenario_reader.h"
#include "sim/simulation.h"

namespace berth::exp::openb_test {
namespace {

OpenbTrace small_trace() {
  OpenbTrace trace;
  for (int i = 0; i < 12; ++i) {
    trace.nodes.push_back(
        {"n" + std::to_string(i), 32'000, 131'072, 1 << (i % 4), i % 3 == 0 ? "T4" : "G2"});
  }
  OpenbWorkload workload{"small", {}};
  for (int i = 0; i < 40; ++i) {
    OpenbPod pod{2'000 + 500 * (i % 7), 4'096, i % 5 == 4 ? 0 : 1, 0, {}};
    if (i % 11 == 3) pod.gpus = 2;
    if (pod.gpus > 0) pod.gpu_milli = pod.gpus > 1 || i % 3 == 0 ? 1000 : 100 * (1 + i % 9);
    if (i % 9 == 1 && pod.gpus > 0) pod.models = {"T4", "T4x"};
    workload.pods.push_back(pod);
  }
  trace.workloads.push_back(workload);
  return trace;
}

// Keeps its own account of every node; at each pod that is given up it looks at all of them.
class Scan : public sim::Observer {
 public:
  explicit Scan(const sim::Scenario& scenario)
      : scenario_(scenario), nodes_(sim::empty_nodes(scenario)) {}
  void on_event(const core::Event& event) override {
    if (const auto* submit = std::get_if<core::Submit>(&event.body)) {
      asked_[submit->task.value] = core::shape_of(submit->spec, Mib{0});
    }
  }
  void on_action(Time, const core::Action& action) override {
    if (const auto* batch = std::get_if<core::BatchStarted>(&action)) take(*batch);
    if (const auto* end = std::get_if<core::TaskFinished>(&action)) look(end->task.value);
    if (const auto* no = std::get_if<core::TaskRefused>(&action)) look(no->task.value);
  }
  int given_up = 0;
  int wrongly = 0;

 private:
  void take(const core::BatchStarted& batch) {
    std::size_t node = batch.node.value;
    for (const GpuId gpu : batch.gpus) {
      node = scenario_.gpus.specs[gpu.value].spec.node.value;
      std::size_t first = gpu.value;
      while (first > 0 && scenario_.gpus.specs[first - 1].spec.node.value == node)
        --first;
      std::uint16_t& left = nodes_[node].left[gpu.value - first];
      ASSERT_GE(left, batch.share.value);
      left = static_cast<std::uint16_t>(left - batch.share.value);
    }
    nodes_[node].cpu -= batch.cpu;
    nodes_[node].memory -= batch.memory;
    ASSERT_GE(nodes_[node].cpu.value, 0);
  }
  void look(std::uint64_t task) {
    ++given_up;
    const auto fits = [&](const core::NodeView& node) { return core::fits(node, asked_[task]); };
    if (std::ranges::any_of(nodes_, fits)) ++wrongly;
  }

  const sim::Scenario& scenario_;
  std::vector<core::NodeView> nodes_;
  std::map<std::uint64_t, core::Shape> asked_;
};

TEST(Openb, CopiesFollowTheShuffledPodsUpToTheDemand) {
  const OpenbTrace trace = small_trace();
  const OpenbWorkload& workload = trace.workloads.front();
  const std::vector<std::uint32_t> order = openb_arrivals(trace, workload, 42);
  ASSERT_GT(order.size(), workload.pods.size());
  std::vector<std::uint32_t> first(order.begin(), order.begin() + 40);
  std::ranges::sort(first);
  for (std::uint32_t i = 0; i < 40; ++i)
    EXPECT_EQ(first[i], i);
  EXPECT_EQ(order, openb_arrivals(trace, workload, 42));
  EXPECT_NE(order, openb_arrivals(trace, workload, 43));
}

TEST(Openb, NothingThatFitsIsGivenUp) {
  const OpenbTrace trace = small_trace();
  for (const OpenbPolicy& policy : openb_policies()) {
    const auto scenario = load(openb_scenario(trace, trace.workloads.front(), policy, 7));
    ASSERT_TRUE(scenario) << scenario.error().message;
    sim::Simulation simulation(*scenario, 7);
    Scan scan(*scenario);
    simulation.add_observer(scan);
    simulation.run();
    EXPECT_GT(scan.given_up, 0) << policy.name;
    EXPECT_EQ(scan.wrongly, 0) << policy.name;
  }
}

TEST(Openb, PodsOfModelsThatNoNodeHasCountAsFailed) {
  OpenbTrace trace = small_trace();
  for (OpenbPod& pod : trace.workloads.front().pods)
    if (pod.gpus > 0) pod.models = {"none"};
  OpenbRunner runner(trace, trace.workloads.front());
  const auto figures = runner.run(openb_policies().back(), 1);
  ASSERT_TRUE(figures) << figures.error().message;
  EXPECT_EQ(figures->allocated_percent, 0);
}

TEST(Openb, WrittenFilesAreTheScenarioThatRuns) {
  const OpenbTrace trace = small_trace();
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("openb_" + std::to_string(::getpid()));
  const ScenarioFiles files =
      openb_scenario(trace, trace.workloads.front(), openb_policies().front(), 42);
  ASSERT_TRUE(write(files, folder.string()));
  config::Diagnostics diagnostics;
  const auto read = sim::load_scenario((folder / files.scenario).string(), {}, diagnostics);
  ASSERT_TRUE(read) << diagnostics.text();
  const auto run = load(files);
  const auto starts = [](const sim::Scenario& scenario) {
    struct Log : sim::Observer {
      std::vector<std::pair<std::uint64_t, std::vector<GpuId>>> all;
      void on_event(const core::Event&) override {}
      void on_action(Time, const core::Action& action) override {
        const auto* batch = std::get_if<core::BatchStarted>(&action);
        if (batch != nullptr) all.emplace_back(batch->tasks.front().task.value, batch->gpus);
      }
    } log;
    sim::Simulation simulation(scenario, scenario.seed);
    simulation.add_observer(log);
    simulation.run();
    return log.all;
  };
  EXPECT_FALSE(starts(*run).empty());
  EXPECT_EQ(starts(*read), starts(*run));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace berth::exp::openb_test
