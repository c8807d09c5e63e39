// Recorder: watches a run and keeps what its report needs. Decides nothing, prints nothing.
//
// Times are counted from the first submit to the end of the run, which is the end of its last task
// unless tasks are left over. A task's wait is from its submit to the start of its first batch.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "journal/running_hash.h"
#include "sim/report.h"
#include "sim/simulation.h"

namespace berth::sim {

class Recorder final : public Observer {
 public:
  // Keeps a reference to the scenario.
  Recorder(const Scenario& scenario, std::uint64_t seed);

  void on_event(const core::Event& event) override;
  void on_action(Time at, const core::Action& action) override;

  // Call once, after the run. What only the engine knows (why tasks are left) is not in it.
  Report report() const;

  // The tasks accepted and not ended, in the order of their numbers.
  std::vector<TaskNo> live_tasks() const;

 private:
  enum class End : std::uint8_t { none, refused, live, completed, failed, cancelled, expired };
  struct TaskRecord {
    Time submitted;
    Time started = Time::never();
    QueueId queue;
    TenantId tenant;
    bool cpu_only = false;
    End end = End::none;
  };
  struct LeaseRecord {
    Time started;
    QueueId queue;
    ModelId model;
    Milli share;
    Mib vram;
    Milli cpu;
    Mib memory;
    std::vector<GpuId> gpus;
    std::vector<TenantId> tenants;  // of its tasks
  };
  // A quantity that changes at instants, integrated over time.
  struct Meter {
    std::int64_t level = 0;
    Time since{0};
    double integral = 0.0;  // level × nanoseconds

    void set(Time at, std::int64_t to) {
      integral += static_cast<double>(level) * static_cast<double>((at - since).ns);
      since = at;
      level = to;
    }
    double until(Time at) const {
      return integral + static_cast<double>(level) * static_cast<double>((at - since).ns);
    }
    void add(Time at, std::int64_t more) { set(at, level + more); }
    void restart(Time at) {
      since = at;
      integral = 0.0;
    }
  };
  struct GpuRecord {
    std::int64_t leases = 0;
    std::uint64_t batches = 0;
    Meter busy;  // 0 or 1
    Meter vram;  // MiB promised to batches and weights
  };
  struct ModelRecord {
    std::uint64_t loads = 0;
    std::uint64_t evictions = 0;
    Meter resident;   // GPUs that hold it
    Meter computing;  // GPUs that run it
  };
  struct QueueRecord {
    std::uint64_t batches = 0;
    std::uint64_t started_tasks = 0;
  };
  // GPU time by queue and by tenant.
  struct Use {
    std::vector<double> queue_ns;
    std::vector<double> tenant_ns;

    // What a lease used of one of its GPUs until an instant.
    void add(const LeaseRecord& lease, Time until);
  };
  enum class Residency : std::uint8_t { loading, resident };

  void on_submitted(Time at, TaskNo task, const core::TaskSpec& spec);
  void on_batch_started(Time at, const core::BatchStarted& batch);
  void on_slice_lost(Time at, LeaseId lease, GpuId gpu);
  void on_lease_closed(Time at, LeaseId lease);
  std::size_t kind_of(GpuId gpu) const { return scenario_.gpus.specs[gpu.value].spec.kind.value; }
  void release_slice(Time at, const LeaseRecord& lease, GpuId gpu);
  void on_load(Time at, const core::LoadModel& load);
  void on_loaded(Time at, const core::ModelLoaded& loaded);
  void drop_model(Time at, GpuId gpu, ModelId model, LoadId load);
  void on_gpu_gone(Time at, GpuId gpu);
  void on_refused(const core::TaskRefused& refused);
  void on_finished(Time at, const core::TaskFinished& finished);
  void begin_window(Time at);

  void fill_totals(Report& report) const;
  void fill_queues_and_tenants(Report& report) const;
  void fill_models_and_gpus(Report& report) const;
  void fill_kinds_and_nodes(Report& report) const;

  const Scenario& scenario_;
  std::uint64_t seed_;
  journal::RunningHash hash_;
  std::uint64_t events_ = 0;
  Time now_{0};
  std::optional<Time> first_submit_;
  Time last_completion_{0};
  std::vector<TaskRecord> tasks_;
  std::map<core::ReasonCode, std::uint64_t> refusals_;
  std::map<core::ReasonCode, std::uint64_t> failures_;
  std::uint64_t refused_requests_ = 0;
  std::uint64_t retries_ = 0;
  std::map<LeaseId, LeaseRecord> leases_;
  std::vector<GpuRecord> gpus_;
  std::vector<Meter> allocated_;  // by kind of GPU: thousandths promised to batches
  Meter cpu_;                     // of all nodes, thousandths promised to batches
  Meter memory_;                  // the same in MiB
  std::vector<ModelRecord> models_;
  std::vector<QueueRecord> queues_;
  Use use_;  // by leases that have ended
  std::map<std::tuple<GpuId, ModelId, LoadId>, Residency> residency_;
  std::map<std::pair<GpuId, ModelId>, std::int64_t> computing_;  // leases
};

}  // namespace berth::sim
