// Agents: what the simulated machines do with what the engine decides.
//
// They turn leases, stops, loads and evictions into the reports that real agents would send, each
// at its instant, with jitter and failures that depend only on the seed and on the task, GPU or
// model concerned. They see actions and the scenario, never the engine. A report that was planned
// and has become untrue (its lease is gone, its GPU lost) is dropped when it falls due.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "core/action.h"
#include "core/event.h"
#include "sim/scenario.h"
#include "sim/workload.h"

namespace berth::sim {

// A report that an agent will send, unless something intervenes.
struct PlannedReport {
  enum class Kind : std::uint8_t {
    lease_started,
    task_failed,
    task_stopped,
    lease_ended,
    model_loaded,
    model_unloaded,
    gpu_failed,
    gpu_repaired
  };
  Kind kind = Kind::lease_started;
  LeaseId lease{};
  TaskNo task{};
  core::Failure failure = core::Failure::error;
  GpuId gpu{};
  ModelId model{};
  LoadId load{};
  bool ok = true;
  Duration took{0};
  std::uint32_t incarnation = 0;  // of the GPU, when it was planned
};

class Agents {
 public:
  using Plan = std::function<void(Time, const PlannedReport&)>;

  // `plan` is called for every report that shall fall due at an instant.
  Agents(const Scenario& scenario, std::uint64_t seed, Plan plan);

  // The time a task really runs, for queues without a batch model. Call as tasks are submitted.
  void on_task_submitted(TaskNo task, Duration run);

  void on_action(Time now, const core::Action& action);

  // The hardware's fate: a lost GPU drops what it runs and loads. What a lease has on other GPUs
  // goes on until it is stopped. A lost node drops what runs without a GPU, too.
  void lose_gpu(GpuId gpu);
  void return_gpu(Time now, GpuId gpu);
  void lose_node(NodeId node);
  void return_node(Time now, NodeId node);

  // Plans the first failure of every GPU, if GPUs fail.
  void plan_failures();

  // The event for a report that is due; none: it is no longer true.
  std::optional<core::EventBody> due(Time now, const PlannedReport& report);

 private:
  struct Lease {
    std::vector<GpuId> gpus;
    NodeId node;                // where it runs if it has no GPU
    std::vector<TaskNo> tasks;  // not yet ended
  };

  void start(Time now, const core::BatchStarted& batch);
  void load(Time now, const core::LoadModel& action);
  void evict(Time now, const core::EvictModel& action);
  Duration batch_time(const core::BatchStarted& batch) const;
  // The speed at which a batch of the queue runs on these GPUs; without any: 1.
  Milli slowest_of(const Queue& queue, const std::vector<GpuId>& gpus) const;
  std::optional<core::Failure> failure_of(const core::StartedTask& task, double& when) const;
  std::optional<core::EventBody> end_task(const PlannedReport& report);
  std::optional<core::EventBody> end_lease(const PlannedReport& report);
  void plan_failure(Time now, GpuId gpu);
  // When what is asked of these GPUs now can begin: behind the evictions asked for before.
  Time turn_of(Time now, const std::vector<GpuId>& gpus) const;
  // Stretches or shortens a duration by at most the fraction.
  static Duration jittered(Duration duration, double fraction, double unit);

  const Scenario& scenario_;
  std::uint64_t seed_;
  Plan plan_;
  std::map<LeaseId, Lease> leases_;
  std::vector<Duration> runs_;                                // by task
  std::vector<std::uint32_t> incarnations_;                   // by GPU; odd: lost
  std::vector<Time> vram_back_;                               // by GPU: evictions done
  std::map<std::pair<GpuId, ModelId>, std::uint64_t> loads_;  // so far
};

}  // namespace berth::sim
