// See scenario_sections.h.
#include "sim/scenario_sections.h"

#include <algorithm>
#include <cctype>

#include "core/model/ranges.h"

namespace berth::sim {
namespace {

constexpr std::int64_t kBillion = 1'000'000'000;
constexpr std::int64_t kMostGpus = core::kGpusMax;
constexpr NumberType kGpuAmount = thousandths(0, kMostGpus * 1000);

std::string lower(std::string text) {
  for (char& c : text)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// The whole of `total` that may be promised.
Mib usable(Mib total, Milli part) { return {total.value * part.value / 1000}; }

void check_batch_time(TableReader& table, std::string_view key, Duration base, Duration per_task,
                      std::int64_t tasks) {
  if (!table.has_number(key) || per_task.ns <= (kLongestRun - base.ns) / tasks) return;
  table.error(key, table.path_of(key) + ": a batch of " + std::to_string(tasks) +
                       " tasks would take more than " + duration_text(kLongestRun));
}

void check_resident(TableReader& table, const Scenario& scenario, const Gpu& gpu) {
  Mib weights{0};
  for (std::size_t i = 0; i < gpu.resident.size(); ++i) {
    const ModelId model = gpu.resident[i];
    weights += scenario.models.specs[model.value].spec.weights;
    if (std::find(gpu.resident.begin(), gpu.resident.begin() + static_cast<std::ptrdiff_t>(i),
                  model) != gpu.resident.begin() + static_cast<std::ptrdiff_t>(i)) {
      table.error("resident", table.path_of("resident") + ": " +
                                  quoted(scenario.models.names[model.value]) + " is named twice");
    }
  }
  const Mib room = usable(gpu.spec.vram, scenario.policy.vram_usable);
  if (weights > room) {
    table.error("resident", table.path_of("resident") + ": these models need " +
                                vram_text(weights.value) + ", the GPU has " +
                                vram_text(room.value) + " usable of " +
                                vram_text(gpu.spec.vram.value));
  }
}

}  // namespace

void NameBook::claim(const std::string& name, Origin at, std::string_view path,
                     Diagnostics& diagnostics) {
  if (name.empty()) return;
  const auto [entry, fresh] = taken_.emplace(name, at);
  if (fresh) return;
  diagnostics.error(at, std::string(path) + ": " + quoted(name) + " is already the name of " +
                            with_article(noun_) + ", at " + diagnostics.place(entry->second));
}

void read_policy(TableReader& table, core::PolicySpec& policy) {
  std::size_t choice = 0;
  if (table.choice("order", order_names(), choice)) {
    policy.order = static_cast<core::Order>(choice);
  }
  if (table.choice("packing", packing_names(), choice)) {
    policy.packing = static_cast<core::Packing>(choice);
  }
  table.number("gpu_load_threshold", policy.gpu_load_threshold, thousandths(1, 1000));
  table.number("vram_usable", policy.vram_usable, thousandths(10, 1000));
  table.number("age_step", policy.age_step, durations(0, core::kAgeStepMax.ns));
  table.number("patience", policy.patience, durations());
  table.number("tier_patience", policy.tier_patience, durations());
  table.number("max_holds", policy.max_holds, integers(0, core::kHoldsMax));
  table.number("starts_per_step", policy.starts_per_step, integers(1, core::kStartsPerStepMax));
  table.number("max_live_tasks", policy.max_live_tasks, integers(1, core::kLiveTasksMax));
  table.number("live_reserve", policy.live_reserve, thousandths(0, 1000));
  table.number("aging_factor", policy.aging_factor, thousandths(0, core::kAgingFactorMax));
  table.number("usage_window", policy.usage_window, durations(kBillion));
  table.number("poison_after", policy.poison_after, integers(1, core::kFailuresMax));
  table.number("max_infrastructure_losses", policy.max_infrastructure_losses,
               integers(0, core::kFailuresMax));
  table.finish();
}

void read_agents(TableReader& table, AgentSpec& agents) {
  table.fraction("jitter", agents.jitter, 0.99);
  table.fraction("load_jitter", agents.load_jitter, 0.99);
  table.number("start_delay", agents.start_delay, durations());
  table.number("stop_delay", agents.stop_delay, durations());
  table.number("unload_delay", agents.unload_delay, durations());
  const auto failure = [&](std::string_view key, core::Failure kind) {
    table.fraction(key, agents.task_failure[static_cast<std::size_t>(kind)]);
  };
  failure("error_rate", core::Failure::error);
  failure("out_of_memory_rate", core::Failure::out_of_memory);
  failure("timeout_rate", core::Failure::timeout);
  failure("crash_rate", core::Failure::crash);
  double sum = 0.0;
  for (const double rate : agents.task_failure)
    sum += rate;
  if (sum > 1.0) {
    table.error("error_rate", "agents: the failure rates of a task add up to more than 1");
  }
  table.fraction("load_failure_rate", agents.load_failure);
  table.number("gpu_mtbf", agents.gpu_mtbf, durations(kBillion));
  table.number("gpu_repair", agents.gpu_repair, durations());
  table.number("seed", agents.seed, integers(0, INT64_MAX));
  table.finish();
}

void read_tenant(TableReader& table, std::string& name, core::TenantSpec& tenant) {
  table.required_name("name", name);
  table.number("weight", tenant.weight, thousandths(core::kWeightMin, core::kWeightMax));
  table.number("max_queue_size", tenant.max_queue_size, integers(0, kBillion));
  table.number("token_bucket_size", tenant.token_bucket_size, integers(1, core::kTokensMax));
  table.number("token_refill_rate", tenant.token_refill_rate, integers(0, core::kTokensMax));
  table.number("daily_token_limit", tenant.daily_token_limit, integers(0, core::kDailyTokensMax));
  table.number("guaranteed_gpus", tenant.guaranteed_gpus, kGpuAmount);
  table.number("max_gpus", tenant.max_gpus, kGpuAmount);
  table.boolean("isolated", tenant.isolated);
  if (tenant.max_gpus && *tenant.max_gpus < tenant.guaranteed_gpus) {
    table.error("max_gpus", "tenants.max_gpus: expected at least guaranteed_gpus");
  }
  table.finish();
}

void read_model(TableReader& table, std::string& name, Model& model) {
  table.required_name("name", name);
  table.required_number("weights", model.spec.weights, vram_amounts());
  table.number("vram_per_task", model.spec.vram_per_task, vram_amounts());
  table.number("load_time", model.spec.load_time, durations());
  table.number("keep_alive", model.spec.keep_alive, durations());
  table.number("actual_load_time", model.actual_load_time, durations());
  table.finish();
}

void read_queue(TableReader& table, const Scenario& scenario, std::string& name, Queue& queue) {
  table.required_name("name", name);
  std::size_t model = 0;
  if (table.reference("model", "model", scenario.models.names, model)) {
    queue.spec.model.value = static_cast<std::uint32_t>(model);
  }
  table.number("max_batch_size", queue.spec.max_batch_size, integers(1, core::kBatchSizeMax));
  table.number("max_batch_wait", queue.spec.max_batch_wait, durations());
  table.boolean("adaptive", queue.spec.adaptive_wait);
  table.boolean("refuse_late", queue.spec.refuse_late);
  table.number("max_gpus", queue.spec.max_gpus, kGpuAmount);
  table.number("min_gpus", queue.spec.min_gpus, kGpuAmount);
  constexpr NumberType kRun = durations(0, kLongestRun);
  table.number("batch_base", queue.spec.batch_base, kRun);
  table.number("batch_per_task", queue.spec.batch_per_task, kRun);
  table.number("actual_batch_base", queue.actual_batch_base, kRun);
  table.number("actual_batch_per_task", queue.actual_batch_per_task, kRun);
  check_batch_time(table, "batch_per_task", queue.spec.batch_base, queue.spec.batch_per_task,
                   queue.spec.max_batch_size);
  check_batch_time(table, "actual_batch_per_task", queue.batch_base(), queue.batch_per_task(),
                   queue.spec.max_batch_size);
  if (queue.spec.max_gpus && *queue.spec.max_gpus < queue.spec.min_gpus) {
    table.error("max_gpus", "queues.max_gpus: expected at least min_gpus");
  }
  if (const char* expected = core::flaw_in(queue.spec); expected != nullptr) {
    table.error("batch_per_task", "queues.batch_per_task: expected " + std::string(expected));
  }
  table.finish();
}

void read_gpus(TableReader& table, NameBook& names, Scenario& scenario) {
  Gpu gpu;
  std::string kind = "gpu";
  std::string node = "node";
  std::int64_t count = 1;
  table.name("kind", kind);
  std::string name = lower(kind);
  table.name("name", name);
  table.name("node", node);
  table.number("count", count, integers(1, kMostGpus));
  std::int64_t gpus_per_node = 0;
  table.number("gpus_per_node", gpus_per_node, integers(1, kMostGpus));
  table.required_number("vram", gpu.spec.vram, vram_amounts(1));
  table.number("speed", gpu.spec.speed, thousandths(1, core::kSpeedMax));
  std::vector<std::size_t> resident;
  const bool all_known = table.references("resident", "model", scenario.models.names, resident);
  for (const std::size_t model : resident) {
    gpu.resident.push_back(ModelId{static_cast<std::uint32_t>(model)});
  }
  if (all_known && gpu.spec.vram.value > 0) check_resident(table, scenario, gpu);
  table.finish();

  if (static_cast<std::int64_t>(scenario.gpus.size()) + count > kMostGpus) {
    table.error("count", "cluster.gpus.count: a cluster has at most 100000 GPUs");
    return;
  }
  gpu.spec.kind.value = scenario.kinds.intern(kind);
  const Origin at = table.has("name") ? table.origin_of("name") : table.at();
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string full = count == 1 ? name : name + "-" + std::to_string(i);
    const std::string suffix = gpus_per_node == 0 ? "" : "-" + std::to_string(i / gpus_per_node);
    gpu.spec.node.value = scenario.nodes.intern(node + suffix);
    names.claim(full, at, "cluster.gpus.name", table.diagnostics());
    scenario.gpus.add(full, gpu);
  }
}

}  // namespace berth::sim
