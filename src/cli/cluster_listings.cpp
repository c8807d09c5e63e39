// See cluster_listings.h.
#include "cli/cluster_listings.h"

#include <algorithm>
#include <span>
#include <vector>

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
Cell measured(std::int64_t value, const std::string& unit) {
  return value < 0 ? Cell("-") : Cell(std::to_string(value) + unit, value);
}

Cell limit_cell(bool given, double value) {
  if (!given) return "";
  return {fixed_text(value, 2), static_cast<std::int64_t>(value * 1000.0)};
}

Cell mean_time(std::int64_t total_ms, std::uint64_t count) {
  return count == 0 ? Cell("") : time_cell(total_ms / static_cast<std::int64_t>(count));
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

constexpr bool kNumber = true;
constexpr bool kWide = true;

template <class Row>
using Columns = std::vector<ColumnOf<Row>>;

using Queue = v1::QueueStatus;
constexpr ColumnOf<Queue> kQueueColumns[] = {
    {"QUEUE", [](const Queue& queue, auto) -> Cell { return queue.name(); }},
    {"STATE",
     [](const Queue& queue, auto) {
       return queue.removed() ? Cell("removed", Colour::yellow)
                              : running_or_not(queue.paused(), queue.draining());
     }},
    {"MODEL", [](const Queue& queue, auto) -> Cell { return queue.model(); }},
    {"WORK-CLASS", [](const Queue& queue, auto) -> Cell { return queue.config().work_class(); },
     false, kWide},
    {"READY", [](const Queue& queue, auto) { return count_cell(queue.ready()); }, kNumber},
    {"WAITING", [](const Queue& queue, auto) { return count_cell(queue.waiting()); }, kNumber},
    {"RUNNING", [](const Queue& queue, auto) { return count_cell(queue.running()); }, kNumber},
    {"OLDEST",
     [](const Queue& queue, auto) {
       return queue.ready() > 0 ? time_cell(queue.oldest_wait_ms()) : Cell("");
     },
     kNumber},
    {"COMPLETED", [](const Queue& queue, auto) { return count_cell(queue.completed()); }, kNumber},
    {"FAILED", [](const Queue& queue, auto) { return count_cell(queue.failed()); }, kNumber},
    {"CANCELLED", [](const Queue& queue, auto) { return count_cell(queue.cancelled()); }, kNumber,
     kWide},
    {"EXPIRED", [](const Queue& queue, auto) { return count_cell(queue.expired()); }, kNumber,
     kWide},
    {"BATCHES", [](const Queue& queue, auto) { return count_cell(queue.batches()); }, kNumber,
     kWide},
    {"LOADS", [](const Queue& queue, auto) { return count_cell(queue.loads()); }, kNumber, kWide},
    {"MEAN-LOAD",
     [](const Queue& queue, auto) { return mean_time(queue.load_ms_total(), queue.loads()); },
     kNumber, kWide},
    {"RESIDENT-ON", [](const Queue& queue, auto) -> Cell { return joined(queue.resident_on()); }},
};

using Gpu = v1::GpuStatus;
constexpr ColumnOf<Gpu> kGpuColumns[] = {
    {"GPU", [](const Gpu& gpu, auto) -> Cell { return gpu.name(); }},
    {"NODE", [](const Gpu& gpu, auto) -> Cell { return gpu.node(); }},
    {"KIND", [](const Gpu& gpu, auto) -> Cell { return gpu.kind(); }},
    {"STATE", [](const Gpu& gpu, auto) { return gpu_state(gpu); }},
    {"PROMISED", [](const Gpu& gpu, auto) { return vram_cell(gpu.promised_mb()); }, kNumber},
    {"USABLE", [](const Gpu& gpu, auto) { return vram_cell(gpu.usable_mb()); }, kNumber},
    {"USED",
     [](const Gpu& gpu, auto) { return gpu.used_mb() < 0 ? Cell("-") : vram_cell(gpu.used_mb()); },
     kNumber},
    {"UTIL", [](const Gpu& gpu, auto) { return measured(gpu.utilisation_percent(), "%"); },
     kNumber},
    {"TEMP", [](const Gpu& gpu, auto) { return measured(gpu.temperature_c(), "C"); }, kNumber},
    {"POWER", [](const Gpu& gpu, auto) { return measured(gpu.power_w(), "W"); }, kNumber, kWide},
    {"LOAD", [](const Gpu& gpu, auto) { return measured(gpu.load_milli() / 10, "%"); }, kNumber,
     kWide},
    {"TOTAL", [](const Gpu& gpu, auto) { return vram_cell(gpu.total_mb()); }, kNumber, kWide},
    {"SIMULATED", [](const Gpu& gpu, auto) -> Cell { return gpu.simulated() ? "yes" : "no"; },
     false, kWide},
    {"UUID", [](const Gpu& gpu, auto) -> Cell { return gpu.uuid(); }, false, kWide},
    {"MODELS", [](const Gpu& gpu, auto) -> Cell { return joined(gpu.models()); }},
    {"RUNNING", [](const Gpu& gpu, auto) -> Cell { return running_on(gpu); }},
};

using Model = v1::ModelStatus;
constexpr ColumnOf<Model> kModelColumns[] = {
    {"MODEL", [](const Model& model, auto) -> Cell { return model.name(); }},
    {"WEIGHTS", [](const Model& model, auto) { return vram_cell(model.config().weights_mb()); },
     kNumber},
    {"PER-TASK",
     [](const Model& model, auto) { return vram_cell(model.config().vram_per_task_mb()); },
     kNumber},
    {"KEEP-ALIVE",
     [](const Model& model, auto) {
       return model.config().has_keep_alive_ms() ? time_cell(model.config().keep_alive_ms())
                                                 : Cell("");
     },
     kNumber, kWide},
    {"LOADS", [](const Model& model, auto) { return count_cell(model.loads()); }, kNumber},
    {"MEAN-LOAD",
     [](const Model& model, auto) { return mean_time(model.load_ms_total(), model.loads()); },
     kNumber},
    {"FAILURES", [](const Model& model, auto) { return count_cell(model.load_failures()); },
     kNumber},
    {"EVICTIONS", [](const Model& model, auto) { return count_cell(model.evictions()); }, kNumber},
    {"LOADING-ON", [](const Model& model, auto) -> Cell { return joined(model.loading_on()); }},
    {"RESIDENT-ON", [](const Model& model, auto) -> Cell { return joined(model.resident_on()); }},
};

using Tenant = v1::TenantStatus;
constexpr ColumnOf<Tenant> kTenantColumns[] = {
    {"TENANT", [](const Tenant& tenant, auto) -> Cell { return tenant.name(); }},
    {"PARENT", [](const Tenant& tenant, auto) -> Cell { return tenant.config().parent(); }, false,
     kWide},
    {"STATE", [](const Tenant& tenant, auto) { return running_or_not(tenant.paused(), false); }},
    {"WEIGHT",
     [](const Tenant& tenant, auto) {
       return limit_cell(tenant.config().has_weight(), tenant.config().weight());
     },
     kNumber},
    {"READY", [](const Tenant& tenant, auto) { return count_cell(tenant.ready()); }, kNumber},
    {"WAITING", [](const Tenant& tenant, auto) { return count_cell(tenant.waiting()); }, kNumber},
    {"RUNNING", [](const Tenant& tenant, auto) { return count_cell(tenant.running()); }, kNumber},
    {"COMPLETED", [](const Tenant& tenant, auto) { return count_cell(tenant.completed()); },
     kNumber},
    {"FAILED", [](const Tenant& tenant, auto) { return count_cell(tenant.failed()); }, kNumber},
    {"CANCELLED", [](const Tenant& tenant, auto) { return count_cell(tenant.cancelled()); },
     kNumber, kWide},
    {"EXPIRED", [](const Tenant& tenant, auto) { return count_cell(tenant.expired()); }, kNumber,
     kWide},
    {"GUARANTEED",
     [](const Tenant& tenant, auto) {
       return limit_cell(tenant.config().has_guaranteed_gpus(), tenant.config().guaranteed_gpus());
     },
     kNumber, kWide},
    {"BORROWS",
     [](const Tenant& tenant, auto) {
       return limit_cell(tenant.config().has_borrow_gpus(), tenant.config().borrow_gpus());
     },
     kNumber, kWide},
    {"MAX-GPUS",
     [](const Tenant& tenant, auto) {
       return limit_cell(tenant.config().has_max_gpus(), tenant.config().max_gpus());
     },
     kNumber, kWide},
    {"CHARGED",
     [](const Tenant& tenant, auto) { return time_cell(tenant.ledger().charged_us() / 1000); },
     kNumber, kWide},
    {"REFUNDED",
     [](const Tenant& tenant, auto) { return time_cell(tenant.ledger().refunded_us() / 1000); },
     kNumber, kWide},
    {"GPU-TIME", [](const Tenant& tenant, auto) { return time_cell(tenant.gpu_ms()); }, kNumber},
    {"WITH-BELOW", [](const Tenant& tenant, auto) { return time_cell(tenant.subtree_gpu_ms()); },
     kNumber},
};

using Usage = v1::UsageLine;
constexpr ColumnOf<Usage> kUsageColumns[] = {
    {"TENANT", [](const Usage& line, auto) -> Cell { return line.user_id(); }},
    {"QUEUE", [](const Usage& line, auto) -> Cell { return line.task_type(); }},
    {"DAY", [](const Usage& line, auto) -> Cell { return line.day(); }},
    {"TASKS", [](const Usage& line, auto) { return count_cell(line.tasks()); }, kNumber},
    {"COMPLETED", [](const Usage& line, auto) { return count_cell(line.completed()); }, kNumber},
    {"GPU-TIME", [](const Usage& line, auto) { return time_cell(line.gpu_ms()); }, kNumber},
    {"TASKS-WITH-BELOW", [](const Usage& line, auto) { return count_cell(line.subtree_tasks()); },
     kNumber, kWide},
    {"WITH-BELOW", [](const Usage& line, auto) { return time_cell(line.subtree_gpu_ms()); },
     kNumber},
    {"MEAN-WAIT", [](const Usage& line, auto) { return mean_time(line.wait_ms(), line.tasks()); },
     kNumber},
};

using Signal = v1::Signal;
constexpr ColumnOf<Signal> kSignalColumns[] = {
    {"SIGNAL", [](const Signal& signal, auto) -> Cell { return signal.name(); }},
    {"TENANT", [](const Signal& signal, auto) -> Cell { return signal.user_id(); }},
    {"STATE",
     [](const Signal& signal, auto) {
       return signal.given() ? Cell("given", Colour::green) : Cell("awaited", Colour::yellow);
     }},
    {"WAITERS", [](const Signal& signal, auto) { return count_cell(signal.waiters()); }, kNumber},
    {"SINCE",
     [](const Signal& signal, auto now) {
       const std::int64_t since = signal.since_unix_ms();
       return since == 0 ? Cell("") : age_cell(now - since);
     },
     kNumber},
};

// The sums of a tree are worth a column where there is a tree.
template <class Row>
Columns<Row> with_sums_if(bool has_tree, std::span<const ColumnOf<Row>> columns) {
  Columns<Row> result(columns.begin(), columns.end());
  std::ranges::find(result, "WITH-BELOW", &ColumnOf<Row>::title)->is_wide = !has_tree;
  return result;
}

}  // namespace

Listing list_of(const v1::GetQueueStatusResponse& answer, std::int64_t now) {
  return listing_of<Queue>(answer.queues(), kQueueColumns, now);
}

Listing list_of(const v1::GetGPUStatusResponse& answer, std::int64_t now) {
  return listing_of<Gpu>(answer.gpus(), kGpuColumns, now);
}

Listing list_of(const v1::GetModelStatusResponse& answer, std::int64_t now) {
  return listing_of<Model>(answer.models(), kModelColumns, now);
}

Listing list_of(const v1::GetTenantStatusResponse& answer, std::int64_t now) {
  const bool has_tree =
      std::any_of(answer.tenants().begin(), answer.tenants().end(), [](const Tenant& tenant) {
        return !tenant.config().parent().empty() || tenant.subtree_gpu_ms() > tenant.gpu_ms();
      });
  return listing_of<Tenant>(answer.tenants(), with_sums_if<Tenant>(has_tree, kTenantColumns), now);
}

Listing list_of(const v1::GetUsageResponse& answer, std::int64_t now) {
  const bool has_tree =
      std::any_of(answer.lines().begin(), answer.lines().end(),
                  [](const Usage& line) { return line.subtree_tasks() > line.tasks(); });
  return listing_of<Usage>(answer.lines(), with_sums_if<Usage>(has_tree, kUsageColumns), now);
}

Listing list_of(const v1::ListSignalsResponse& answer, std::int64_t now) {
  return listing_of<Signal>(answer.signals(), kSignalColumns, now);
}

}  // namespace berth::cli
