// Scenario: everything a simulation needs, as checked plain values. How it was written is
// forgotten.
//
// Names stand in catalogs; the position of a name is the id the core sees. What follows from the
// seed (arrivals, drawn amounts) is not here: workload.h makes it from a scenario and a seed.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "config/sections.h"
#include "core/model/specs.h"
#include "sim/draw.h"

namespace berth::sim {

// Names that exist by being used: groups, signals, nodes, racks, kinds of GPU, classes of work.
class NameList {
 public:
  // The position of the name, added at the end if it is new.
  std::uint32_t intern(const std::string& name) {
    const auto [entry, fresh] = positions_.emplace(name, names_.size());
    if (fresh) names_.push_back(name);
    return entry->second;
  }
  const std::vector<std::string>& all() const { return names_; }

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::uint32_t, std::less<>> positions_;
};

struct Gpu {
  core::GpuSpec spec;
  std::vector<ModelId> resident;  // at the start
};

// A model or queue, and what the simulated agents do where that differs from what is declared.
struct Model {
  core::ModelSpec spec;
  std::optional<Duration> actual_load_time;
};
struct Queue {
  core::QueueSpec spec;
  std::optional<Duration> actual_batch_base;
  std::optional<Duration> actual_batch_per_task;

  Duration batch_base() const { return actual_batch_base.value_or(spec.batch_base); }
  Duration batch_per_task() const { return actual_batch_per_task.value_or(spec.batch_per_task); }
  bool has_batch_model() const { return batch_base().ns > 0 || batch_per_task().ns > 0; }
};

// How the simulated agents behave.
struct AgentSpec {
  double jitter = 0.0;       // a batch takes 1 - jitter to 1 + jitter times its time
  double load_jitter = 0.0;  // the same for loads
  Duration start_delay{0};   // from the lease to its start
  Duration stop_delay{0};    // from the request to stop a task to its end
  Duration unload_delay{0};  // from an eviction to the free VRAM
  std::array<double, core::kFailureKinds> task_failure{};  // probability per task and attempt
  double load_failure = 0.0;
  std::optional<Duration> gpu_mtbf;  // mean time between failures of one GPU
  Duration gpu_repair = minutes(10);
  std::optional<std::uint64_t> seed;  // of the agents' luck; the scenario's if absent
};

// The fields of a task that may be drawn. The order is the order of drawing.
enum class Field : std::uint8_t {
  queue,
  tenant,
  vram,
  expected_run,
  actual_run,
  priority,
  tier,
  gpus,
  share,
  tolerated_wait,
  tokens,
  cpu,
  memory,
  checkpoint_interval,
  restart_cost
};

struct DrawnField {
  Field field;
  Draw draw;
  bool rotate = false;  // through draw.values, instead of by chance
};

// A task with some fields still to be drawn.
struct TaskTemplate {
  core::TaskSpec spec;  // depends_on holds signals only
  std::optional<Duration> actual_run;
  std::vector<DrawnField> drawn;
  bool is_wrong = false;  // while it is read: some field could not be
};

// Sets one field of the task or of what the agents will do with it.
void set_field(core::TaskSpec& spec, std::optional<Duration>& actual_run, Field field,
               std::int64_t value);

struct Step {
  std::string id;
  TaskTemplate task;
  std::vector<std::uint32_t> depends_on;  // positions of earlier steps
};

// A task written by hand or in a CSV. In Scenario::tasks they stand in the order of submission.
struct ExplicitTask {
  std::string id;  // "" if none was given
  Time at;
  TaskTemplate task;
  std::vector<std::uint32_t> depends_on;  // positions in Scenario::tasks
};

enum class ArrivalKind : std::uint8_t { tasks, poisson, fixed_gap, bursts, daily, csv };

// Tasks (or whole workflows of several steps) that arrive by a rule.
struct ArrivalRule {
  ArrivalKind kind = ArrivalKind::poisson;
  std::uint32_t block = 0;  // position among the [[workload]] blocks; part of the seed
  Time start{0};
  std::int64_t count = INT64_MAX;  // arrivals, at most
  Duration duration = Duration::forever();
  std::int64_t rate_micro = 0;  // arrivals per million seconds; daily: at the peak
  Duration gap{0};
  std::int64_t burst_size = 1;
  Duration burst_every{0};
  std::int64_t low_rate_micro = 0;
  Duration peak_at{0};
  Duration period{0};
  std::vector<Step> steps;  // in an order in which each depends on earlier ones only
};

// A request of the administrator or a report about hardware, at an instant.
enum class Verb : std::uint8_t {
  flush,
  flush_all,
  pause_queue,
  resume_queue,
  pause_tenant,
  resume_tenant,
  drain_gpu,
  undrain_gpu,
  drain_queue,
  undrain_queue,
  lose_gpu,
  return_gpu,
  lose_node,
  return_node,
  signal,
  cancel,
  cancel_group,
  hold,
  release
};
struct Command {
  Time at;
  Verb verb = Verb::flush;
  std::uint32_t target = 0;  // position in the catalog that the verb is about
};

// Whence packing has the table of what room is worth (policy packing = "frag").
enum class TableSource : std::uint8_t {
  none,     // it learns the mix alone
  trained,  // before the run, from the shapes in `mix`
  online    // during the run, from the mix that the engine has learned so far
};
struct PackingLessons {
  TableSource table = TableSource::none;
  std::vector<core::Shape> mix;
};

struct Scenario {
  std::string name;
  std::string description;
  std::uint64_t seed = 1;
  std::optional<Time> stop_at;
  bool flush_at_end = false;

  core::PolicySpec policy;
  PackingLessons packing;
  config::Catalog<core::TenantSpec> tenants;
  config::Catalog<Model> models;
  config::Catalog<Queue> queues;
  config::Catalog<Gpu> gpus;
  NameList kinds;
  NameList work_classes;
  NameList nodes;
  std::vector<core::NodeSpec> node_specs;  // of the first so many; the others have no CPUs
  NameList racks;
  std::uint32_t islands = 0;
  NameList groups;
  NameList signals;

  AgentSpec agents;
  std::vector<ArrivalRule> rules;
  std::vector<ExplicitTask> tasks;
  std::vector<Command> commands;  // sorted by time, then by place in the file
};

// For people: what is allowed and may still be a slip of the pen.
std::vector<std::string> remarks_on(const Scenario& scenario);

}  // namespace berth::sim
