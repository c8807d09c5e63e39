// Report: the figures of one run, as plain values. Made by a Recorder, printed by others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/json.h"

namespace berth::sim {

// Milliseconds from submit to the start of the first batch, over the tasks that started.
struct Waits {
  double mean = 0.0;
  double p50 = 0.0;
  double p99 = 0.0;
  double max = 0.0;
};

struct TaskCounts {
  std::uint64_t submitted = 0;
  std::uint64_t completed = 0;
  std::uint64_t refused = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t failed = 0;
  std::uint64_t expired = 0;
  std::uint64_t unfinished = 0;  // still live when the run ended
};

struct QueueReport {
  std::string name;
  TaskCounts tasks;
  std::uint64_t batches = 0;
  double mean_batch_size = 0.0;
  Waits waits;
  double gpu_seconds = 0.0;
};

struct TenantReport {
  std::string name;
  double weight = 1.0;
  TaskCounts tasks;
  Waits waits;
  double gpu_seconds = 0.0;
  double gpu_share = 0.0;  // of all GPU-seconds
};

struct ModelReport {
  std::string name;
  std::uint64_t loads = 0;
  std::uint64_t evictions = 0;
  double resident_s = 0.0;   // summed over GPUs
  double computing_s = 0.0;  // of which some batch ran
};

struct GpuReport {
  std::string name;
  std::uint64_t batches = 0;
  double busy_ratio = 0.0;
  double vram_ratio = 0.0;
};

// GPUs of one kind, all together.
struct KindReport {
  std::string name;
  std::uint64_t gpus = 0;
  double allocated_ratio = 0.0;  // mean over time of what was promised of them, over all they have
};

// Nodes that have CPUs and memory to give: the mean over time of what was promised of it.
struct NodesReport {
  std::uint64_t nodes = 0;
  double cpu_ratio = 0.0;
  double memory_ratio = 0.0;
};

struct ReasonCount {
  std::string name;
  std::string sentence;
  std::uint64_t tasks = 0;
};

// A row of the tasks that were live at the end: the obstacle nearest to their start.
struct UnfinishedReason {
  std::string name;
  std::string sentence;
  std::uint64_t tasks = 0;
  std::uint64_t example = 0;  // the number of one of them
};
struct Unfinished {
  std::vector<UnfinishedReason> reasons;  // most frequent first
  std::uint64_t asked = 0;                // all of them, unless there are very many
};

struct Report {
  std::string scenario;
  std::string policy;
  std::uint64_t seed = 0;
  TaskCounts tasks;
  TaskCounts cpu_only;                // of these, the tasks that ask for no GPU
  std::vector<ReasonCount> refusals;  // most frequent first
  std::vector<ReasonCount> failures;
  Unfinished unfinished;
  std::uint64_t refused_requests = 0;  // cancels, holds and releases of tasks that had ended
  std::uint64_t retries = 0;           // starts after the first, of all tasks
  std::uint64_t batches = 0;
  double mean_batch_size = 0.0;
  Waits waits;
  double throughput_per_s = 0.0;
  double makespan_s = 0.0;
  double busy_ratio = 0.0;
  double vram_ratio = 0.0;
  std::uint64_t loads = 0;
  std::uint64_t evictions = 0;
  std::uint64_t events = 0;
  std::uint64_t actions = 0;
  std::uint64_t actions_hash = 0;
  double wall_s = 0.0;  // set by the caller, who has a clock
  std::vector<QueueReport> queues;
  std::vector<TenantReport> tenants;
  std::vector<ModelReport> models;
  std::vector<GpuReport> gpus;
  std::vector<KindReport> kinds;
  NodesReport nodes;
};

// The value below which `percent` of the sorted values lie (nearest rank). 0 if there are none.
double percentile(const std::vector<double>& sorted, double percent);

// Sorts `waits_ms`.
Waits summarise(std::vector<double>& waits_ms);

// Writes the report as one JSON object.
void write_json(JsonWriter& json, const Report& report);

// The least, the greatest and what lies between, over several runs.
struct Spread {
  double min = 0.0;
  double p5 = 0.0;
  double median = 0.0;
  double p95 = 0.0;
  double max = 0.0;
};
Spread spread_of(std::vector<double> values);
void write_json(JsonWriter& json, const Spread& spread);

}  // namespace berth::sim
