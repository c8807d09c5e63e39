// What a good scenario becomes; and that the guide names every key the reader knows.
#include "sim/scenario_reader.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace berth::sim::scenario_reader_test {
namespace {

Scenario read(const std::string& text) {
  Diagnostics diagnostics;
  const ReadFile read_file = [&](const std::string& path, std::string&) {
    if (path == "dir/t.csv") {
      return std::optional<std::string>(
          "id,at_s,queue,vram_gb,depends_on\nb,1,q,2,a\na,1,q,,\n\"c\",0.5,r,1.5,\n");
    }
    return std::optional<std::string>(text);
  };
  std::optional<Scenario> scenario = load_scenario("dir/some.toml", {}, diagnostics, read_file);
  EXPECT_TRUE(scenario) << diagnostics.text();
  return scenario ? *scenario : Scenario{};
}

constexpr std::string_view kLeast = R"(
[[cluster.gpus]]
vram = "40GB"
[[queues]]
name = "q"
batch_base = "1s"
[[workload]]
kind = "poisson"
rate_per_second = 1
count = 1
)";

TEST(ScenarioReader, TheLeastScenarioHasTheDefaultsOfTheCore) {
  const Scenario scenario = read(std::string(kLeast));
  EXPECT_EQ(scenario.name, "some");
  EXPECT_EQ(scenario.seed, 1U);
  EXPECT_EQ(scenario.policy, core::PolicySpec{});
  EXPECT_EQ(scenario.tenants.names, std::vector<std::string>{"default"});
  EXPECT_EQ(scenario.tenants.specs[0], core::TenantSpec{});
  core::QueueSpec queue;
  queue.batch_base = seconds(1);
  EXPECT_EQ(scenario.queues.specs[0].spec, queue);
  EXPECT_EQ(scenario.gpus.names, std::vector<std::string>{"gpu"});
  core::TaskSpec task;
  task.queue = QueueId{0};
  task.tenant = TenantId{0};
  EXPECT_EQ(scenario.rules[0].steps[0].task.spec, task);
}

TEST(ScenarioReader, EveryKeyOfTheClusterArrives) {
  const Scenario scenario = read(std::string(kLeast) + R"(
tenant = "t"
[[cluster.gpus]]
kind = "A100"
name = "big"
count = 4
gpus_per_node = 2
node = "n"
vram = "80GB"
speed = 1.5
resident = "m"
[[tenants]]
name = "t"
weight = 2.5
max_queue_size = 10
token_bucket_size = 20
token_refill_rate = 30
daily_token_limit = 40
guaranteed_gpus = 0.5
borrow_gpus = 1
max_gpus = 2
isolation = "batch"
[[models]]
name = "m"
weights = "10GB"
vram_per_task = "1GB"
load_time = "3s"
keep_alive = "1min"
actual_load_time = "4s"
[policy]
order = "sticky"
packing = "spread"
usage_window_minutes = 7
aging_factor = 0.25
reservations = 1
backfill_visits = 99
long_work = "2h"
long_share = 0.5
)");
  EXPECT_EQ(scenario.gpus.names,
            (std::vector<std::string>{"gpu", "big-0", "big-1", "big-2", "big-3"}));
  const Gpu& last = scenario.gpus.specs[4];
  EXPECT_EQ(last.spec.vram, Mib{81'920});
  EXPECT_EQ(last.spec.speed, Milli{1500});
  EXPECT_EQ(scenario.nodes.all(), (std::vector<std::string>{"node", "n-0", "n-1"}));
  EXPECT_EQ(last.spec.node, NodeId{2});
  EXPECT_EQ(last.resident, std::vector<ModelId>{ModelId{0}});
  core::TenantSpec tenant;
  tenant.weight = Milli{2500};
  tenant.max_queue_size = 10;
  tenant.token_bucket_size = 20;
  tenant.token_refill_rate = 30;
  tenant.daily_token_limit = 40;
  tenant.guaranteed_gpus = Milli{500};
  tenant.borrow_gpus = Milli{1000};
  tenant.max_gpus = Milli{2000};
  tenant.isolation = core::Isolation::batch;
  EXPECT_EQ(scenario.tenants.specs[0], tenant);
  EXPECT_EQ(scenario.models.specs[0].spec,
            (core::ModelSpec{Mib{10'240}, Mib{1024}, seconds(3), minutes(1)}));
  EXPECT_EQ(scenario.models.specs[0].actual_load_time, seconds(4));
  EXPECT_EQ(scenario.policy.order, core::Order::sticky);
  EXPECT_EQ(scenario.policy.packing, core::Packing::spread);
  EXPECT_EQ(scenario.policy.usage_window, minutes(7));
  EXPECT_EQ(scenario.policy.aging_factor, Milli{250});
  EXPECT_EQ(scenario.policy.reservations, 1U);
  EXPECT_EQ(scenario.policy.backfill_visits, 99U);
  EXPECT_EQ(scenario.policy.long_work, minutes(120));
  EXPECT_EQ(scenario.policy.long_share, Milli{500});
}

TEST(ScenarioReader, ClassesOfWorkAreNamedByQueuesAndGpus) {
  const Scenario scenario = read(std::string(kLeast) + R"(
queue = "q"
[[queues]]
name = "chat"
work_class = "decode"
[[queues]]
name = "odd"
work_class = "decod"
[[cluster.gpus]]
kind = "H100"
vram = "80GB"
speed = 2
speed_by_class = { training = 2.1, decode = 1.4 }
[[cluster.nodes]]
name = "n"
gpus = 1
vram = "24GB"
[cluster.nodes.speed_by_class]
decode = 0.5
)");
  EXPECT_EQ(scenario.work_classes.all(), (std::vector<std::string>{"decode", "decod", "training"}));
  EXPECT_FALSE(scenario.queues.specs[0].spec.work_class);
  EXPECT_EQ(scenario.queues.specs[1].spec.work_class, WorkClassId{0});
  EXPECT_EQ(scenario.gpus.names, (std::vector<std::string>{"n/0", "gpu", "h100"}));
  using Speeds = std::vector<core::ClassSpeed>;
  EXPECT_EQ(scenario.gpus.specs[0].spec.class_speeds, (Speeds{{WorkClassId{0}, Milli{500}}}));
  EXPECT_EQ(scenario.gpus.specs[1].spec.class_speeds, Speeds{});
  EXPECT_EQ(scenario.gpus.specs[2].spec.speed, Milli{2000});
  EXPECT_EQ(scenario.gpus.specs[2].spec.class_speeds,
            (Speeds{{WorkClassId{0}, Milli{1400}}, {WorkClassId{2}, Milli{2100}}}));
  EXPECT_EQ(remarks_on(scenario),
            std::vector<std::string>{
                "queue \"odd\" has the work_class \"decod\", for which no GPU has a speed in "
                "speed_by_class; it runs at their general speed; did you mean \"decode\"?"});
}

TEST(ScenarioReader, ParentsComeBeforeTheirChildren) {
  const Scenario scenario = read(std::string(kLeast) + R"(
tenant = "guest"
[[tenants]]
name = "user"
parent = "team"
[[tenants]]
name = "team"
parent = "company"
[[tenants]]
name = "company"
[[tenants]]
name = "guest"
)");
  EXPECT_EQ(scenario.tenants.names, (std::vector<std::string>{"company", "guest", "team", "user"}));
  EXPECT_FALSE(scenario.tenants.specs[0].parent);
  EXPECT_FALSE(scenario.tenants.specs[1].parent);
  EXPECT_EQ(scenario.tenants.specs[2].parent, TenantId{0});
  EXPECT_EQ(scenario.tenants.specs[3].parent, TenantId{2});
}

TEST(ScenarioReader, EveryFieldOfATaskArrives) {
  const Scenario scenario = read(std::string(kLeast) + R"(
vram = "3GB"
expected_run = "5s"
actual_run = "6s"
priority = -3
tier = 2
gpus = 1
share = 0.5
tolerated_wait = "9s"
checkpoint_interval = "10min"
restart_cost = "30s"
tokens = 4
group = "g"
held = true
not_before = "1s"
signals = ["s", "t"]
retry = { attempts = 3, backoff = "2s", on = ["timeout", "error"] }
on_dependency_failure = "release"
)");
  const TaskTemplate& task = scenario.rules[0].steps[0].task;
  core::TaskSpec spec;
  spec.queue = QueueId{0};
  spec.tenant = TenantId{0};
  spec.vram = Mib{3072};
  spec.expected_run = seconds(5);
  spec.priority = -3;
  spec.tier = 2;
  spec.gpus = 1;
  spec.share = Milli{500};
  spec.tolerated_wait = seconds(9);
  spec.checkpoint_interval = minutes(10);
  spec.restart_cost = seconds(30);
  spec.tokens = 4;
  spec.group = GroupId{0};
  spec.held = true;
  spec.not_before = Time{1'000'000'000};
  spec.depends_on = {{core::Dependency::Kind::signal, 0}, {core::Dependency::Kind::signal, 1}};
  spec.retry = {
      3, static_cast<std::uint8_t>(mask_of(core::Failure::timeout) | mask_of(core::Failure::error)),
      seconds(2)};
  spec.on_dependency_failure = core::OnDependencyFailure::release;
  EXPECT_EQ(task.spec, spec);
  EXPECT_EQ(task.actual_run, seconds(6));
  EXPECT_TRUE(task.drawn.empty());
}

TEST(ScenarioReader, ACsvIsReadLikeTasksAndPutInOrder) {
  const Scenario scenario = read(std::string(kLeast) + R"(
queue = "q"
[[queues]]
name = "r"
[[workload]]
kind = "csv"
file = "t.csv"
start = "10s"
vram = "7GB"
expected_run = "1s"
)");
  std::string order;
  for (const ExplicitTask& task : scenario.tasks)
    order += task.id;
  EXPECT_EQ(order, "cab");
  EXPECT_EQ(scenario.tasks[0].at, Time{10'500'000'000});
  EXPECT_EQ(scenario.tasks[0].task.spec.queue, QueueId{1});
  EXPECT_EQ(scenario.tasks[0].task.spec.vram, Mib{1536});
  EXPECT_EQ(scenario.tasks[1].task.spec.vram, Mib{7168});
  EXPECT_EQ(scenario.tasks[2].depends_on, std::vector<std::uint32_t>{1});
}

TEST(ScenarioReader, CommandsAreSortedByTime) {
  const Scenario scenario = read(std::string(kLeast) + R"(
[[at]]
time = "9s"
flush = true
resume_queue = "q"
[[at]]
time = "2s"
pause_queue = ["q"]
drain_gpu = "gpu"
)");
  std::vector<Verb> verbs;
  for (const Command& command : scenario.commands)
    verbs.push_back(command.verb);
  EXPECT_EQ(verbs, (std::vector<Verb>{Verb::pause_queue, Verb::drain_gpu, Verb::resume_queue,
                                      Verb::flush_all}));
}

TEST(ScenarioReader, TheGuideNamesEveryKey) {
  std::string error;
  const std::string path = std::string(BERTH_SOURCE_DIR) + "/docs/guide/scenarios.md";
  const std::optional<std::string> guide = config::read_whole_file(path, error);
  ASSERT_TRUE(guide) << error;
  const std::vector<std::string> keys = known_keys();
  EXPECT_GT(keys.size(), 150U);
  for (const std::string& key : keys) {
    const std::string last = key.substr(key.rfind('.') + 1);
    const bool named = guide->find("`" + last + "`") != std::string::npos ||
                       guide->find("`[" + key + "]`") != std::string::npos ||
                       guide->find("[[" + key + "]]") != std::string::npos ||
                       guide->find(last + " = ") != std::string::npos;
    EXPECT_TRUE(named) << key << " is not in docs/guide/scenarios.md";
  }
}

TEST(ScenarioReader, EveryExampleIsAGoodScenario) {
  for (const char* name : {"first-run", "multi-tenant", "model-swap", "dependencies", "cluster"}) {
    Diagnostics diagnostics;
    const std::string path = std::string(BERTH_SOURCE_DIR) + "/examples/" + name + ".toml";
    EXPECT_TRUE(load_scenario(path, {}, diagnostics)) << diagnostics.text();
  }
}

}  // namespace
}  // namespace berth::sim::scenario_reader_test
