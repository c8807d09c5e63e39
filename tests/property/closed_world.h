// A closed world around an engine: work runs exactly as long as it was expected to, agents obey and
// load models after fixed times, and nothing else happens than what the test submits.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "core/engine.h"
#include "tests/property/world.h"

namespace berth::property {

class ClosedWorld {
 public:
  explicit ClosedWorld(Duration stop_takes = Duration{0}, Duration load_takes = Duration{0})
      : stop_takes_(stop_takes), load_takes_(load_takes) {}

  // Called after every step, with all invariants checked.
  std::function<void(const Step&)> on_step = [](const Step&) {};

  void feed(core::EventBody body) {
    steps_.push_back({{now_, std::move(body)}, 0, {}});
    const std::size_t at = steps_.size() - 1;
    steps_[at].from_timers = engine_.step(steps_[at].event, steps_[at].actions);
    for (const core::Action& action : steps_[at].actions)
      listen(action);
    const auto findings = engine_.check_invariants();
    if (!findings.empty()) fail(steps_, findings.front());
    on_step(steps_[at]);
  }

  TaskNo submit(const core::TaskSpec& spec) {
    const TaskNo task = engine_.next_task_no();
    feed(core::Submit{task, spec});
    return task;
  }

  // The next report or timer, whichever comes first, if it comes until then.
  bool next(Time until) {
    const Time report_at = reports_.empty() ? Time::never() : reports_.top().at;
    const Time due = std::min(report_at, engine_.next_wakeup());
    if (due == Time::never() || due > until) return false;
    now_ = std::max(now_, due);
    if (engine_.next_wakeup() < report_at) {
      feed(core::Tick{});
      return true;
    }
    const Report report = reports_.top();
    reports_.pop();
    feed(report.body);
    return true;
  }
  // Every report and timer until then.
  void wait_until(Time at) {
    while (next(at)) {
    }
    now_ = std::max(now_, at);
  }

  core::Engine& engine() { return engine_; }
  Time now() const { return now_; }
  const std::vector<Step>& steps() const { return steps_; }

 private:
  struct Report {
    Time at;
    std::uint64_t order = 0;
    core::EventBody body;
    bool operator<(const Report& other) const {
      return std::tie(other.at, other.order) < std::tie(at, order);
    }
  };

  void listen(const core::Action& action) {
    if (const auto* batch = std::get_if<core::BatchStarted>(&action)) {
      reports_.push({now_ + batch->expected, ++order_, core::LeaseEnded{batch->lease, {}}});
    } else if (const auto* stop = std::get_if<core::StopTask>(&action)) {
      reports_.push({now_ + stop_takes_, ++order_, core::LeaseEnded{stop->lease, {}}});
    } else if (const auto* load = std::get_if<core::LoadModel>(&action)) {
      reports_.push({now_ + load_takes_, ++order_,
                     core::ModelLoaded{load->gpu, load->model, true, load_takes_, load->load}});
    }
  }

  Duration stop_takes_;
  Duration load_takes_;
  core::Engine engine_;
  Time now_{0};
  std::uint64_t order_ = 0;
  std::priority_queue<Report> reports_;
  std::vector<Step> steps_;
};

}  // namespace berth::property
