// See metrics_text.h.
#include "api/metrics_text.h"

#include <algorithm>
#include <array>
#include <map>

#include "api/metrics_writer.h"
#include "api/outcomes.h"

namespace berth::api {
namespace {

using service::Board;
using Labels = MetricsWriter::Labels;

constexpr std::size_t kTenantsMax = 100;
constexpr const char* kRest = "_other";
constexpr double kBytesPerMib = 1048576.0;

double number(std::uint64_t value) { return static_cast<double>(value); }
double of_us(std::int64_t us) { return static_cast<double>(us) / 1e6; }

// ---- The server ---------------------------------------------------------------------------------

void write_server(MetricsWriter& out, const ApiContext& context) {
  const service::ServiceStats stats = context.service.stats();
  out.family("berth_build_info", "gauge", "The running version; always 1.");
  out.sample({{"version", context.hooks.version}}, 1);
  out.single("berth_epoch", "gauge", "Goes up at every start.", number(stats.epoch));
  out.single("berth_start_time_seconds", "gauge", "When the server started, since 1970.",
             static_cast<double>(context.started_unix_ms) / 1e3);
  out.single("berth_events_total", "counter", "Events sequenced since the first start.",
             number(stats.events));
  out.single("berth_journal_groups_total", "counter", "Groups written and synced since the start.",
             number(stats.groups));
  out.single("berth_journal_synced_bytes_total", "counter", "Bytes synced since the start.",
             number(stats.synced_bytes));
  out.single("berth_journal_stalled", "gauge", "1 while the journal cannot be written.",
             stats.stalled ? 1 : 0);
  out.single("berth_disk_short", "gauge",
             "1 while the data disk has less room than its reserve: no new task is taken.",
             stats.short_of_room ? 1 : 0);
  out.single("berth_disk_free_bytes", "gauge", "What is free on the data disk.",
             number(stats.disk_free_bytes));
  out.single("berth_disk_reserve_bytes", "gauge",
             "What must be free on the data disk for a new task to be taken.",
             number(stats.disk_reserve_bytes));
  std::array<double, service::kSyncBucketsUs.size()> bounds{};
  std::ranges::transform(service::kSyncBucketsUs, bounds.begin(),
                         [](std::uint64_t us) { return static_cast<double>(us) / 1e6; });
  out.histogram("berth_journal_sync_seconds", "How long syncs of the journal took.", bounds,
                stats.sync_us_buckets, of_us(static_cast<std::int64_t>(stats.sync_us_sum)));
  out.histogram("berth_submit_seconds", "From a submit's arrival to its durable answer.",
                kSubmitBoundsS, context.submit_latency.counts(), context.submit_latency.sum_s());
  out.histogram("berth_dispatch_seconds",
                "From the instant a task could start until its lease left for its agent.",
                service::kDispatchBoundsS, stats.dispatch_buckets, stats.dispatch_sum_s);
  out.single("berth_submits_refused_full_total", "counter",
             "Commands refused because too many were waiting.", number(stats.submits_refused_full));
  out.single("berth_submit_ring_tasks", "gauge", "Tasks that wait for the sequencer.",
             number(stats.ring_tasks));
  out.single("berth_history_lag_tasks", "gauge", "Ended tasks not in the history yet.",
             number(stats.history_lag));
  out.single("berth_history_failures_total", "counter",
             "Writes to the history that failed and are tried again.",
             number(stats.history_failures));
  out.single("berth_snapshots_total", "counter", "Snapshots written since the start.",
             number(stats.snapshots));
  out.single("berth_wall_clock_ahead_seconds", "gauge",
             "How far the wall clock is ahead of engine time; changes only when it was set.",
             static_cast<double>(stats.wall_ahead_ns) / 1e9);
  out.single("berth_packing_table_version", "gauge",
             "Version of the table that packing was last given; 0: none was ever learned.",
             number(stats.packing_table_version));
  if (stats.packing_table_version > 0) {
    out.single("berth_packing_table_time_seconds", "gauge",
               "When packing was given its table, since 1970.",
               static_cast<double>(stats.packing_table_since_ns) / 1e9);
  }
  out.single("berth_packing_plays_total", "counter",
             "Plays against itself that packing has begun since the start, to learn a table.",
             number(stats.packing_plays));
  out.single("berth_open_streams", "gauge", "Streams of events, output and submits.",
             number(context.streams.size()));
  out.single("berth_stream_memory_bytes", "gauge", "What open streams may hold together.",
             number(context.streams.bytes()));
}

// ---- Queues, models, tenants --------------------------------------------------------------------

// Copies of the lines, so that the view's lock is held for a moment only.
struct Lines {
  std::vector<std::string> queue_names, model_names, tenant_names;
  std::vector<service::QueueLine> queues;
  std::vector<double> oldest_wait_s;  // by queue
  std::vector<service::ModelLine> models;
  std::vector<service::TenantLine> tenants;
  std::vector<core::LedgerLine> ledger;  // by tenant
  std::vector<std::size_t> residents;    // by model
  std::size_t live = 0;
  std::size_t leases = 0;
};

Lines copy_lines(const ApiContext& context) {
  const Time now = context.now();
  return context.service.view().read([now](const Board& board) {
    Lines lines;
    const service::Names& names = board.names();
    for (std::uint32_t queue = 0; queue < names.queues().size(); ++queue) {
      if (is_forgotten(board, QueueId{queue})) continue;
      const Duration wait = now - board.oldest_pending({queue}).value_or(now);
      lines.queue_names.push_back(names.queues()[queue].name);
      lines.queues.push_back(board.queues()[queue]);
      lines.oldest_wait_s.push_back(static_cast<double>(wait.ns) / 1e9);
    }
    std::vector<std::size_t> residents(names.models().size());
    for (const service::GpuLine& gpu : board.gpus()) {
      for (const auto& [model, resident] : gpu.models) {
        if (!resident.loading) ++residents[model.value];
      }
    }
    for (std::uint32_t model = 0; model < names.models().size(); ++model) {
      if (is_forgotten(board, ModelId{model})) continue;
      lines.model_names.push_back(names.models()[model].name);
      lines.models.push_back(board.models()[model]);
      lines.residents.push_back(residents[model]);
    }
    for (std::uint32_t tenant = 0; tenant < names.tenants().size(); ++tenant) {
      if (is_forgotten(board, TenantId{tenant})) continue;
      lines.tenant_names.push_back(names.tenants()[tenant].name);
      lines.tenants.push_back(board.tenants()[tenant]);
      lines.ledger.push_back(board.ledger()[tenant]);
    }
    lines.live = board.tasks().size();
    lines.leases = board.leases().size();
    return lines;
  });
}

template <class Line>
void write_states(MetricsWriter& out, std::string_view label, const std::string& name,
                  const Line& line) {
  out.sample({{label, name}, {"state", "waiting"}}, number(line.waiting));
  out.sample({{label, name}, {"state", "pending"}}, number(line.pending));
  out.sample({{label, name}, {"state", "running"}}, number(line.running));
}

void write_ends(MetricsWriter& out, std::string_view label, const std::string& name,
                const service::Ends& ends) {
  out.sample({{label, name}, {"state", "completed"}}, number(ends.completed));
  out.sample({{label, name}, {"state", "failed"}}, number(ends.failed));
  out.sample({{label, name}, {"state", "cancelled"}}, number(ends.cancelled));
  out.sample({{label, name}, {"state", "expired"}}, number(ends.expired));
}

void write_queues(MetricsWriter& out, const Lines& lines) {
  const auto each = [&](auto write) {
    for (std::size_t i = 0; i < lines.queues.size(); ++i)
      write(lines.queue_names[i], lines.queues[i]);
  };
  out.single("berth_live_tasks", "gauge", "Tasks that have not ended.", number(lines.live));
  out.single("berth_leases", "gauge", "Batches that start or run.", number(lines.leases));
  out.family("berth_queue_tasks", "gauge", "Live tasks by queue and state.");
  each([&](const auto& name, const auto& line) { write_states(out, "queue", name, line); });
  out.family("berth_queue_tasks_ended_total", "counter", "Ended tasks by queue and final state.");
  each([&](const auto& name, const auto& line) { write_ends(out, "queue", name, line.ends); });
  out.family("berth_queue_batches_total", "counter", "Batches started.");
  each([&](const auto& name, const auto& line) {
    out.sample({{"queue", name}}, number(line.batches));
  });
  out.family("berth_queue_oldest_wait_seconds", "gauge",
             "How long the oldest pending task has waited.");
  for (std::size_t i = 0; i < lines.queues.size(); ++i)
    out.sample({{"queue", lines.queue_names[i]}}, lines.oldest_wait_s[i]);
}

void write_models(MetricsWriter& out, const Lines& lines) {
  if (lines.models.empty()) return;
  const auto each = [&](auto value) {
    for (std::size_t i = 0; i < lines.models.size(); ++i)
      out.sample({{"model", lines.model_names[i]}}, value(i));
  };
  out.family("berth_model_resident", "gauge", "GPUs that hold the model.");
  each([&](std::size_t i) { return number(lines.residents[i]); });
  out.family("berth_model_loads_total", "counter", "Loads of the model.");
  each([&](std::size_t i) { return number(lines.models[i].loads); });
  out.family("berth_model_load_failures_total", "counter", "Loads that failed.");
  each([&](std::size_t i) { return number(lines.models[i].load_failures); });
  out.family("berth_model_evictions_total", "counter", "Evictions of the model.");
  each([&](std::size_t i) { return number(lines.models[i].evictions); });
  out.family("berth_model_load_seconds_total", "counter", "Time spent loading the model.");
  each([&](std::size_t i) { return static_cast<double>(lines.models[i].load_time.ns) / 1e9; });
}

void add(service::TenantLine& sum, const service::TenantLine& line) {
  sum.waiting += line.waiting;
  sum.pending += line.pending;
  sum.running += line.running;
  sum.ends.completed += line.ends.completed;
  sum.ends.failed += line.ends.failed;
  sum.ends.cancelled += line.ends.cancelled;
  sum.ends.expired += line.ends.expired;
}

// Two counters, since neither falls; what was used is their difference.
void write_ledger(MetricsWriter& out, const Lines& lines) {
  const auto each = [&](std::int64_t core::LedgerLine::*amount) {
    std::int64_t rest = 0;
    for (std::size_t i = 0; i < lines.ledger.size(); ++i) {
      if (i >= kTenantsMax) {
        rest += lines.ledger[i].*amount;
      } else {
        out.sample({{"tenant", lines.tenant_names[i]}}, of_us(lines.ledger[i].*amount));
      }
    }
    if (lines.ledger.size() > kTenantsMax)
      out.sample({{"tenant", std::string(kRest)}}, of_us(rest));
  };
  out.family("berth_tenant_gpu_charged_seconds_total", "counter",
             "Normalised GPU time charged, ahead and by estimate.");
  each(&core::LedgerLine::charged_us);
  out.family("berth_tenant_gpu_refunded_seconds_total", "counter",
             "Of it, given back: estimates set right, lost and preempted work.");
  each(&core::LedgerLine::refunded_us);
}

void write_tenants(MetricsWriter& out, const Lines& lines) {
  if (lines.tenants.empty()) return;
  service::TenantLine rest;
  for (std::size_t i = kTenantsMax; i < lines.tenants.size(); ++i)
    add(rest, lines.tenants[i]);
  const auto each = [&](auto write) {
    for (std::size_t i = 0; i < std::min(kTenantsMax, lines.tenants.size()); ++i)
      write(lines.tenant_names[i], lines.tenants[i]);
    if (lines.tenants.size() > kTenantsMax) write(std::string(kRest), rest);
  };
  out.single("berth_tenants", "gauge", "Known tenants.", number(lines.tenants.size()));
  out.family("berth_tenant_tasks", "gauge", "Live tasks by tenant and state.");
  each([&](const auto& name, const auto& line) { write_states(out, "tenant", name, line); });
  out.family("berth_tenant_tasks_ended_total", "counter", "Ended tasks by tenant and final state.");
  each([&](const auto& name, const auto& line) { write_ends(out, "tenant", name, line.ends); });
  write_ledger(out, lines);
}

// ---- GPUs ---------------------------------------------------------------------------------------

struct GpuSample {
  service::GpuEntry entry;
  Mib promised;
  Milli load;
  std::size_t batches = 0;
  service::GpuReading reading;
  std::size_t index = 0;

  Labels labels() const {
    return {{"gpu", std::to_string(index)},
            {"UUID", entry.uuid},
            {"device", entry.name},
            {"model_name", entry.kind},
            {"Hostname", entry.node}};
  }
};

std::vector<GpuSample> copy_gpus(const ApiContext& context) {
  std::vector<GpuSample> gpus = context.service.view().read([](const Board& board) {
    std::vector<GpuSample> samples;
    for (std::size_t i = 0; i < board.gpus().size(); ++i) {
      const service::GpuLine& line = board.gpus()[i];
      samples.push_back(
          {board.names().gpus()[i], line.promised, line.load, line.leases.size(), {}, i});
    }
    return samples;
  });
  for (GpuSample& gpu : gpus) {
    gpu.reading = context.service.view().reading(GpuId{static_cast<std::uint32_t>(gpu.index)});
  }
  return gpus;
}

// A family with a sample for each GPU that has one; none has: no family.
template <class Value>
void write_gpu_family(MetricsWriter& out, const std::vector<GpuSample>& gpus, std::string_view name,
                      std::string_view help, Value value) {
  bool begun = false;
  for (const GpuSample& gpu : gpus) {
    const double sample = value(gpu);
    if (sample < 0) continue;
    if (!std::exchange(begun, true)) out.family(name, "gauge", help);
    out.sample(gpu.labels(), sample);
  }
}

}  // namespace

std::string metrics_text(const ApiContext& context) {
  MetricsWriter out;
  write_server(out, context);
  const Lines lines = copy_lines(context);
  write_queues(out, lines);
  write_models(out, lines);
  write_tenants(out, lines);
  return out.take();
}

std::string gpu_metrics_text(const ApiContext& context) {
  MetricsWriter out;
  const std::vector<GpuSample> gpus = copy_gpus(context);
  const auto write = [&](std::string_view name, std::string_view help, auto value) {
    write_gpu_family(out, gpus, name, help, value);
  };
  write("DCGM_FI_DEV_GPU_UTIL", "GPU utilization (in %).",
        [](const GpuSample& gpu) { return static_cast<double>(gpu.reading.utilisation_percent); });
  write("DCGM_FI_DEV_FB_USED", "Framebuffer memory used (in MiB).",
        [](const GpuSample& gpu) { return static_cast<double>(gpu.reading.used_mb); });
  write("DCGM_FI_DEV_FB_FREE", "Framebuffer memory free (in MiB).", [](const GpuSample& gpu) {
    if (gpu.reading.used_mb < 0) return -1.0;
    return static_cast<double>(
        std::max<std::int64_t>(0, gpu.entry.spec.vram.value - gpu.reading.used_mb));
  });
  write("DCGM_FI_DEV_GPU_TEMP", "GPU temperature (in C).",
        [](const GpuSample& gpu) { return static_cast<double>(gpu.reading.temperature_c); });
  write("DCGM_FI_DEV_POWER_USAGE", "Power draw (in W).",
        [](const GpuSample& gpu) { return static_cast<double>(gpu.reading.power_w); });
  write("berth_gpu_up", "1 while the GPU takes work.",
        [](const GpuSample& gpu) { return gpu.entry.lost || gpu.entry.draining ? 0.0 : 1.0; });
  write("berth_gpu_memory_bytes", "VRAM of the GPU.", [](const GpuSample& gpu) {
    return static_cast<double>(gpu.entry.spec.vram.value) * kBytesPerMib;
  });
  write(
      "berth_gpu_promised_bytes", "VRAM promised to batches and resident models.",
      [](const GpuSample& gpu) { return static_cast<double>(gpu.promised.value) * kBytesPerMib; });
  write("berth_gpu_load_ratio", "Compute promised to batches, of one GPU.",
        [](const GpuSample& gpu) { return static_cast<double>(gpu.load.value) / 1000.0; });
  write("berth_gpu_batches", "Batches that start or run.",
        [](const GpuSample& gpu) { return static_cast<double>(gpu.batches); });
  return out.take();
}

}  // namespace berth::api
