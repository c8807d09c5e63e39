// The core under full load: how many events a second, how long a step, how many bytes a task.
//
// A closed loop around the shipped engine, with asserts and the running hash on: every batch that
// ends is replaced by as many new tasks, so the number of pending tasks stays what was asked for
// while cancels, failures with retry, expiries, loads and evictions happen in the proportions
// printed. It measures; it decides nothing.
//
// Most tenants stay with their queues, whose models are resident and fill the VRAM. A twentieth
// travel: each has queues of its own, with models that are resident nowhere at first, and its tasks
// go from one to the next. So models are loaded all the time, and each load needs an eviction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace berth::sim {

struct CoreBenchOptions {
  std::uint32_t pending = 1'000'000;
  std::uint32_t gpus = 10'000;
  std::uint32_t tenants = 1'000;
  std::uint32_t queues = 1'000;
  std::uint32_t queues_per_tenant = 4;
  std::uint32_t models_per_gpu = 2;
  std::uint32_t max_batch_size = 8;
  std::uint64_t events = 3'000'000;
  std::uint64_t seed = 1;
};

struct CoreBenchCount {
  std::string name;
  std::uint64_t count = 0;
};

struct CoreBenchResult {
  std::uint64_t events = 0;
  std::uint64_t actions = 0;
  double cpu_s = 0;  // of the thread, driver included
  double events_per_s = 0;
  std::int64_t step_ns_p50 = 0;
  std::int64_t step_ns_p99 = 0;
  std::int64_t step_ns_p999 = 0;
  std::int64_t step_ns_max = 0;
  double bytes_per_pending_task = 0;
  std::uint64_t pending_at_end = 0;
  std::uint64_t running_at_end = 0;
  std::uint64_t hash = 0;
  std::vector<CoreBenchCount> mix;    // events by kind
  std::vector<CoreBenchCount> deeds;  // what was decided, and how tasks ended
};

CoreBenchResult run_core_bench(const CoreBenchOptions& options);

}  // namespace berth::sim
