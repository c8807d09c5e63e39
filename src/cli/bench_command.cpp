// berth bench: the shipped engine under full load, on this machine; core here, cluster in its file.
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.h"
#include "cli/bench_cluster.h"
#include "cli/commands.h"
#include "cli/table.h"
#include "sim/core_bench.h"
#include "sim/json.h"

namespace berth::cli {
namespace {

constexpr std::uint32_t kSmallPending = 10'000;

constexpr std::array kFlags = {
    Flag{"--pending", "N", "tasks that wait throughout (default 1000000)"},
    Flag{"--gpus", "N", "GPUs (default 10000)"},
    Flag{"--tenants", "N", "tenants (default 1000)"},
    Flag{"--queues", "N", "queues, each with a model (default 1000)"},
    Flag{"--events", "N", "events to measure (default 3000000)"},
    Flag{"--seed", "N", "seed for cancels, failures and expiries (default 1)"},
    Flag{"--no-growth", "", "leave out the second run with 10,000 pending tasks"},
    Flag{"--json", "", "print the result as JSON"},
};

constexpr std::array<std::string_view, 1> kBenchExamples = {
    "berth bench core --pending 100000 --gpus 1000 --no-growth"};

constexpr std::array kClusterFlags = {
    Flag{"--nodes", "N", "nodes of 8 GPUs (default 5000)"},
    Flag{"--pending", "N", "single-GPU tasks that wait throughout (default 1000000)"},
    Flag{"--only", "CASE", "run one case"},
    Flag{"--seed", "N", "seed for shapes, tenants and run times (default 1)"},
    Flag{"--json", "", "print the result as JSON"},
};

constexpr std::array<std::string_view, 2> kClusterExamples = {
    "berth bench cluster --only gangs", "berth bench cluster --nodes 500 --pending 10000 --json"};

struct Outcome {
  sim::CoreBenchOptions options;
  sim::CoreBenchResult result;
  std::optional<double> growth;  // time per event against that with few pending tasks
};

void print_table(const Outcome& outcome, Console& console) {
  const sim::CoreBenchResult& r = outcome.result;
  console.out << "core, " << count_text(outcome.options.pending) << " pending, "
              << count_text(outcome.options.gpus) << " GPUs, "
              << count_text(outcome.options.tenants) << " tenants, "
              << count_text(outcome.options.queues) << " queues, policy fair\n\n"
              << "  events per second   " << count_text(static_cast<std::uint64_t>(r.events_per_s))
              << " (per second of thread CPU)\n"
              << "  step                " << count_text(static_cast<std::uint64_t>(r.step_ns_p50))
              << " ns p50, " << count_text(static_cast<std::uint64_t>(r.step_ns_p99)) << " ns p99, "
              << count_text(static_cast<std::uint64_t>(r.step_ns_p999)) << " ns p99.9\n"
              << "  memory              " << fixed_text(r.bytes_per_pending_task, 1)
              << " bytes a pending task\n";
  if (outcome.growth) {
    console.out << "  growth              " << fixed_text(*outcome.growth, 2)
                << "x the time per event of " << count_text(kSmallPending) << " pending tasks\n";
  }
  const auto print_counts = [&](const std::string& title, const std::string& part,
                                std::uint64_t all, const std::vector<sim::CoreBenchCount>& counts) {
    Table table;
    table.add({title, "count", part});
    for (const sim::CoreBenchCount& row : counts) {
      table.add({row.name, count_text(row.count),
                 percent_text(static_cast<double>(row.count) / static_cast<double>(all))});
    }
    console.out << "\n";
    table.print(console.out);
  };
  print_counts(count_text(r.events) + " events", "of events", r.events, r.mix);
  print_counts(count_text(r.actions) + " actions, among them", "of submits", r.mix.front().count,
               r.deeds);
}

void print_json(const Outcome& outcome, Console& console) {
  const sim::CoreBenchResult& r = outcome.result;
  sim::JsonWriter json;
  json.begin_object();
  json.member("events_per_s", r.events_per_s);
  json.key("step_ns");
  json.begin_object();
  json.member("p50", r.step_ns_p50);
  json.member("p99", r.step_ns_p99);
  json.member("p999", r.step_ns_p999);
  json.end_object();
  json.member("bytes_per_pending_task", r.bytes_per_pending_task);
  if (outcome.growth) json.member("growth_10k_to_1m", *outcome.growth);
  json.member("events", r.events);
  json.member("actions", r.actions);
  json.member("cpu_s", r.cpu_s);
  json.key("mix");
  json.begin_object();
  for (const sim::CoreBenchCount& count : r.mix)
    json.member(count.name, count.count);
  json.end_object();
  json.key("deeds");
  json.begin_object();
  for (const sim::CoreBenchCount& count : r.deeds)
    json.member(count.name, count.count);
  json.end_object();
  json.end_object();
  console.out << json.text() << "\n";
}

int run_core(const Call& call) {
  Outcome outcome;
  sim::CoreBenchOptions& options = outcome.options;
  const bool fits = read_number(call, "--pending", options.pending, 1, 20'000'000) &&
                    read_number(call, "--gpus", options.gpus, 1, 1'000'000) &&
                    read_number(call, "--tenants", options.tenants, 1, 100'000) &&
                    read_number(call, "--queues", options.queues, 2, 100'000) &&
                    read_number(call, "--events", options.events, 1, 1'000'000'000) &&
                    read_number(call, "--seed", options.seed, 0, INT64_MAX);
  if (!fits) return kBadInput;

  outcome.result = sim::run_core_bench(options);
  if (!call.args.has("--no-growth")) {
    sim::CoreBenchOptions small = options;
    small.pending = kSmallPending;
    outcome.growth = sim::run_core_bench(small).events_per_s / outcome.result.events_per_s;
  }
  if (call.args.has("--json")) {
    print_json(outcome, call.console);
  } else {
    print_table(outcome, call.console);
  }
  return kOk;
}

constexpr std::array kBenchCommands = {
    Command{.name = "bench core",
            .group = Group::local,
            .summary = "measure the engine as shipped, under full load",
            .usage = "[OPTIONS]",
            .run = run_core,
            .flags = kFlags,
            .description =
                "A closed loop: each batch that ends is replaced by as many new tasks, while some\n"
                "tasks are cancelled, fail and are retried, or expire, and models are loaded and\n"
                "evicted. Events per second are per second of this thread's CPU, with what the\n"
                "loop itself costs. The default needs 200 MB and about half a minute.",
            .examples = kBenchExamples},
    Command{
        .name = "bench cluster",
        .group = Group::local,
        .summary = "measure the placing of work on thousands of nodes",
        .usage = "[OPTIONS]",
        .run = run_bench_cluster,
        .flags = kClusterFlags,
        .description =
            "Single-GPU tasks and gangs placed per second on a full cluster with racks and\n"
            "islands, how long a \"no\" with its reason takes, and the shapes of published\n"
            "benchmarks of other schedulers beside their figures. Time is virtual; seconds are\n"
            "CPU time inside the engine.",
        .examples = kClusterExamples},
};

}  // namespace

std::span<const Command> bench_commands() { return kBenchCommands; }

}  // namespace berth::cli
