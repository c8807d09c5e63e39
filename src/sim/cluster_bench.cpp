// See cluster_bench.h.
#include "sim/cluster_bench.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/assert.h"
#include "core/model/reason.h"
#include "sim/cluster_bench_loop.h"

namespace berth::sim {
namespace {

constexpr std::uint32_t kTenants = 100;
constexpr std::uint32_t kShapesOfTenant = 32;
constexpr std::uint32_t kFewPending = 1'000;
constexpr std::uint16_t kLargeGang = 512;
constexpr std::int64_t kNoes = 20;

// The sizes of the published cases.
constexpr std::uint32_t kKaiNodes = 500;
constexpr std::uint32_t kKueueQueues = 1'000;
constexpr std::uint32_t kKueueQuota = 20;  // GPUs for each queue

std::vector<core::TenantSpec> weighted_tenants() {
  std::vector<core::TenantSpec> specs(4);
  for (std::size_t i = 0; i < specs.size(); ++i)
    specs[i].weight = Milli{1000 + static_cast<std::int64_t>(i) * 500};
  return specs;
}

ClusterLoop weighted_cluster(const ClusterBenchOptions& options) {
  return ClusterLoop({options.nodes, kTenants, weighted_tenants()}, options.seed);
}

core::TaskSpec task_for(std::uint32_t tenant, Duration run) {
  core::TaskSpec spec;
  spec.tenant = TenantId{tenant};
  spec.queue = QueueId{0};
  spec.expected_run = run;
  return spec;
}

// One GPU with CPUs and memory: one of the few dozen shapes that its tenant uses.
core::TaskSpec single(Rng& rng) {
  const auto tenant = static_cast<std::uint32_t>(rng.between(0, kTenants - 1));
  const auto which = static_cast<std::uint64_t>(rng.between(0, kShapesOfTenant - 1));
  core::TaskSpec spec = task_for(tenant, seconds(rng.between(60, 3600)));
  Rng shape = Rng::keyed(tenant, {which});
  spec.cpu = Milli{shape.between(2, 28) * 500};
  spec.memory = Mib{shape.between(4, 240) * 512};
  return spec;
}

// 2 to 64 GPUs, the small ones more often; on one node or in one rack where they fit there.
core::TaskSpec gang(Rng& rng) {
  constexpr std::array<std::uint16_t, 20> kSizes = {2, 2, 2, 2, 2, 2, 4,  4,  4,  4,
                                                    4, 8, 8, 8, 8, 8, 16, 16, 32, 64};
  const auto tenant = static_cast<std::uint32_t>(rng.between(0, kTenants - 1));
  core::TaskSpec spec = task_for(tenant, seconds(rng.between(60, 3600)));
  spec.gpus = kSizes[static_cast<std::size_t>(rng.between(0, kSizes.size() - 1))];
  const bool on_node = spec.gpus <= kBenchNodeGpus;
  spec.within = on_node ? core::Level::node : core::Level::rack;
  spec.required = rng.chance(0.5);
  spec.cpu = Milli{spec.gpus * rng.between(2, 10) * 1000};
  spec.memory = Mib{spec.gpus * rng.between(8, 64) * 1024};
  return spec;
}

// Fills the cluster until this many wait.
void fill(ClusterLoop& loop, core::TaskSpec (*draw)(Rng&), std::uint64_t pending) {
  while (loop.waiting() < pending)
    loop.submit(draw(loop.rng()));
}

// Each end is followed by a new task, until so many have started.
void keep_busy(ClusterLoop& loop, core::TaskSpec (*draw)(Rng&), std::uint64_t starts) {
  loop.on_end = [&loop, draw] { loop.submit(draw(loop.rng())); };
  loop.reset();
  while (loop.starts() < starts)
    ASSERT(loop.turn());
  loop.on_end = [] {};
}

// What it was busy with.
void tell_load(const ClusterLoop& loop, ClusterBenchCase& result) {
  result.more.push_back({"pending", static_cast<double>(loop.waiting())});
  result.more.push_back({"refused", static_cast<double>(loop.refusals())});
}

void tell_steps(const ClusterLoop::Spent& spent, ClusterBenchCase& result) {
  result.more.push_back({"step_us_p50", static_cast<double>(spent.step_ns_p50) * 1e-3});
  result.more.push_back({"step_us_p99", static_cast<double>(spent.step_ns_p99) * 1e-3});
  result.more.push_back({"step_us_max", static_cast<double>(spent.step_ns_max) * 1e-3});
}

// --- the engine's own cases ---

double steady_rate(ClusterLoop& loop, core::TaskSpec (*draw)(Rng&), std::uint64_t starts) {
  keep_busy(loop, draw, starts / 10);  // what the fill has left is gone
  keep_busy(loop, draw, starts);
  return static_cast<double>(starts) / loop.spent().cpu_s;
}

ClusterBenchCase run_singles(const ClusterBenchOptions& options) {
  const std::uint64_t starts = std::uint64_t{options.nodes} * 4;
  ClusterBenchCase result{.name = "singles",
                          .what = "one GPU with CPUs and memory, each end starts another",
                          .unit = "tasks_per_s",
                          .goal = 10'000};
  ClusterLoop few = weighted_cluster(options);
  fill(few, single, kFewPending);
  const double with_few = steady_rate(few, single, starts);
  ClusterLoop loop = weighted_cluster(options);
  fill(loop, single, options.pending);
  result.more.push_back({"fill_s", loop.spent().cpu_s});
  result.value = steady_rate(loop, single, starts);
  tell_load(loop, result);
  tell_steps(loop.spent(), result);
  result.more.push_back({"tasks_per_s_with_1000_pending", with_few});
  result.more.push_back({"growth", with_few / result.value});
  result.hash = loop.hash();
  return result;
}

ClusterBenchCase run_gangs(const ClusterBenchOptions& options) {
  ClusterBenchCase result{
      .name = "gangs",
      .what = "2 to 64 GPUs over islands, nodes and racks, each end starts another",
      .unit = "gangs_per_s",
      .goal = 1'000};
  ClusterLoop loop = weighted_cluster(options);
  fill(loop, gang, kFewPending);
  result.value = steady_rate(loop, gang, std::max(options.nodes, 50U));
  tell_load(loop, result);
  tell_steps(loop.spent(), result);
  result.hash = loop.hash();
  return result;
}

// The milliseconds until a gang that fits nowhere now has been told so, with the reason.
struct No {
  double ms_most = 0;
  std::string reason;
};

No ask_for_no(ClusterLoop& loop, core::TaskSpec spec, std::int64_t times) {
  No no;
  for (std::int64_t i = 0; i < times; ++i) {
    loop.turn();
    spec.tenant = TenantId{static_cast<std::uint32_t>(i) % 2};
    const std::int64_t begin = thread_cpu_ns();
    const TaskNo task = loop.submit(spec);
    const auto explanation = loop.engine().explain(task);
    const double ms = static_cast<double>(thread_cpu_ns() - begin) * 1e-6;
    ASSERT(explanation && explanation->state == core::TaskState::pending);
    ASSERT(!explanation->binding.empty());
    no.ms_most = std::max(no.ms_most, ms);
    no.reason = core::info_of(explanation->binding.front().code).name;
    loop.cancel(task);
  }
  return no;
}

ClusterBenchCase run_no(const ClusterBenchOptions& options) {
  ClusterBenchCase result{
      .name = "no",
      .what = "a gang of 512 GPUs on a full cluster: until explain says why not",
      .unit = "ms",
      .goal = 10};
  ClusterLoop loop = weighted_cluster(options);
  fill(loop, single, options.pending);
  core::TaskSpec spec = task_for(0, seconds(3600));
  spec.gpus = static_cast<std::uint16_t>(
      std::min<std::uint32_t>(kLargeGang, options.nodes * kBenchNodeGpus));
  const No no = ask_for_no(loop, spec, kNoes);
  result.value = no.ms_most;
  result.what += " (" + no.reason + ")";
  result.more.push_back({"pending", static_cast<double>(loop.waiting())});
  result.hash = loop.hash();
  return result;
}

core::TaskSpec low_single(Rng& rng) {
  core::TaskSpec spec = single(rng);
  spec.tier = 1;
  return spec;
}

ClusterBenchCase run_preempt(const ClusterBenchOptions& options) {
  ClusterBenchCase result{
      .name = "preempt",
      .what = "a gang of 512 GPUs of tier 0 on a cluster full of tier 1: the plan, as one step",
      .unit = "ms",
      .goal = 100};
  ClusterLoop loop = weighted_cluster(options);
  fill(loop, low_single, options.pending);
  loop.wait_until(Time{0} + seconds(120));
  core::TaskSpec spec = task_for(0, seconds(3600));
  spec.gpus = static_cast<std::uint16_t>(
      std::min<std::uint32_t>(kLargeGang, options.nodes * kBenchNodeGpus / 2));
  loop.reset();
  loop.submit(spec);
  ASSERT(loop.preempted() > 0);
  result.value = static_cast<double>(loop.preempting_ns_max()) * 1e-6;
  result.more.push_back({"stopped", static_cast<double>(loop.preempted())});
  result.more.push_back({"until_started_ms", loop.spent().cpu_s * 1e3});
  result.more.push_back({"pending", static_cast<double>(loop.waiting())});
  result.hash = loop.hash();
  return result;
}

// --- the shapes of published benchmarks ---

struct KueueClass {
  std::uint32_t count;
  Duration interval;
  Duration run;
  std::int16_t priority;
  std::uint16_t gpus;
};
constexpr std::array kKueueClasses = {
    KueueClass{35, milliseconds(60), milliseconds(150), 50, 1},
    KueueClass{11, milliseconds(300), milliseconds(350), 100, 5},
    KueueClass{4, milliseconds(700), milliseconds(700), 200, 20},
};

// Its large-scale configuration: queues with a quota of 20 that may borrow 100 more, 50 workloads
// each that come over some seconds. A unit of quota is a GPU here.
ClusterBenchCase run_kueue(const ClusterBenchOptions& options) {
  const std::uint32_t queues = std::min(kKueueQueues, options.nodes * kBenchNodeGpus / kKueueQuota);
  ClusterBenchCase result{.name = "kueue_large_scale",
                          .what = "1,000 tenants with 50 workloads of 1, 5 and 20 GPUs each",
                          .unit = "s"};
  if (queues == kKueueQueues) {
    result.published_by = "Kueue";
    result.published = 1179;
  }
  core::TenantSpec tenant;
  tenant.max_gpus = Milli{120'000};
  ClusterLoop loop({queues * kKueueQuota / kBenchNodeGpus, queues, {tenant}}, options.seed);
  for (std::uint32_t queue = 0; queue < queues; ++queue) {
    for (const KueueClass& klass : kKueueClasses) {
      core::TaskSpec spec = task_for(queue, klass.run);
      spec.priority = klass.priority;
      spec.gpus = klass.gpus;
      for (std::uint32_t i = 1; i <= klass.count; ++i)
        loop.submit_at(Time{0} + Duration{klass.interval.ns * i}, spec);
    }
  }
  while (loop.turn()) {
  }
  ASSERT(loop.starts() == queues * 50ULL);
  const ClusterLoop::Spent spent = loop.spent();
  result.value = spent.cpu_s;
  result.more.push_back({"workloads", static_cast<double>(loop.starts())});
  result.more.push_back({"virtual_s", static_cast<double>(loop.now().ns) * 1e-9});
  result.more.push_back({"workloads_per_s", static_cast<double>(loop.starts()) / spent.cpu_s});
  tell_steps(spent, result);
  result.hash = loop.hash();
  return result;
}

std::uint32_t kai_nodes(const ClusterBenchOptions& options) {
  return std::min(options.nodes, kKaiNodes);
}

ClusterBenchCase kai_case(const ClusterBenchOptions& options, std::string name, std::string what,
                          double published) {
  ClusterBenchCase result{.name = std::move(name), .what = std::move(what), .unit = "s"};
  if (kai_nodes(options) < kKaiNodes) return result;
  result.published_by = "KAI";
  result.published = published;
  return result;
}

void kai_fill(ClusterLoop& loop, const ClusterBenchOptions& options) {
  const std::uint64_t jobs = std::uint64_t{kai_nodes(options)} * kBenchNodeGpus;
  for (std::uint64_t i = 0; i < jobs; ++i)
    loop.submit(task_for(0, seconds(3600)));
  ASSERT(loop.starts() == jobs);
}

ClusterBenchCase run_kai_fill(const ClusterBenchOptions& options) {
  ClusterBenchCase result =
      kai_case(options, "kai_fill", "500 nodes filled with 4,000 one-GPU jobs", 398);
  ClusterLoop loop({kai_nodes(options), 1, {}}, options.seed);
  kai_fill(loop, options);
  result.value = loop.spent().cpu_s;
  result.hash = loop.hash();
  return result;
}

ClusterBenchCase run_kai_gang(const ClusterBenchOptions& options) {
  ClusterBenchCase result =
      kai_case(options, "kai_gang", "a gang of 512 pods on 500 empty nodes", 49);
  ClusterLoop loop({kai_nodes(options), 1, {}}, options.seed);
  core::TaskSpec spec = task_for(0, seconds(3600));
  spec.gpus = static_cast<std::uint16_t>(
      std::min<std::uint32_t>(kLargeGang, kai_nodes(options) * kBenchNodeGpus));
  loop.submit(spec);
  ASSERT(loop.starts() == 1);
  result.value = loop.spent().cpu_s;
  result.hash = loop.hash();
  return result;
}

ClusterBenchCase run_kai_unschedulable(const ClusterBenchOptions& options) {
  ClusterBenchCase result =
      kai_case(options, "kai_unschedulable",
               "a job of 10 pods on 500 full nodes: until it is told why not", 249.5);
  ClusterLoop loop({kai_nodes(options), 2, {}}, options.seed);
  kai_fill(loop, options);
  core::TaskSpec spec = task_for(0, seconds(3600));
  spec.gpus = 10;
  result.value = ask_for_no(loop, spec, 1).ms_most * 1e-3;
  result.hash = loop.hash();
  return result;
}

// A tenant has all GPUs on loan from another, which now wants some of them back: until it runs.
ClusterBenchCase reclaim(const ClusterBenchOptions& options, ClusterBenchCase result,
                         std::uint32_t jobs, std::uint16_t gpus) {
  core::TenantSpec owner;
  owner.guaranteed_gpus = Milli{std::int64_t{kai_nodes(options)} * kBenchNodeGpus * 1000};
  ClusterLoop loop({kai_nodes(options), 2, {core::TenantSpec{}, owner}}, options.seed);
  kai_fill(loop, options);
  loop.wait_until(Time{0} + seconds(120));
  loop.reset();
  for (std::uint32_t i = 0; i < jobs; ++i) {
    core::TaskSpec spec = task_for(1, seconds(3600));
    spec.gpus = gpus;
    loop.submit(spec);
  }
  while (loop.starts() < jobs)
    ASSERT(loop.turn());
  result.value = loop.spent().cpu_s;
  result.more.push_back({"stopped", static_cast<double>(loop.preempted())});
  result.hash = loop.hash();
  return result;
}

ClusterBenchCase run_kai_reclaim_one(const ClusterBenchOptions& options) {
  return reclaim(options,
                 kai_case(options, "kai_reclaim_one", "one GPU of 500 full nodes reclaimed", 13.9),
                 1, 1);
}

ClusterBenchCase run_kai_reclaim_gang(const ClusterBenchOptions& options) {
  const auto gpus = static_cast<std::uint16_t>(
      std::min<std::uint32_t>(250, kai_nodes(options) * kBenchNodeGpus / 2));
  return reclaim(options,
                 kai_case(options, "kai_reclaim_gang",
                          "250 GPUs of 500 full nodes reclaimed for one job", 102),
                 1, gpus);
}

ClusterBenchCase run_kai_reclaim_all(const ClusterBenchOptions& options) {
  return reclaim(
      options,
      kai_case(options, "kai_reclaim_all", "500 full nodes reclaimed by 4,000 one-GPU jobs", 694),
      kai_nodes(options) * kBenchNodeGpus, 1);
}

constexpr std::array<std::string_view, 11> kNames = {"singles",
                                                     "gangs",
                                                     "no",
                                                     "preempt",
                                                     "kueue_large_scale",
                                                     "kai_fill",
                                                     "kai_gang",
                                                     "kai_unschedulable",
                                                     "kai_reclaim_one",
                                                     "kai_reclaim_gang",
                                                     "kai_reclaim_all"};
constexpr std::array kRuns = {run_singles,
                              run_gangs,
                              run_no,
                              run_preempt,
                              run_kueue,
                              run_kai_fill,
                              run_kai_gang,
                              run_kai_unschedulable,
                              run_kai_reclaim_one,
                              run_kai_reclaim_gang,
                              run_kai_reclaim_all};
static_assert(kNames.size() == kRuns.size());

}  // namespace

std::span<const std::string_view> cluster_bench_cases() { return kNames; }

ClusterBenchCase run_cluster_bench(std::string_view name, const ClusterBenchOptions& options) {
  const auto at = std::find(kNames.begin(), kNames.end(), name);
  ASSERT(at != kNames.end());
  return kRuns[static_cast<std::size_t>(at - kNames.begin())](options);
}

}  // namespace berth::sim
