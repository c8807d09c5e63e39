// See report.h.
#include "sim/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace berth::sim {
namespace {

void write_json(JsonWriter& json, const TaskCounts& tasks) {
  json.begin_object()
      .member("submitted", tasks.submitted)
      .member("completed", tasks.completed)
      .member("refused", tasks.refused)
      .member("cancelled", tasks.cancelled)
      .member("failed", tasks.failed)
      .member("expired", tasks.expired)
      .member("unfinished", tasks.unfinished)
      .end_object();
}

void write_json(JsonWriter& json, const Waits& waits) {
  json.begin_object()
      .member("mean", waits.mean)
      .member("p50", waits.p50)
      .member("p99", waits.p99)
      .member("max", waits.max)
      .end_object();
}

void write_json(JsonWriter& json, const std::vector<ReasonCount>& by_reason) {
  json.begin_object();
  for (const ReasonCount& row : by_reason)
    json.member(row.name, row.tasks);
  json.end_object();
}

void write_json(JsonWriter& json, const std::vector<UnfinishedReason>& by_reason) {
  json.begin_array();
  for (const UnfinishedReason& row : by_reason) {
    json.begin_object()
        .member("reason", row.name)
        .member("count", row.tasks)
        .member("example", row.example)
        .end_object();
  }
  json.end_array();
}

template <class Rows, class WriteRow>
void write_rows(JsonWriter& json, std::string_view key, const Rows& rows, WriteRow write_row) {
  json.key(key).begin_array();
  for (const auto& row : rows) {
    json.begin_object().member("name", row.name);
    write_row(row);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

double percentile(const std::vector<double>& sorted, double percent) {
  if (sorted.empty()) return 0.0;
  const double rank = std::ceil(percent / 100.0 * static_cast<double>(sorted.size()));
  const auto position = static_cast<std::size_t>(std::max(rank, 1.0)) - 1;
  return sorted[std::min(position, sorted.size() - 1)];
}

Waits summarise(std::vector<double>& waits_ms) {
  Waits waits;
  if (waits_ms.empty()) return waits;
  std::ranges::sort(waits_ms);
  double sum = 0.0;
  for (const double wait : waits_ms)
    sum += wait;
  waits.mean = sum / static_cast<double>(waits_ms.size());
  waits.p50 = percentile(waits_ms, 50.0);
  waits.p99 = percentile(waits_ms, 99.0);
  waits.max = waits_ms.back();
  return waits;
}

Spread spread_of(std::vector<double> values) {
  std::ranges::sort(values);
  return {percentile(values, 0.0), percentile(values, 5.0), percentile(values, 50.0),
          percentile(values, 95.0), percentile(values, 100.0)};
}

void write_json(JsonWriter& json, const Spread& spread) {
  json.begin_object()
      .member("min", spread.min)
      .member("p5", spread.p5)
      .member("median", spread.median)
      .member("p95", spread.p95)
      .member("max", spread.max)
      .end_object();
}

void write_json(JsonWriter& json, const Report& report) {
  char hash[20];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(report.actions_hash));
  json.begin_object()
      .member("scenario", report.scenario)
      .member("policy", report.policy)
      .member("seed", report.seed);
  write_json(json.key("tasks"), report.tasks);
  write_json(json.key("cpu_only_tasks"), report.cpu_only);
  write_json(json.key("refusals"), report.refusals);
  write_json(json.key("failures"), report.failures);
  write_json(json.key("unfinished"), report.unfinished.reasons);
  json.member("unfinished_asked", report.unfinished.asked)
      .member("refused_requests", report.refused_requests)
      .member("retries", report.retries)
      .member("batches", report.batches)
      .member("mean_batch_size", report.mean_batch_size);
  write_json(json.key("wait_ms"), report.waits);
  json.member("throughput_per_s", report.throughput_per_s).member("makespan_s", report.makespan_s);
  json.key("gpu")
      .begin_object()
      .member("busy_ratio", report.busy_ratio)
      .member("vram_ratio", report.vram_ratio)
      .end_object();
  json.key("nodes")
      .begin_object()
      .member("count", report.nodes.nodes)
      .member("cpu_ratio", report.nodes.cpu_ratio)
      .member("memory_ratio", report.nodes.memory_ratio)
      .end_object();
  json.key("models")
      .begin_object()
      .member("loads", report.loads)
      .member("evictions", report.evictions);
  write_rows(json, "list", report.models, [&](const ModelReport& row) {
    json.member("loads", row.loads)
        .member("evictions", row.evictions)
        .member("resident_s", row.resident_s)
        .member("computing_s", row.computing_s);
  });
  json.end_object();
  write_rows(json, "queues", report.queues, [&](const QueueReport& row) {
    write_json(json.key("tasks"), row.tasks);
    json.member("batches", row.batches).member("mean_batch_size", row.mean_batch_size);
    write_json(json.key("wait_ms"), row.waits);
    json.member("gpu_seconds", row.gpu_seconds);
  });
  write_rows(json, "tenants", report.tenants, [&](const TenantReport& row) {
    json.member("weight", row.weight);
    write_json(json.key("tasks"), row.tasks);
    write_json(json.key("wait_ms"), row.waits);
    json.member("gpu_seconds", row.gpu_seconds).member("gpu_share", row.gpu_share);
  });
  write_rows(json, "gpus", report.gpus, [&](const GpuReport& row) {
    json.member("batches", row.batches)
        .member("busy_ratio", row.busy_ratio)
        .member("vram_ratio", row.vram_ratio);
  });
  write_rows(json, "kinds", report.kinds, [&](const KindReport& row) {
    json.member("gpus", row.gpus).member("allocated_ratio", row.allocated_ratio);
  });
  json.member("events", report.events)
      .member("actions", report.actions)
      .member("actions_hash", std::string_view(hash))
      .member("wall_s", report.wall_s)
      .end_object();
}

}  // namespace berth::sim
