// Nodes with CPUs and memory, and tasks that ask for them: from the file to the report.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/mig/profiles.h"
#include "core/model/ranges.h"
#include "sim/event_log.h"
#include "sim/recorder.h"
#include "sim/scenario_reader.h"
#include "sim/timeline.h"

namespace berth::sim::nodes_test {
namespace {

using Texts = std::vector<std::string>;

std::optional<Scenario> load(const std::string& text, Texts& errors, const std::string& csv = {}) {
  Diagnostics diagnostics;
  const ReadFile read_file = [&](const std::string& path, std::string&) {
    return std::optional<std::string>(path == "s.toml" ? text : csv);
  };
  auto scenario = load_scenario("s.toml", {}, diagnostics, read_file);
  for (const Diagnostic& error : diagnostics.sorted()) {
    errors.push_back(diagnostics.place(error.at) + ": " + error.message);
  }
  return scenario;
}

Scenario read(const std::string& text, const std::string& csv = {}) {
  Texts errors;
  const auto scenario = load(text, errors, csv);
  EXPECT_EQ(errors, Texts{});
  return scenario.value_or(Scenario{});
}

// Two nodes of four GPUs in two racks, one node of CPUs, and a GPU that is added to it.
constexpr std::string_view kCluster = R"([[cluster.nodes]]
name = "a"
count = 2
nodes_per_rack = 1
cpu = 32
memory = "128GB"
gpus = 4
kind = "A100"
vram = "40GB"
island = 2
[[cluster.nodes]]
name = "c"
cpu = 64
memory = "512GB"
[[cluster.gpus]]
kind = "L4"
vram = "24GB"
node = "c"
[[queues]]
name = "q"
[[workload]]
kind = "tasks"
expected_run = "10s"
)";

// kCluster and one task; its keys begin in line 26.
std::string with_task(const std::string& lines) {
  return std::string(kCluster) + "[[workload.tasks]]\nid = \"t\"\n" + lines;
}

core::TaskSpec task_of(const std::string& lines) {
  return read(with_task(lines)).tasks[0].task.spec;
}

Texts errors_of(const std::string& lines) {
  Texts errors;
  const bool good = load(with_task(lines), errors).has_value();
  EXPECT_EQ(good, errors.empty());
  return errors;
}

TEST(Nodes, EachHasItsRackCpusAndGpus) {
  const Scenario scenario = read(with_task(""));
  EXPECT_EQ(scenario.nodes.all(), (Texts{"a-0", "a-1", "c"}));
  EXPECT_EQ(scenario.racks.all(), (Texts{"rack", "a-rack-0", "a-rack-1"}));
  EXPECT_EQ(scenario.kinds.all(), (Texts{"A100", "L4"}));
  EXPECT_EQ(scenario.gpus.names,
            (Texts{"a-0/0", "a-0/1", "a-0/2", "a-0/3", "a-1/0", "a-1/1", "a-1/2", "a-1/3", "l4"}));
  ASSERT_EQ(scenario.node_specs.size(), 3U);
  EXPECT_EQ(scenario.node_specs[1], (core::NodeSpec{RackId{2}, Milli{32'000}, Mib{131'072}}));
  EXPECT_EQ(scenario.node_specs[2], (core::NodeSpec{RackId{0}, Milli{64'000}, Mib{524'288}}));
  const core::GpuSpec& gpu = scenario.gpus.specs[6].spec;
  EXPECT_EQ(gpu.node, NodeId{1});
  EXPECT_EQ(gpu.island, IslandId{3});
  // A GPU may be added to a node that is described.
  EXPECT_EQ(scenario.gpus.specs[8].spec.node, NodeId{2});
  EXPECT_FALSE(scenario.gpus.specs[8].spec.island);
}

TEST(Nodes, NamesAndNumbersHaveLimits) {
  Texts errors;
  (void)load(with_task("[[cluster.nodes]]\nname = \"a-1\"\ncpu = 1\n"), errors);
  EXPECT_EQ(errors, (Texts{"s.toml:27:8: cluster.nodes.name: \"a-1\" is already the name of a "
                           "node, at s.toml:2:8"}));
  errors.clear();
  (void)load(with_task("[[cluster.nodes]]\nname = \"b\"\ncpu = 1\ncount = 99999\n"), errors);
  EXPECT_EQ(errors, (Texts{"s.toml:29:9: cluster.nodes.count: a cluster has at most 100000 "
                           "nodes"}));
  errors.clear();
  std::string kinds;
  for (int i = 0; i < 63; ++i)
    kinds += "[[cluster.gpus]]\nkind = \"k" + std::to_string(i) + "\"\nvram_gb = 1\n";
  (void)load(with_task(kinds), errors);
  EXPECT_EQ(errors,
            (Texts{"s.toml:213:8: cluster.gpus.kind: a cluster has at most 64 kinds of GPU"}));
}

TEST(Shapes, EveryFieldOfATaskArrives) {
  const core::TaskSpec task = task_of(
      "gpus = 4\ngroups = 2\nwithin = \"island\"\nrequired = true\ncpu = 1.5\n"
      "memory_gb = 3\nkinds = [\"L4\", \"A100\"]\n");
  EXPECT_EQ(task.gpus, 4);
  EXPECT_EQ(task.groups, 2);
  EXPECT_EQ(task.within, core::Level::island);
  EXPECT_TRUE(task.required);
  EXPECT_EQ(task.cpu, Milli{1500});
  EXPECT_EQ(task.memory, Mib{3072});
  EXPECT_EQ(task.kinds, 3U);
  EXPECT_EQ(core::flaw_in(task), nullptr);
  EXPECT_EQ(task_of("kinds = \"L4\"\n").kinds, 2U);
  EXPECT_EQ(core::mig::name_of(task_of("profile = \"3g.20gb\"\n").profile), "3g.20gb");
  EXPECT_EQ(task_of("gpus = 0\ncpu = 1\n").gpus, 0);
}

TEST(Shapes, ACsvHasThemAsColumns) {
  const std::string cluster(kCluster.substr(0, kCluster.find("[[workload]]")));
  const std::string workload =
      "[[workload]]\nkind = \"csv\"\nfile = \"t\"\nexpected_run = \"1s\"\n";
  const Scenario scenario = read(cluster + workload,
                                 "gpus,cpu,memory_gb,kinds,groups,within,required,profile\n"
                                 "0,4,16,,,,,\n"
                                 "4,,,A100 L4,2,node,true,\n"
                                 "1,,,A100,,,,1g.5gb\n");
  ASSERT_EQ(scenario.tasks.size(), 3U);
  EXPECT_EQ(scenario.tasks[0].task.spec.cpu, Milli{4000});
  EXPECT_EQ(scenario.tasks[0].task.spec.memory, Mib{16'384});
  EXPECT_EQ(scenario.tasks[1].task.spec.kinds, 3U);
  EXPECT_EQ(scenario.tasks[1].task.spec.groups, 2);
  EXPECT_EQ(scenario.tasks[1].task.spec.within, core::Level::node);
  EXPECT_TRUE(scenario.tasks[1].task.spec.required);
  EXPECT_EQ(scenario.tasks[2].task.spec.profile, core::mig::profile_named("1g.5gb"));
}

TEST(Shapes, UnknownNamesComeWithASuggestion) {
  EXPECT_EQ(errors_of("kinds = [\"A10\", \"L4\"]\nprofile = \"3g.20g\"\nwithin = \"rak\"\n"),
            (Texts{"s.toml:26:10: workload.tasks.kinds: no kind of GPU is named \"A10\"; did you "
                   "mean \"A100\"?",
                   "s.toml:27:11: workload.tasks.profile: no MIG profile is named \"3g.20g\"; did "
                   "you mean \"3g.20gb\"?",
                   "s.toml:28:10: workload.tasks.within: expected one of \"island\", \"node\", "
                   "\"rack\", \"cluster\", found the string \"rak\"; did you mean \"rack\"?"}));
}

TEST(Shapes, WhatDoesNotGoTogetherIsRefused) {
  const std::string path = "workload.tasks.";
  EXPECT_EQ(errors_of("gpus = 0\n"),
            (Texts{"s.toml:26:8: " + path + "gpus: a task with gpus = 0 needs cpu or memory"}));
  EXPECT_EQ(errors_of("gpus = 0\ncpu = 1\nkinds = \"L4\"\nprofile = \"1g.5gb\"\n"),
            (Texts{"s.toml:28:9: " + path + "kinds: a task with gpus = 0 takes no kinds",
                   "s.toml:29:11: " + path + "profile: a task with gpus = 0 takes no profile"}));
  EXPECT_EQ(errors_of("gpus = 2\nshare = 0.5\n"),
            (Texts{"s.toml:27:9: " + path + "share: a task on several GPUs takes them whole"}));
  EXPECT_EQ(errors_of("gpus = 8\ngroups = 3\nwithin = \"node\"\n"),
            (Texts{"s.toml:27:10: " + path + "groups: 8 GPUs cannot be parted into 3 groups of " +
                   "equal size"}));
  EXPECT_EQ(
      errors_of("gpus = 8\ngroups = 2\n"),
      (Texts{"s.toml:27:10: " + path + "groups: needs within = \"island\", \"node\" or \"rack\""}));
  EXPECT_EQ(errors_of("gpus = 8\nrequired = true\n"),
            (Texts{"s.toml:27:12: " + path +
                   "required: needs within = \"island\", \"node\" or \"rack\""}));
  EXPECT_EQ(errors_of("gpus = 2\nprofile = \"1g.5gb\"\n"),
            (Texts{"s.toml:27:11: " + path +
                   "profile: a MIG profile is a part of one GPU, not of "
                   "2"}));
  EXPECT_EQ(
      errors_of("share = 0.5\nprofile = \"1g.5gb\"\n"),
      (Texts{"s.toml:26:9: " + path + "share: a MIG profile says how much of the GPU it is"}));
}

// Whatever may be drawn must go together with the rest; what could not be read is not judged.
TEST(Shapes, DrawnAmountsAreJudgedByAllTheyMayBe) {
  const std::string path = "workload.tasks.";
  EXPECT_EQ(errors_of("gpus = [0, 1]\ncpu = { min = 0.5, max = 4 }\n"), Texts{});
  EXPECT_EQ(errors_of("gpus = [0, 1]\ncpu = { min = 0, max = 4 }\n"),
            (Texts{"s.toml:26:8: " + path + "gpus: a task with gpus = 0 needs cpu or memory"}));
  EXPECT_EQ(errors_of("gpus = { min = 1, max = 2 }\nshare = [0.5, 1]\n"),
            (Texts{"s.toml:27:9: " + path + "share: a task on several GPUs takes them whole"}));
  EXPECT_EQ(errors_of("gpus = { min = 2, max = 8, step = 2 }\ngroups = 2\nwithin = \"node\"\n"),
            Texts{});
  EXPECT_EQ(errors_of("gpus = { min = 2, max = 4 }\ngroups = 2\nwithin = \"node\"\n"),
            (Texts{"s.toml:27:10: " + path + "groups: 3 GPUs cannot be parted into 2 groups of " +
                   "equal size"}));
  EXPECT_EQ(errors_of("gpus = -1\ngroups = 2\nwithin = \"node\"\n"),
            (Texts{"s.toml:26:8: " + path +
                   "gpus: expected an integer from 0 to 10000, found the integer -1"}));
}

struct Outcome {
  Report report;
  std::string timeline;
  std::string events;
};

// Every step is followed by a check of the engine's invariants.
Outcome run(const std::string& text) {
  const Scenario scenario = read(text);
  Recorder recorder(scenario, 1);
  Timeline timeline(scenario);
  Outcome outcome;
  EventLog log(scenario, [&](std::string_view line) { outcome.events += line; });
  Simulation simulation(scenario, 1);
  simulation.add_observer(recorder);
  simulation.add_observer(timeline);
  simulation.add_observer(log);
  simulation.check_invariants();
  simulation.run();
  EXPECT_EQ(simulation.broken_invariants(), Texts{});
  outcome.report = recorder.report();
  outcome.timeline = timeline.csv();
  return outcome;
}

// One node of 4 CPUs: three tasks of 2 CPUs for 10 s run two at a time.
constexpr std::string_view kOneNode = R"(
[[cluster.nodes]]
name = "n"
cpu = 4
memory = "8GB"
[[queues]]
name = "q"
[[workload]]
kind = "fixed_gap"
gap = "0s"
count = 3
gpus = 0
cpu = 2
expected_run = "10s"
)";

TEST(Nodes, RunWorkWithoutAGpu) {
  const Outcome outcome = run(std::string(kOneNode));
  EXPECT_EQ(outcome.report.tasks.completed, 3U);
  EXPECT_EQ(outcome.report.cpu_only.submitted, 3U);
  EXPECT_EQ(outcome.report.cpu_only.completed, 3U);
  EXPECT_DOUBLE_EQ(outcome.report.makespan_s, 20.0);
  EXPECT_EQ(outcome.report.nodes.nodes, 1U);
  EXPECT_DOUBLE_EQ(outcome.report.nodes.cpu_ratio, 0.75);
  EXPECT_DOUBLE_EQ(outcome.report.nodes.memory_ratio, 0.0);
  EXPECT_TRUE(outcome.report.kinds.empty());
  EXPECT_EQ(outcome.timeline,
            "lease,queue,model,gpus,start_s,end_s,size,completed,vram_mib,share,tasks\n"
            "0,q,,n,0.000000000,10.000000000,1,1,0,1,0\n"
            "1,q,,n,0.000000000,10.000000000,1,1,0,1,1\n"
            "2,q,,n,10.000000000,20.000000000,1,1,0,1,2\n");
  for (const char* part :
       {R"("event":"put_node","node":"n","rack":"rack","cpu_milli":4000)",
        R"("gpus":0,"cpu_milli":2000)", R"("node":"n","cpu_milli":2000,"gpus":[])"}) {
    EXPECT_NE(outcome.events.find(part), std::string::npos) << part << "\n" << outcome.events;
  }
}

TEST(Nodes, TheLogSaysWhatStoppingATaskCosts) {
  const Outcome outcome =
      run(std::string(kOneNode) + "checkpoint_interval = \"5s\"\nrestart_cost = \"2s\"\n");
  const char* part = R"("checkpoint_interval_ns":5000000000,"restart_cost_ns":2000000000)";
  EXPECT_NE(outcome.events.find(part), std::string::npos) << outcome.events;
}

// The node goes at 4 s and is back at 5 s: what ran begins anew.
TEST(Nodes, LoseTheirWorkAndGetItBack) {
  const Outcome outcome = run(std::string(kOneNode) + R"(
[[at]]
time = "4s"
lose_node = "n"
[[at]]
time = "5s"
return_node = "n"
)");
  EXPECT_EQ(outcome.report.tasks.completed, 3U);
  EXPECT_EQ(outcome.report.retries, 2U);
  EXPECT_DOUBLE_EQ(outcome.report.makespan_s, 25.0);
}

// Of two A100 one is taken whole for 10 of 20 s; of the L4 half, for all 20 s.
TEST(Nodes, AllocationIsReportedByKind) {
  const Outcome outcome = run(R"(
[[cluster.nodes]]
name = "n"
cpu = 4
gpus = 2
kind = "A100"
vram = "40GB"
[[cluster.gpus]]
kind = "L4"
vram = "24GB"
[[queues]]
name = "q"
[[workload]]
kind = "tasks"
[[workload.tasks]]
kinds = "A100"
cpu = 1
expected_run = "10s"
[[workload.tasks]]
kinds = "L4"
share = 0.5
expected_run = "20s"
)");
  ASSERT_EQ(outcome.report.kinds.size(), 2U);
  EXPECT_EQ(outcome.report.kinds[0].name, "A100");
  EXPECT_EQ(outcome.report.kinds[0].gpus, 2U);
  EXPECT_DOUBLE_EQ(outcome.report.kinds[0].allocated_ratio, 0.25);
  EXPECT_EQ(outcome.report.kinds[1].name, "L4");
  EXPECT_DOUBLE_EQ(outcome.report.kinds[1].allocated_ratio, 0.5);
  EXPECT_EQ(outcome.report.cpu_only.submitted, 0U);
}

TEST(Nodes, ATopologySaysWhereTheGpusOfANodeSit) {
  const std::string xml =
      "<topology version=\"2.0\"><object type=\"Machine\"><object type=\"PU\"/>"
      "<object type=\"Package\"><object type=\"PCIDev\" pci_busid=\"0000:01:00.0\" "
      "pci_type=\"0302 [10de:20b0]\"/></object>"
      "<object type=\"Package\"><object type=\"PCIDev\" pci_busid=\"0000:02:00.0\" "
      "pci_type=\"0302 [10de:20b0]\"/></object></object></topology>";
  const Scenario scenario = read(
      "[[cluster.nodes]]\nname = \"a\"\ntopology = \"a.xml\"\nkind = \"A100\"\nvram = \"40GB\"\n"
      "[[queues]]\nname = \"q\"\n[[workload]]\nkind = \"tasks\"\nexpected_run = \"1s\"\n"
      "[[workload.tasks]]\nid = \"t\"\n",
      xml);
  ASSERT_EQ(scenario.node_specs.size(), 1U);
  EXPECT_EQ(scenario.node_specs[0].cpu, Milli{1000});
  ASSERT_EQ(scenario.gpus.size(), 2U);
  EXPECT_EQ(scenario.gpus.specs[1].spec.socket, 1);
  EXPECT_EQ(scenario.gpus.specs[1].spec.pcie_switch, 1);
  EXPECT_EQ(scenario.gpus.specs[1].spec.vram, Mib{40 * 1024});
  EXPECT_EQ(scenario.islands, 0U);
}

}  // namespace
}  // namespace berth::sim::nodes_test
