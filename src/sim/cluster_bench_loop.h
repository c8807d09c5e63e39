// ClusterLoop: a cluster of nodes under the shipped engine, with simulated agents and virtual time.
// The driver of the cluster benchmark; it measures and decides nothing.
//
// Racks of 16 nodes; a node has 8 GPUs in two NVLink islands, 96 cores and 1 TiB. The running hash
// is on, as live. Only the time inside the engine, with the hash, is counted.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/rng.h"
#include "base/time.h"
#include "core/engine.h"
#include "journal/running_hash.h"
#include "sim/event_heap.h"

namespace berth::sim {

inline constexpr std::uint32_t kBenchNodeGpus = 8;

struct ClusterSize {
  std::uint32_t nodes = 0;
  std::uint32_t tenants = 1;
  std::vector<core::TenantSpec> specs;  // dealt to the tenants in turn; none: plain ones
};

class ClusterLoop {
 public:
  ClusterLoop(const ClusterSize& size, std::uint64_t seed);

  // Reports of starts that the step leads to are part of it.
  TaskNo submit(const core::TaskSpec& spec);
  void cancel(TaskNo task);
  // The next report or timer; false: there is none.
  bool turn();
  // To be submitted then.
  void submit_at(Time at, const core::TaskSpec& spec);

  // Everything due before the instant, and then it is that instant.
  void wait_until(Time at);

  // Called for every task that ends.
  std::function<void()> on_end = [] {};

  core::Engine& engine() { return engine_; }
  Rng& rng() { return rng_; }
  Time now() const { return now_; }
  std::uint64_t starts() const { return starts_; }
  std::uint64_t refusals() const { return refusals_; }
  // Tasks that were put back for others, and the longest step in which that was decided.
  std::uint64_t preempted() const { return preempted_; }
  std::int64_t preempting_ns_max() const { return preempting_ns_max_; }
  // Live tasks that do not run.
  std::uint64_t waiting() const;
  std::uint64_t hash() const { return hash_.value(); }

  // Time in the engine since the last reset, and of its steps.
  struct Spent {
    double cpu_s = 0;
    std::int64_t step_ns_p50 = 0;
    std::int64_t step_ns_p99 = 0;
    std::int64_t step_ns_max = 0;
    std::uint64_t steps = 0;
  };
  void reset();
  Spent spent();

 private:
  struct Due {
    LeaseId lease;        // that ends
    core::TaskSpec task;  // without one: to be submitted
  };

  void build(const ClusterSize& size);
  void step(core::EventBody body);
  void listen();
  void report_starts();
  void report_stops();

  Rng rng_;
  core::Engine engine_;
  journal::RunningHash hash_;
  core::Event event_;
  core::Actions actions_;
  Time now_{0};
  EventHeap<Due> due_;
  std::vector<LeaseId> started_;
  std::vector<std::int64_t> step_ns_;
  std::uint64_t running_ = 0;
  std::uint64_t ended_ = 0;  // of which on_end was not told yet
  std::uint64_t starts_ = 0;
  std::uint64_t refusals_ = 0;
  std::vector<LeaseId> stopping_;
  std::uint64_t preempted_ = 0;
  std::int64_t preempting_ns_max_ = 0;
};

std::int64_t thread_cpu_ns();

}  // namespace berth::sim
