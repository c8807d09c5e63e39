// A small world around an engine: a random but legal history of what users, admins and agents do.
//
// A Case is plain numbers, so that rapidcheck can shrink it: smaller numbers are simpler choices
// and fewer commands are a shorter history. The World turns it into events, each legal at its place
// (agents answer only what they were asked, numbers are consecutive, time never runs back), feeds
// them to the engine and keeps the whole record.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <iosfwd>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/engine.h"

namespace berth::property {

inline constexpr std::int64_t kGib = 1024;  // in MiB

// A property that does not hold, in a sentence.
struct Broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Command {
  std::uint32_t verb = 0;
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t c = 0;
  std::uint32_t gap = 0;
};

struct Case {
  std::vector<std::uint32_t> setup;
  std::vector<Command> commands;
};
std::ostream& operator<<(std::ostream& out, const Case& input);

// Reads a number as digits of changing base: choices out of n, the first one simplest.
class Digits {
 public:
  explicit Digits(std::uint64_t value) : value_(value) {}
  std::uint32_t pick(std::uint32_t n) {
    const auto digit = static_cast<std::uint32_t>(value_ % n);
    value_ /= n;
    return digit;
  }
  template <class T, std::size_t kSize>
  T pick(const T (&choices)[kSize]) {
    return choices[pick(static_cast<std::uint32_t>(kSize))];
  }
  bool one_in(std::uint32_t n) { return pick(n) == n - 1; }

 private:
  std::uint64_t value_;
};

// What happened in one step.
struct Step {
  core::Event event;
  std::size_t from_timers = 0;  // of the actions, those decided before the event
  core::Actions actions;
};

struct WorldOptions {
  bool changes_policy = true;
  bool one_start_per_step = false;
  bool only_workflows = false;  // several tasks come at once
  bool mixes_ranks = false;     // gangs of the first tier meet long work of all tiers
  bool changes_mig = false;     // GPUs go into MIG mode and out of it
};

class World {
 public:
  explicit World(const Case& input, WorldOptions options = {});

  // Called after every step.
  std::function<void(const Step&)> on_step;

  // Sends the configuration, then every command.
  void run();
  // Everything that failed, was paused, held or limited is set right: nothing hinders any more.
  void heal();
  // Agents answer all they were asked, and well; time goes on to the next wake-up. False: there is
  // nothing to answer, and no wake-up is near.
  bool settle_once();

  core::Engine& engine() { return engine_; }
  const std::vector<Step>& steps() const { return steps_; }
  Time now() const { return now_; }

  void feed(core::EventBody body);

 private:
  struct OpenLease {
    LeaseId id;
    bool started = false;
    std::vector<TaskNo> tasks;
  };
  // What an agent will report about models, in the order in which it was asked.
  struct ModelReport {
    GpuId gpu;
    ModelId model;
    LoadId load;
    bool loaded = false;  // else unloaded
  };

  void set_up();
  void carry_out(const Command& command);
  void note(const core::Action& action);
  core::PolicySpec policy(Digits digits) const;
  core::TenantSpec tenant(Digits digits, std::uint32_t number) const;
  core::QueueSpec queue(Digits digits, std::uint32_t number) const;
  core::ModelSpec model(Digits digits) const;
  core::NodeSpec node(Digits digits) const;
  core::GpuSpec gpu(Digits digits) const;
  // `in_workflow`: its place in a workflow whose first task is `first`.
  core::TaskSpec task(Digits shape, Digits extras, TaskNo first, std::uint32_t in_workflow) const;
  // What it asks of nodes, beside GPUs, share and VRAM.
  static void ask_for_node(Digits& digits, core::TaskSpec& spec);
  static void ask_for_instance(Digits& digits, core::TaskSpec& spec);
  void change(TaskNo task, Digits digits);
  void submit(const Command& command);
  void agent_reports(const Command& command);
  void model_reports(const Command& command);
  void gpu_changes(const Command& command);
  void administer(const Command& command);
  void reconfigure(const Command& command);
  TaskNo some_task(std::uint32_t number) const;
  std::uint32_t setup_number(std::size_t i) const {
    return i < input_.setup.size() ? input_.setup[i] : 0;
  }

  const Case& input_;
  WorldOptions options_;
  core::Engine engine_;
  Time now_{0};
  std::uint64_t next_task_ = 0;
  std::vector<Step> steps_;
  std::uint32_t gpus_ = 1;
  std::uint32_t models_ = 0;
  std::uint32_t queues_ = 1;
  std::uint32_t tenants_ = 1;
  std::map<std::uint32_t, ModelId> queue_model_;
  std::map<std::uint32_t, std::uint32_t> gpu_numbers_;
  std::vector<OpenLease> open_;
  std::deque<LeaseId> closed_;  // for late reports
  std::vector<ModelReport> model_reports_;
};

// For people who read a counterexample.
std::string describe(const core::Event& event);
std::string describe(const core::Action& action);
std::string describe(const std::vector<Step>& steps, std::size_t last = SIZE_MAX);

}  // namespace berth::property
