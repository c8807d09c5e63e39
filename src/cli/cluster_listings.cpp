// See cluster_listings.h.
#include "cli/cluster_listings.h"

#include <algorithm>

#include "cli/table.h"
#include "cli/text.h"
#include "config/quantity.h"

namespace berth::cli {
namespace {

Cell running_or_not(bool paused, bool draining) {
  if (draining) return {"draining", Colour::yellow};
  if (paused) return {"paused", Colour::yellow};
  return {"open", Colour::green};
}

Cell gpu_state(const v1::GpuStatus& gpu) {
  const Colour colour = gpu.state() == "up"         ? Colour::green
                        : gpu.state() == "draining" ? Colour::yellow
                                                    : Colour::red;
  return {gpu.state(), colour};
}

// "-" for what is not known.
std::string measured(std::int64_t value, const std::string& unit) {
  return value < 0 ? "-" : std::to_string(value) + unit;
}

std::string limit_text(bool given, double value) { return given ? fixed_text(value, 2) : ""; }

std::string mean_time(std::int64_t total_ms, std::uint64_t count) {
  return count == 0 ? "" : time_text(total_ms / static_cast<std::int64_t>(count));
}

std::string running_on(const v1::GpuStatus& gpu) {
  std::string text;
  for (const v1::RunningBatch& batch : gpu.running()) {
    if (!text.empty()) text += ", ";
    if (batch.task_ids().empty()) {
      text += "other work";
    } else if (batch.task_ids_size() == 1) {
      text += batch.task_ids(0);
    } else {
      text += std::to_string(batch.task_ids_size()) + " of " + batch.task_type();
    }
  }
  return text;
}

}  // namespace

Listing list_of(const v1::GetQueueStatusResponse& answer) {
  Listing listing({{"QUEUE"},
                   {"STATE"},
                   {"MODEL"},
                   {"WORK-CLASS", false, true},
                   {"READY", true},
                   {"WAITING", true},
                   {"RUNNING", true},
                   {"OLDEST", true},
                   {"COMPLETED", true},
                   {"FAILED", true},
                   {"CANCELLED", true, true},
                   {"EXPIRED", true, true},
                   {"BATCHES", true, true},
                   {"LOADS", true, true},
                   {"MEAN-LOAD", true, true},
                   {"RESIDENT-ON"}});
  for (const v1::QueueStatus& queue : answer.queues()) {
    listing.add({queue.name(),
                 queue.removed() ? Cell{"removed", Colour::yellow}
                                 : running_or_not(queue.paused(), queue.draining()),
                 queue.model(), queue.config().work_class(), count_text(queue.ready()),
                 count_text(queue.waiting()), count_text(queue.running()),
                 queue.ready() > 0 ? time_text(queue.oldest_wait_ms()) : "",
                 count_text(queue.completed()), count_text(queue.failed()),
                 count_text(queue.cancelled()), count_text(queue.expired()),
                 count_text(queue.batches()), count_text(queue.loads()),
                 mean_time(queue.load_ms_total(), queue.loads()), joined(queue.resident_on())});
  }
  return listing;
}

Listing list_of(const v1::GetGPUStatusResponse& answer) {
  Listing listing({{"GPU"},
                   {"NODE"},
                   {"KIND"},
                   {"STATE"},
                   {"PROMISED", true},
                   {"USABLE", true},
                   {"USED", true},
                   {"UTIL", true},
                   {"TEMP", true},
                   {"POWER", true, true},
                   {"LOAD", true, true},
                   {"TOTAL", true, true},
                   {"SIMULATED", false, true},
                   {"UUID", false, true},
                   {"MODELS"},
                   {"RUNNING"}});
  for (const v1::GpuStatus& gpu : answer.gpus()) {
    listing.add({gpu.name(), gpu.node(), gpu.kind(), gpu_state(gpu),
                 config::vram_text(gpu.promised_mb()), config::vram_text(gpu.usable_mb()),
                 gpu.used_mb() < 0 ? "-" : config::vram_text(gpu.used_mb()),
                 measured(gpu.utilisation_percent(), "%"), measured(gpu.temperature_c(), "C"),
                 measured(gpu.power_w(), "W"), measured(gpu.load_milli() / 10, "%"),
                 config::vram_text(gpu.total_mb()), gpu.simulated() ? "yes" : "no", gpu.uuid(),
                 joined(gpu.models()), running_on(gpu)});
  }
  return listing;
}

Listing list_of(const v1::GetModelStatusResponse& answer) {
  Listing listing({{"MODEL"},
                   {"WEIGHTS", true},
                   {"PER-TASK", true},
                   {"KEEP-ALIVE", true, true},
                   {"LOADS", true},
                   {"MEAN-LOAD", true},
                   {"FAILURES", true},
                   {"EVICTIONS", true},
                   {"LOADING-ON"},
                   {"RESIDENT-ON"}});
  for (const v1::ModelStatus& model : answer.models()) {
    listing.add(
        {model.name(), config::vram_text(model.config().weights_mb()),
         config::vram_text(model.config().vram_per_task_mb()),
         model.config().has_keep_alive_ms() ? time_text(model.config().keep_alive_ms()) : "",
         count_text(model.loads()), mean_time(model.load_ms_total(), model.loads()),
         count_text(model.load_failures()), count_text(model.evictions()),
         joined(model.loading_on()), joined(model.resident_on())});
  }
  return listing;
}

Listing list_of(const v1::GetTenantStatusResponse& answer) {
  const bool has_tree =
      std::any_of(answer.tenants().begin(), answer.tenants().end(), [](const auto& tenant) {
        return !tenant.config().parent().empty() || tenant.subtree_gpu_ms() > tenant.gpu_ms();
      });
  Listing listing({{"TENANT"},
                   {"PARENT", false, true},
                   {"STATE"},
                   {"WEIGHT", true},
                   {"READY", true},
                   {"WAITING", true},
                   {"RUNNING", true},
                   {"COMPLETED", true},
                   {"FAILED", true},
                   {"CANCELLED", true, true},
                   {"EXPIRED", true, true},
                   {"GUARANTEED", true, true},
                   {"BORROWS", true, true},
                   {"MAX-GPUS", true, true},
                   {"CHARGED", true, true},
                   {"REFUNDED", true, true},
                   {"GPU-TIME", true},
                   {"WITH-BELOW", true, !has_tree}});
  for (const v1::TenantStatus& tenant : answer.tenants()) {
    const v1::TenantConfig& config = tenant.config();
    listing.add({tenant.name(), config.parent(), running_or_not(tenant.paused(), false),
                 limit_text(config.has_weight(), config.weight()), count_text(tenant.ready()),
                 count_text(tenant.waiting()), count_text(tenant.running()),
                 count_text(tenant.completed()), count_text(tenant.failed()),
                 count_text(tenant.cancelled()), count_text(tenant.expired()),
                 limit_text(config.has_guaranteed_gpus(), config.guaranteed_gpus()),
                 limit_text(config.has_borrow_gpus(), config.borrow_gpus()),
                 limit_text(config.has_max_gpus(), config.max_gpus()),
                 time_text(tenant.ledger().charged_us() / 1000),
                 time_text(tenant.ledger().refunded_us() / 1000), time_text(tenant.gpu_ms()),
                 time_text(tenant.subtree_gpu_ms())});
  }
  return listing;
}

Listing list_of(const v1::GetUsageResponse& answer) {
  const bool has_tree =
      std::any_of(answer.lines().begin(), answer.lines().end(),
                  [](const auto& line) { return line.subtree_tasks() > line.tasks(); });
  Listing listing({{"TENANT"},
                   {"QUEUE"},
                   {"DAY"},
                   {"TASKS", true},
                   {"COMPLETED", true},
                   {"GPU-TIME", true},
                   {"TASKS-WITH-BELOW", true, true},
                   {"WITH-BELOW", true, !has_tree},
                   {"MEAN-WAIT", true}});
  for (const v1::UsageLine& line : answer.lines()) {
    listing.add({line.user_id(), line.task_type(), line.day(), count_text(line.tasks()),
                 count_text(line.completed()), time_text(line.gpu_ms()),
                 count_text(line.subtree_tasks()), time_text(line.subtree_gpu_ms()),
                 mean_time(line.wait_ms(), line.tasks())});
  }
  return listing;
}

}  // namespace berth::cli
