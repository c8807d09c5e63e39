// See driver.h.
#include "tests/scenarios/driver.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "core/engine.h"
#include "core/state/state.h"
#include "tests/scenarios/printer.h"

namespace berth::scenario {
namespace {

using core::Action;
using core::EventBody;

constexpr int kStepsAtMost = 20'000;

// What runs where, and what will be reported when.
class Agents {
 public:
  explicit Agents(const Script& script) : script_(script) {}

  void see(Time now, const Action& action) {
    if (const auto* batch = std::get_if<core::BatchStarted>(&action)) {
      start(now, *batch);
    } else if (const auto* load = std::get_if<core::LoadModel>(&action)) {
      const auto plan = script_.model_plans.find(load->model);
      const Duration takes = plan->second.takes.value_or(load->expected);
      loads_[load->load] = {load->gpu, load->model, now, now + takes};
    } else if (const auto* evict = std::get_if<core::EvictModel>(&action)) {
      at_once_.emplace_back(core::ModelUnloaded{evict->gpu, evict->model, evict->load});
    } else if (const auto* stop = std::get_if<core::StopTask>(&action)) {
      leave(now, stop->lease, stop->task);
    } else if (const auto* closed = std::get_if<core::LeaseClosed>(&action)) {
      leases_.erase(closed->lease);
    }
  }

  void see(const EventBody& event) {
    if (const auto* lost = std::get_if<core::GpuLost>(&event)) {
      std::erase_if(loads_, [&](const auto& load) { return load.second.gpu == lost->gpu; });
    }
  }

  Time next() const {
    if (!at_once_.empty()) return Time{0};
    Time next = Time::never();
    for (const auto& [id, lease] : leases_)
      next = std::min(next, lease.ends);
    for (const auto& [id, load] : loads_)
      next = std::min(next, load.ends);
    return next;
  }

  // The report that is due first. REQUIRES next() != never.
  EventBody report() {
    if (!at_once_.empty()) {
      EventBody body = std::move(at_once_.front());
      at_once_.pop_front();
      return body;
    }
    const Time due = next();
    for (const auto& [id, load] : loads_) {
      if (load.ends != due) continue;
      const bool is_ok =
          ++loads_seen_[load.model] > script_.model_plans.at(load.model).failing_loads;
      const core::ModelLoaded loaded{load.gpu, load.model, is_ok, load.ends - load.began, id};
      loads_.erase(id);
      return loaded;
    }
    const auto lease = std::find_if(leases_.begin(), leases_.end(),
                                    [&](const auto& entry) { return entry.second.ends == due; });
    core::LeaseEnded ended{lease->first, {}};
    for (const auto& [task, attempt] : lease->second.tasks) {
      const TaskPlan& plan = script_.task_plans.at(task);
      const bool completed = attempt > plan.failing_attempts;
      ended.outcomes.push_back({task, completed, plan.failure});
    }
    leases_.erase(lease);
    return ended;
  }

  // The lease that runs the task, which leaves it; none: it does not run.
  LeaseId end(Time now, TaskNo task) {
    for (const auto& [id, lease] : leases_) {
      if (!lease.tasks.contains(task)) continue;
      const LeaseId found = id;
      leave(now, found, task);
      return found;
    }
    return LeaseId::none();
  }

 private:
  struct Running {
    std::map<TaskNo, std::uint32_t> tasks;  // and the attempt of each
    Time ends;
  };
  struct Load {
    GpuId gpu;
    ModelId model;
    Time began;
    Time ends;
  };

  void start(Time now, const core::BatchStarted& batch) {
    Running running;
    Duration takes{-1};
    for (const core::StartedTask& task : batch.tasks) {
      running.tasks[task.task] = task.attempt;
      const TaskPlan& plan = script_.task_plans.at(task.task);
      if (plan.takes) takes = std::max(takes, *plan.takes);
    }
    running.ends = now + (takes.ns >= 0 ? takes : batch.expected);
    leases_[batch.lease] = running;
    at_once_.emplace_back(core::LeaseStarted{batch.lease});
  }

  // A lease whose last task is gone is reported ended, once that has stopped.
  void leave(Time now, LeaseId id, TaskNo task) {
    const auto lease = leases_.find(id);
    if (lease == leases_.end()) return;
    lease->second.tasks.erase(task);
    if (!lease->second.tasks.empty()) return;
    const Duration stops = script_.task_plans.at(task).stops;
    if (stops.ns > 0) {
      lease->second.ends = now + stops;
      return;
    }
    leases_.erase(lease);
    at_once_.emplace_back(core::LeaseEnded{id, {}});
  }

  const Script& script_;
  std::map<LeaseId, Running> leases_;
  std::map<LoadId, Load> loads_;
  std::map<ModelId, std::uint32_t> loads_seen_;
  std::deque<EventBody> at_once_;
};

class Player {
 public:
  explicit Player(const Script& script)
      : script_(script), agents_(script), log_(script.names, script.shows_charges) {}

  Played play() {
    bool is_stopped = false;
    for (const Statement& statement : script_.statements) {
      advance_to(statement.at);
      is_stopped = std::holds_alternative<Stop>(statement.deed);
      if (is_stopped) break;
      std::visit([this](const auto& deed) { carry_out(deed); }, statement.deed);
      settle();
    }
    if (!is_stopped) advance_to(Time::never());
    for (std::uint64_t i = 0; i < script_.names.tasks.size(); ++i) {
      const auto left = engine_.explain(TaskNo{i});
      if (left) log_.add_left(TaskNo{i}, left->state);
    }
    return {log_.lines(), std::move(faults_)};
  }

 private:
  // Timers and reports up to and including an instant.
  void advance_to(Time until) {
    while (faults_.empty()) {
      const Time wakes = engine_.next_wakeup();
      const Time next = std::min(wakes, agents_.next());
      if (next == Time::never() || next > until) break;
      now_ = std::max(now_, next);
      if (wakes <= now_) {
        step(core::Tick{});
      } else {
        step(agents_.report());
      }
    }
    if (until != Time::never()) now_ = until;
  }

  // Reports that are sent at once, and work that a count limit has left.
  void settle() {
    while (faults_.empty() && (agents_.next() <= now_ || engine_.next_wakeup() <= now_))
      advance_to(now_);
  }

  void step(const EventBody& body) {
    core::Actions actions;
    const std::size_t from_timers = engine_.step({now_, body}, actions);
    agents_.see(body);
    Time at = now_;
    for (std::size_t i = 0; i < actions.size(); ++i) {
      if (i == from_timers) at = now_;
      if (const auto* instant = std::get_if<core::Instant>(&actions[i])) at = instant->at;
      log_.add(at, actions[i]);
      agents_.see(at, actions[i]);
    }
    for (const std::string& broken : engine_.check_invariants())
      faults_.push_back("at " + text_of(now_) + ": " + broken);
    if (++steps_ == kStepsAtMost) {
      faults_.push_back("still busy after " + std::to_string(steps_) + " steps, at " +
                        text_of(now_) + ": a line `TIME stop` ends a scenario");
    }
  }

  void carry_out(const EventBody& body) { step(body); }

  void carry_out(const Explain& ask) {
    const auto explanation = engine_.explain(ask.task);
    if (explanation) {
      log_.add(now_, ask.task, *explanation);
    } else {
      log_.add_line(now_, "explain " + script_.names.tasks.at(ask.task.value) + ": not live");
    }
  }

  void carry_out(const ShowTenant& ask) {
    const core::Tenant& tenant = engine_.state().tenant(ask.tenant);
    log_.add_line(now_, "tenant " + script_.names.tenants.at(ask.tenant.value) + " charged " +
                            text_of(microseconds(tenant.ledger.net_us())) + ", V " +
                            text_of(microseconds(tenant.v_us)) + ", credit " +
                            text_of(microseconds(tenant.credit_us)));
  }

  void carry_out(const ShowGroup& ask) {
    std::string line = "group " + script_.names.groups.at(ask.group.value) + ":";
    for (const TaskNo task : engine_.tasks_in_group(ask.group))
      line += " " + script_.names.tasks.at(task.value);
    log_.add_line(now_, line);
  }

  void carry_out(const EndTask& end) {
    const LeaseId lease = agents_.end(now_, end.outcome.task);
    if (lease) return step(core::TaskEnded{lease, end.outcome});
    faults_.push_back("at " + text_of(now_) + ": task " +
                      script_.names.tasks.at(end.outcome.task.value) + " does not run");
  }

  void carry_out(const Stop&) {}

  const Script& script_;
  core::Engine engine_;
  Agents agents_;
  Log log_;
  Time now_{0};
  int steps_ = 0;
  std::vector<std::string> faults_;
};

}  // namespace

Played play(const Script& script) { return Player(script).play(); }

}  // namespace berth::scenario
