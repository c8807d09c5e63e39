// A guarantee that was lent comes back: a task of one GPU with which its tenant stays within its
// guarantee starts within `protected_run` + one step of preemption + the time that agents take to
// stop work; plain tasks, which wait for a second before they ask, within another step. (A gang
// waits until all it needs may be stopped at once, or is promised to it.)
//
// Why: while guaranteed work waits and all GPUs are taken, somebody uses more than is guaranteed to
// them; that work may be stopped once it has run for `protected_run`, and what is freed is claimed.
// Work within guarantees goes first, so nobody else starts meanwhile on what becomes free.
#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "core/state/state.h"
#include "tests/property/cases.h"
#include "tests/property/closed_world.h"

namespace berth::property {
namespace {

class LentWorld {
 public:
  explicit LentWorld(const Case& input)
      : input_(input),
        stop_takes_(seconds(input.setup[1] % 30)),
        plain_(input.setup[2] % 2 == 0),
        world_(stop_takes_) {
    world_.on_step = [this](const Step& step) { read(step); };
  }

  void run() {
    set_up();
    for (const Command& command : input_.commands) {
      Digits digits(command.a);
      submit(digits);
      world_.wait_until(world_.now() + milliseconds(command.gap % 60'000));
    }
    world_.wait_until(world_.now() + bound());
  }

  Duration bound() const {
    const Duration step = core::kPreemptionStep;
    return protected_run_ + (plain_ ? step + step : step) + stop_takes_;
  }
  Duration longest() const { return longest_; }
  std::size_t stopped() const { return stopped_; }

 private:
  void set_up() {
    Digits digits(input_.setup[0]);
    const std::uint32_t gpus = 2 + digits.pick(9);
    protected_run_ = digits.pick<Duration>({seconds(60), Duration{0}, seconds(7)});
    core::PolicySpec policy;
    policy.protected_run = protected_run_;
    if (digits.one_in(2)) policy.packing = core::Packing::frag;
    world_.feed(core::SetPolicy{policy});
    world_.feed(core::PutQueue{QueueId{0}, {}});
    std::uint32_t left = gpus;
    for (std::uint32_t i = 0; i < 4; ++i) {
      const std::uint32_t own = digits.pick(left + 1);
      left -= own;
      guaranteed_.push_back(own);
      world_.feed(core::PutTenant{TenantId{i}, {.guaranteed_gpus = Milli{own * 1000}}});
    }
    world_.feed(core::PutNode{NodeId{0}, {RackId{0}, Milli{64'000}, Mib{100'000}}});
    world_.feed(core::PutNode{NodeId{1}, {RackId{0}, Milli{64'000}, Mib{100'000}}});
    for (std::uint32_t i = 0; i < gpus; ++i) {
      core::GpuSpec gpu;
      gpu.vram = Mib{20'000};
      gpu.node = NodeId{i % 2};
      world_.feed(core::PutGpu{GpuId{i}, gpu});
    }
  }

  void submit(Digits& digits) {
    core::TaskSpec spec;
    spec.tenant = TenantId{digits.pick(4)};
    spec.queue = QueueId{0};
    spec.gpus = digits.one_in(4) ? 2 : 1;
    spec.expected_run = seconds(20 + digits.pick(2000));
    if (!plain_ || spec.gpus > 1) spec.cpu = Milli{1};
    specs_[world_.engine().next_task_no()] = spec;
    world_.submit(spec);
  }

  void read(const Step& step) {
    for (const core::Action& action : step.actions) {
      if (const auto* accepted = std::get_if<core::TaskAccepted>(&action)) {
        pending_.insert(accepted->task);
      } else if (const auto* batch = std::get_if<core::BatchStarted>(&action)) {
        const TaskNo task = batch->tasks.front().task;
        pending_.erase(task);
        owed_since_.erase(task);
        if (!claims_.erase(task)) use_[specs_.at(task).tenant] += specs_.at(task).gpus;
        tasks_[batch->lease] = task;
      } else if (const auto* preempt = std::get_if<core::Preempt>(&action)) {
        claims_.insert(preempt->task);
        use_[specs_.at(preempt->task).tenant] += specs_.at(preempt->task).gpus;
      } else if (const auto* closed = std::get_if<core::LeaseClosed>(&action)) {
        const core::TaskSpec& spec = specs_.at(tasks_.at(closed->lease));
        use_[spec.tenant] -= spec.gpus;
      } else if (const auto* back = std::get_if<core::TaskDeferred>(&action)) {
        ++stopped_;
        pending_.insert(back->task);
      }
    }
    for (const TaskNo task : pending_) {
      if (specs_.at(task).gpus == 1) look_at(task);
    }
  }

  // For how long the tenant has been owed the start of this one.
  void look_at(TaskNo task) {
    const core::TaskSpec& spec = specs_.at(task);
    const std::uint32_t more = claims_.contains(task) ? 0 : spec.gpus;
    if (use_[spec.tenant] + more > guaranteed_[spec.tenant.value]) {
      owed_since_.erase(task);
      return;
    }
    const Time since = owed_since_.try_emplace(task, world_.now()).first->second;
    longest_ = std::max(longest_, world_.now() - since);
    if (world_.now() - since <= bound()) return;
    fail(world_.steps(), "task " + std::to_string(task.value) + " of tenant " +
                             std::to_string(spec.tenant.value) + " is owed its start for " +
                             std::to_string((world_.now() - since).ns) + " ns");
  }

  const Case& input_;
  Duration stop_takes_;
  bool plain_;  // single tasks ask for nothing but a GPU
  Duration protected_run_{0};
  ClosedWorld world_;
  std::vector<std::uint32_t> guaranteed_;
  std::map<TaskNo, core::TaskSpec> specs_;
  std::map<LeaseId, TaskNo> tasks_;
  std::map<TenantId, std::uint32_t> use_;  // with claims, and with what is being stopped
  std::set<TaskNo> claims_;
  std::set<TaskNo> pending_;
  std::map<TaskNo, Time> owed_since_;
  Duration longest_{0};
  std::size_t stopped_ = 0;
};

TEST(Guarantees, WhatWasLentComesBackWithinABound) {
  double closest = 0;
  std::size_t stopped = 0;
  for_cases({.cases = 150, .commands = 60}, [&](const Case& input) {
    LentWorld world(input);
    world.run();
    stopped += world.stopped();
    closest = std::max(
        closest, static_cast<double>(world.longest().ns) / static_cast<double>(world.bound().ns));
  });
  std::printf("%zu tasks were stopped; the longest wait was %.3f of its bound\n", stopped, closest);
  EXPECT_GT(stopped, 50u);
}

}  // namespace
}  // namespace berth::property
