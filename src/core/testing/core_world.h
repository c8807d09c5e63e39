// CoreWorld: an engine fed by hand, for the tests of one stage of the core.
//
// Time stands still until `wait`. After each event the engine's invariants are checked, so that no
// test goes on with a broken state.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "core/engine.h"
#include "core/state/state.h"

namespace berth::core {

class CoreWorld {
 public:
  const State& state() const { return engine_.state(); }
  Time now() const { return now_; }

  // Feeds an event; returns what it led to.
  const Actions& feed(EventBody body) {
    actions_.clear();
    engine_.step({now_, std::move(body)}, actions_);
    EXPECT_EQ(engine_.check_invariants(), std::vector<std::string>{});
    return actions_;
  }
  // Time passes, and a report about no GPU comes: a tick would not move the state's `now`.
  const Actions& wait(Duration time) {
    now_ = now_ + time;
    return feed(GpuLost{});
  }
  // What the last event or wait led to.
  const Actions& actions() const { return actions_; }
  template <class Kind>
  std::vector<Kind> all() const {
    std::vector<Kind> found;
    for (const Action& action : actions_) {
      if (const auto* it = std::get_if<Kind>(&action)) found.push_back(*it);
    }
    return found;
  }

  TenantId tenant(const TenantSpec& spec = {}) {
    const TenantId id{static_cast<std::uint32_t>(state().tenants.size())};
    feed(PutTenant{id, spec});
    return id;
  }
  QueueId queue(const QueueSpec& spec = {}) {
    const QueueId id{static_cast<std::uint32_t>(state().queues.size())};
    feed(PutQueue{id, spec});
    return id;
  }
  ModelId model(const ModelSpec& spec) {
    const ModelId id{static_cast<std::uint32_t>(state().models.size())};
    feed(PutModel{id, spec});
    return id;
  }
  GpuId gpu(Mib vram, Milli speed = kWholeGpu) {
    const GpuId id{static_cast<std::uint32_t>(state().gpus.size())};
    feed(PutGpu{id, {.vram = vram, .speed = speed}});
    return id;
  }

  // Reports the end of the loads that the last event led to.
  void finish_loads(Duration took, bool ok = true) {
    for (const LoadModel& load : all<LoadModel>())
      feed(ModelLoaded{load.gpu, load.model, ok, took, load.load});
  }

  std::optional<Explanation> explain(TaskNo task) const { return engine_.explain(task); }
  TaskNo next() const { return engine_.next_task_no(); }
  TaskNo submit(const TaskSpec& spec) {
    const TaskNo no = next();
    feed(Submit{no, spec});
    return no;
  }
  // Why the last submit was refused; none: it was not.
  Reason refusal() const {
    const auto refused = all<TaskRefused>();
    return refused.empty() ? Reason{} : refused.front().reason;
  }
  // REQUIRES a live task.
  const TaskRow& row(TaskNo task) const { return state().tasks.row(state().tasks.slot_of(task)); }

 private:
  Engine engine_;
  Time now_{0};
  Actions actions_;
};

// A task of the first tenant and queue.
inline TaskSpec task_spec(Mib vram = Mib{1000}, Duration expected_run = seconds(10)) {
  TaskSpec spec;
  spec.tenant = TenantId{0};
  spec.queue = QueueId{0};
  spec.vram = vram;
  spec.expected_run = expected_run;
  return spec;
}

}  // namespace berth::core
