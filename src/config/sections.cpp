// See sections.h.
#include "config/sections.h"

#include <algorithm>
#include <cctype>
#include <numeric>

#include "core/model/ranges.h"
#include "core/model/tenant_tree.h"

namespace berth::config {
namespace {

constexpr std::int64_t kBillion = 1'000'000'000;

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

std::vector<std::string> order_names() {
  return {"fair", "fifo", "round_robin", "cost_aware", "sticky", "slowdown"};
}

std::vector<std::string> isolation_names() { return {"none", "batch", "slice", "gpu"}; }

std::vector<std::string> packing_names() { return {"best_fit", "first_fit", "spread", "frag"}; }

void NameBook::claim(const std::string& name, Origin at, std::string_view path,
                     Diagnostics& diagnostics) {
  if (name.empty()) return;
  const auto [entry, fresh] = taken_.emplace(name, at);
  if (fresh) return;
  diagnostics.error(at, std::string(path) + ": " + config::quoted(name) +
                            " is already the name of " + with_article(noun_) + ", at " +
                            diagnostics.place(entry->second));
}

void read_policy(TableReader& table, core::PolicySpec& policy) {
  table.choice("order", order_names(), policy.order);
  table.choice("packing", packing_names(), policy.packing);
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
  NumberType window = durations(kBillion);
  window.shown_with = "_minutes";
  table.number("usage_window", policy.usage_window, window);
  table.number("poison_after", policy.poison_after, integers(0, core::kFailuresMax));
  table.number("max_infrastructure_losses", policy.max_infrastructure_losses,
               integers(0, core::kFailuresMax));
  table.number("reservations", policy.reservations, integers(0, core::kReservationsMax));
  table.number("backfill_visits", policy.backfill_visits, integers(1, core::kReservationsMax));
  table.boolean("preemption", policy.preemption);
  table.number("protected_run", policy.protected_run, durations());
  std::optional<Duration> long_work;
  if (table.number("long_work", long_work, durations())) policy.long_work = *long_work;
  table.number("long_share", policy.long_share, thousandths(1, 1000));
}

void read_tenant(TableReader& table, std::span<const std::string> tenants, std::string& name,
                 core::TenantSpec& tenant) {
  table.required_name("name", name);
  std::size_t parent = 0;
  if (table.reference("parent", "tenant", tenants, parent)) {
    tenant.parent.value = static_cast<std::uint32_t>(parent);
  }
  read_tenant_limits(table, tenant);
}

void read_tenant_limits(TableReader& table, core::TenantSpec& tenant) {
  table.number("weight", tenant.weight, ranges::kWeight);
  table.number("max_queue_size", tenant.max_queue_size, ranges::kQueueSize);
  table.number("token_bucket_size", tenant.token_bucket_size, ranges::kTokenBucket);
  table.number("token_refill_rate", tenant.token_refill_rate, ranges::kTokenRate);
  table.number("daily_token_limit", tenant.daily_token_limit, ranges::kDailyTokens);
  table.number("guaranteed_gpus", tenant.guaranteed_gpus, ranges::kGpuAmount);
  table.number("borrow_gpus", tenant.borrow_gpus, ranges::kGpuAmount);
  table.number("max_gpus", tenant.max_gpus, ranges::kGpuAmount);
  table.choice("isolation", isolation_names(), tenant.isolation);
  // Two defaults that do not go together are reported where they stand.
  const bool says_either = table.has("max_gpus") || table.has("guaranteed_gpus");
  if (says_either && tenant.max_gpus && *tenant.max_gpus < tenant.guaranteed_gpus) {
    table.error("max_gpus", table.path_of("max_gpus") + ": expected at least guaranteed_gpus, " +
                                toml_of(tenant.guaranteed_gpus.value, ranges::kGpuAmount) +
                                ", found " + toml_of(tenant.max_gpus->value, ranges::kGpuAmount));
  }
}

std::vector<std::string> names_in(std::vector<TableReader>& tables) {
  std::vector<std::string> names;
  for (TableReader& table : tables) {
    const Node* name = table.take("name");
    names.push_back(name != nullptr && name->is(Node::Kind::text) ? name->text : "");
  }
  return names;
}

bool check_tree(std::vector<TableReader>& tables, std::span<const std::string> names,
                std::span<const TenantId> parents) {
  const core::TreeFinding finding = core::judge_tree(parents);
  if (finding.flaw == core::TreeFlaw::none) return true;
  const auto name_of = [&](TenantId tenant) { return config::quoted(names[tenant.value]); };
  tables[finding.path.front().value].error(
      "parent", "tenants.parent: " + core::sentence_of(finding, name_of));
  return false;
}

std::vector<std::size_t> parents_first(std::span<const TenantId> parents) {
  const auto depth = [&](std::size_t tenant) {
    return core::judge_tenant(parents, TenantId{static_cast<std::uint32_t>(tenant)}).path.size();
  };
  std::vector<std::size_t> order(parents.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, depth);
  return order;
}

void check_batch_time(TableReader& table, std::string_view key, Duration base, Duration per_task,
                      std::int64_t tasks) {
  if (!table.has_number(key) || per_task.ns <= (kLongestRun - base.ns) / tasks) return;
  table.error(key, table.path_of(key) + ": a batch of " + std::to_string(tasks) +
                       " tasks would take more than " + duration_text(kLongestRun));
}

void read_model(TableReader& table, std::string& name, core::ModelSpec& model) {
  table.required_name("name", name);
  table.required_number("weights", model.weights, vram_amounts());
  table.number("vram_per_task", model.vram_per_task, vram_amounts());
  table.number("load_time", model.load_time, durations());
  table.number("keep_alive", model.keep_alive, durations());
}

void read_queue(TableReader& table, std::span<const std::string> models, std::string& name,
                core::QueueSpec& queue, std::string& work_class) {
  table.required_name("name", name);
  std::size_t model = 0;
  if (table.reference("model", "model", models, model)) {
    queue.model.value = static_cast<std::uint32_t>(model);
  }
  table.number("max_batch_size", queue.max_batch_size, ranges::kBatchSize);
  table.number("max_batch_wait", queue.max_batch_wait, durations());
  table.boolean("adaptive", queue.adaptive_wait);
  table.boolean("refuse_late", queue.refuse_late);
  table.number("max_gpus", queue.max_gpus, ranges::kGpuAmount);
  table.number("min_gpus", queue.min_gpus, ranges::kGpuAmount);
  table.number("batch_base", queue.batch_base, ranges::kBatchTime);
  table.number("batch_per_task", queue.batch_per_task, ranges::kBatchTime);
  table.name("work_class", work_class);
  table.boolean("batch_commands", queue.batch_commands);
  table.number("max_queue_size", queue.max_queue_size, ranges::kTasksOfQueue);
  table.number("max_task_gpus", queue.max_task_gpus, ranges::kTaskGpus);
  check_batch_time(table, "batch_per_task", queue.batch_base, queue.batch_per_task,
                   queue.max_batch_size);
  if (queue.max_gpus && *queue.max_gpus < queue.min_gpus) {
    table.error("max_gpus", "queues.max_gpus: expected at least min_gpus, " +
                                toml_of(queue.min_gpus.value, ranges::kGpuAmount) + ", found " +
                                toml_of(queue.max_gpus->value, ranges::kGpuAmount));
  }
  if (const char* expected = core::flaw_in(queue); expected != nullptr) {
    table.error("batch_per_task", "queues.batch_per_task: expected " + std::string(expected));
  }
}

std::string GpuBlock::name_of(std::int64_t i) const {
  return count == 1 ? name : name + "-" + std::to_string(i);
}

void read_gpu_block(TableReader& table, GpuBlock& gpus) {
  table.name("kind", gpus.kind);
  gpus.name = lower(gpus.kind);
  table.name("name", gpus.name);
  table.number("count", gpus.count, integers(1, core::kGpusMax));
  table.required_number("vram", gpus.vram, vram_amounts(1));
  table.number("speed", gpus.speed, thousandths(1, core::kSpeedMax));
  read_speed_by_class(table, gpus.speed_by_class);
}

}  // namespace berth::config
