// Oracle: a second opinion that sees only events and actions, never the engine's state.
//
// It keeps its own plain books of tasks, leases, GPUs and models and throws Broken, with a
// sentence, when an action breaks a promise: something lost or started twice, a GPU over-committed
// in VRAM or compute, a batch that mixes queues or isolated tenants or is too large, a start on a
// GPU that is lost or drains, part of a gang, a second end, a start after the end or past a limit,
// a node over-committed in CPUs or memory, a GPU of a kind or in a domain that was not asked for, a
// MIG instance where none may lie or where another does, a GPU shared against a tenant's isolation.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/action.h"
#include "core/event.h"
#include "tests/property/world.h"

namespace berth::property {

class Oracle {
 public:
  // Reads one step: the timers' actions, the event, the other actions.
  void read(const Step& step);

  // Tasks that were accepted and have not ended.
  std::vector<TaskNo> live() const;

 private:
  struct Task {
    core::TaskSpec spec;
    Time submitted;
    Mib vram;
    LeaseId lease;     // none: not running
    LeaseId stopping;  // the last that was told to stop it
    bool held = false;
    bool started_once = false;
    bool placed = false;                                // by nodes, alone
    core::Isolation isolation = core::Isolation::none;  // of its tenant when it was accepted
  };
  struct Lease {
    QueueId queue;
    ModelId model;
    Milli share;
    Mib vram;
    std::vector<GpuId> gpus;
    NodeId node;  // of a lease without a GPU
    Milli cpu;
    Mib memory;
    std::optional<core::MigInstance> instance;
    bool alone = false;      // shares its GPU with nobody, but by instances
    std::int64_t asked = 1;  // GPUs, before any was lost
    std::vector<std::pair<TenantId, std::int64_t>> use;  // of each task, in thousandths of a GPU
  };
  struct Node {
    core::NodeSpec spec;
    bool up = true;
  };
  struct Weights {
    Mib size;
    LoadId load;
  };
  struct Gpu {
    core::GpuSpec spec;
    bool up = true;
    bool draining = false;
    Milli reported;
    std::map<ModelId, Weights> weights;  // resident or loading
    std::set<ModelId> loading;
    bool was_left = false;  // by some model, since it came
  };

  void apply(const core::Event& event);
  void apply(const core::Action& action);
  void start(const core::BatchStarted& batch);
  void check_gpu(const core::BatchStarted& batch, GpuId id) const;
  void check_instance(const core::BatchStarted& batch, GpuId id) const;
  void check_alone(const core::BatchStarted& batch, const Lease& lease) const;
  // A GPU in no MIG mode, and without an instance left from one.
  bool takes_batches(GpuId gpu) const;
  std::vector<const Lease*> leases_on(GpuId gpu) const;
  void check_task(const core::BatchStarted& batch, const core::StartedTask& started) const;
  void check_limits(const core::BatchStarted& batch, const Lease& lease) const;
  void check_nodes(const core::BatchStarted& batch, const Lease& lease) const;
  void check_domain(const core::BatchStarted& batch, const core::TaskSpec& spec) const;
  // GPUs of the lease by node; of one without a GPU, its node counts once.
  std::map<NodeId, std::int64_t> parts_of(const Lease& lease) const;
  std::vector<TenantId> with_those_above(TenantId tenant) const;
  Node& node_for(NodeId id);
  void lose(GpuId gpu);
  Mib leased(GpuId gpu) const;
  Mib weights(GpuId gpu) const;
  static void take_away(Gpu& gpu, ModelId model);
  void bring_back(Gpu& gpu) const;
  bool is_placed(const Task& task) const;
  void gang_left(QueueId queue);
  void change(const core::TaskChanged& changed);
  void put(const core::PutQueue& put);
  std::int64_t gangs(QueueId queue) const;
  bool uses(GpuId gpu, ModelId model) const;
  Task& task(TaskNo no);
  const Task& task(TaskNo no) const;

  Time now_{0};
  core::PolicySpec policy_;
  std::map<TenantId, core::TenantSpec> tenants_;
  std::map<TenantId, bool> tenant_paused_;
  std::map<QueueId, core::QueueSpec> queues_;
  std::map<QueueId, ModelId> next_models_;
  std::map<QueueId, bool> queue_paused_;
  std::map<QueueId, bool> queue_draining_;
  std::map<ModelId, core::ModelSpec> models_;
  std::map<GpuId, Gpu> gpus_;
  std::vector<Node> nodes_;
  std::map<TaskNo, core::TaskSpec> asked_;  // of the submit being answered
  std::map<TaskNo, Task> tasks_;
  std::map<TaskNo, core::TaskState> ended_;
  std::map<LeaseId, Lease> leases_;
  std::set<LeaseId> leases_ever_;
  std::uint64_t next_load_ = 0;
  std::set<SignalId> signals_;
  bool starts_held_ = false;
};

}  // namespace berth::property
