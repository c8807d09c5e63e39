// See simulation.h.
#include "sim/simulation.h"

#include <algorithm>
#include <utility>

#include "core/state/state.h"
#include "learn/self_play.h"

namespace berth::sim {
namespace {

constexpr std::uint64_t kEventsPerProgress = 4096;
// Timers and failing GPUs alone do not keep a run going for ever.
constexpr std::uint64_t kMostQuietEvents = 10'000;
constexpr Duration kDay = seconds(86'400);

}  // namespace

Simulation::Simulation(const Scenario& scenario, std::uint64_t seed)
    : scenario_(scenario),
      workload_(scenario, seed),
      agents_(scenario, seed,
              [this](Time at, const PlannedReport& report) {
                plan(std::max(at, now_.now), Rank::report, Item{.report = report});
              }),
      trainer_([this](const auto& nodes, const auto& mix) {
        const Milli threshold = scenario_.policy.gpu_load_threshold;
        return learn::train_value_table(nodes, mix, {.gpu_load_threshold = threshold});
      }) {}

void Simulation::run() {
  configure();
  while (broken_.empty() && step()) {
    if (progress_ && now_.events % kEventsPerProgress == 0) progress_(now_);
  }
}

void Simulation::configure() {
  const Time start{0};
  feed(start, core::SetPolicy{scenario_.policy});
  for (std::uint32_t i = 0; i < scenario_.tenants.size(); ++i) {
    feed(start, core::PutTenant{TenantId{i}, scenario_.tenants.specs[i]});
  }
  for (std::uint32_t i = 0; i < scenario_.models.size(); ++i) {
    feed(start, core::PutModel{ModelId{i}, scenario_.models.specs[i].spec});
  }
  for (std::uint32_t i = 0; i < scenario_.queues.size(); ++i) {
    feed(start, core::PutQueue{QueueId{i}, scenario_.queues.specs[i].spec});
  }
  for (std::uint32_t i = 0; i < scenario_.node_specs.size(); ++i) {
    feed(start, core::PutNode{NodeId{i}, scenario_.node_specs[i]});
  }
  for (std::uint32_t i = 0; i < scenario_.gpus.size(); ++i) {
    feed(start, core::PutGpu{GpuId{i}, scenario_.gpus.specs[i].spec});
  }
  for (std::uint32_t i = 0; i < scenario_.gpus.size(); ++i) {
    for (const ModelId model : scenario_.gpus.specs[i].resident) {
      feed(start, core::ModelLoaded{GpuId{i}, model, true, Duration{0}, LoadId::none()});
    }
  }
  if (scenario_.packing.table == TableSource::trained) teach(start, given_mix(scenario_));
  agents_.plan_failures();
  commands_left_ = scenario_.commands.size();
  for (std::size_t i = 0; i < scenario_.commands.size(); ++i) {
    plan(scenario_.commands[i].at, Rank::command, Item{.command = i});
  }
  const bool daily = std::ranges::any_of(scenario_.tenants.specs, [](const auto& tenant) {
    return tenant.daily_token_limit.has_value();
  });
  if (daily) plan(start + kDay, Rank::report, Item{.day_boundary = true});
}

Simulation::Weight Simulation::weight_of(const Item& item) {
  if (item.command != kNoCommand) return Weight::work;
  if (item.day_boundary || item.report.kind == PlannedReport::Kind::gpu_failed) return Weight::none;
  if (item.report.kind == PlannedReport::Kind::gpu_repaired) return Weight::repair;
  return Weight::work;
}

void Simulation::plan(Time at, Rank rank, const Item& item) {
  if (at == Time::never()) return;
  ++count_of(weight_of(item));
  heap_.add(at, static_cast<std::uint32_t>(rank), item);
}

bool Simulation::is_over(Time next, Time wakeup) const {
  if (scenario_.stop_at && std::min(next, wakeup) > *scenario_.stop_at) return true;
  if (workload_.next_at() != Time::never()) return false;
  if (now_.live == 0 && commands_left_ == 0) return true;
  // Tasks are left. Can anything still happen to them?
  if (count_of(Weight::work) > 0) return false;
  if (quiet_events_ > kMostQuietEvents) return true;
  return count_of(Weight::repair) == 0 && wakeup == Time::never();
}

bool Simulation::step() {
  // 1 what is next?   2 is anything left to happen?
  const Time arrival = workload_.next_at();
  const Time planned = heap_.empty() ? Time::never() : heap_.top().at;
  const Time next = std::min(arrival, planned);
  const Time wakeup = engine_.next_wakeup();
  if (is_over(next, wakeup)) return false;

  // 3 the engine's own timers, when they come first; at the same instant it sees to them itself
  if (wakeup < next) {
    feed(std::max(wakeup, now_.now), core::Tick{});
    return true;
  }
  // 4 reports, then arrivals, then commands
  const bool report_first =
      planned == next && heap_.top().rank == static_cast<std::uint32_t>(Rank::report);
  if (arrival == next && !report_first) {
    submit_next();
  } else {
    handle_next_in_heap();
  }
  return true;
}

void Simulation::submit_next() {
  const TaskNo first = engine_.next_task_no();
  Arrival arrival = workload_.take(first);
  const auto note = [&](std::size_t i, const core::TaskSpec& spec) {
    agents_.on_task_submitted(TaskNo{first.value + i},
                              arrival.actual_runs[i].value_or(spec.expected_run));
    ++now_.submitted;
  };
  if (const auto* submit = std::get_if<core::Submit>(&arrival.event.body); submit != nullptr) {
    note(0, submit->spec);
  } else {
    const auto& tasks = std::get<core::SubmitWorkflow>(arrival.event.body).tasks;
    for (std::size_t i = 0; i < tasks.size(); ++i)
      note(i, tasks[i]);
  }
  const Time at = arrival.event.now;
  feed(at, std::move(arrival.event.body));
  if (scenario_.packing.table == TableSource::online) teach_if_due();
  if (scenario_.flush_at_end && workload_.next_at() == Time::never()) feed(at, core::Flush{});
}

void Simulation::teach(Time at, const core::TypicalMix& mix) {
  std::optional<core::PutTable> table = lesson(empty_nodes(scenario_), mix, lessons_ + 1, trainer_);
  if (!table) return;
  ++lessons_;
  feed(at, std::move(*table));
}

void Simulation::teach_if_due() {
  const core::PackingKnowledge& known = engine_.state().packing;
  if (known.arrivals == taught_after_ || !is_lesson_due(known.arrivals)) return;
  taught_after_ = known.arrivals;
  teach(now_.now, core::typical(known.mix));
}

void Simulation::handle_next_in_heap() {
  const auto planned = heap_.pop();
  const Item& item = planned.item;
  --count_of(weight_of(item));
  now_.now = std::max(now_.now, planned.at);
  if (item.command != kNoCommand) {
    --commands_left_;
    return carry_out(scenario_.commands[item.command]);
  }
  if (item.day_boundary) {
    plan(planned.at + kDay, Rank::report, item);
    return feed(planned.at, core::DayBoundary{});
  }
  std::optional<core::EventBody> body = agents_.due(planned.at, item.report);
  if (body) feed(planned.at, std::move(*body));
}

void Simulation::carry_out(const Command& command) {
  const std::uint32_t target = command.target;
  const Time at = command.at;
  switch (command.verb) {
    case Verb::flush:
      return feed(at, core::Flush{QueueId{target}});
    case Verb::flush_all:
      return feed(at, core::Flush{});
    case Verb::pause_queue:
      return feed(at, core::PauseQueue{QueueId{target}, true});
    case Verb::resume_queue:
      return feed(at, core::PauseQueue{QueueId{target}, false});
    case Verb::pause_tenant:
      return feed(at, core::PauseTenant{TenantId{target}, true});
    case Verb::resume_tenant:
      return feed(at, core::PauseTenant{TenantId{target}, false});
    case Verb::drain_gpu:
      return feed(at, core::DrainGpu{GpuId{target}, true});
    case Verb::undrain_gpu:
      return feed(at, core::DrainGpu{GpuId{target}, false});
    case Verb::drain_queue:
      return feed(at, core::DrainQueue{QueueId{target}, true});
    case Verb::undrain_queue:
      return feed(at, core::DrainQueue{QueueId{target}, false});
    case Verb::lose_gpu:
      agents_.lose_gpu(GpuId{target});
      return feed(at, core::GpuLost{GpuId{target}});
    case Verb::return_gpu:
      agents_.return_gpu(at, GpuId{target});
      return feed(at, core::GpuReturned{GpuId{target}});
    case Verb::lose_node:
      agents_.lose_node(NodeId{target});
      return feed(at, core::NodeLost{NodeId{target}});
    case Verb::return_node:
      agents_.return_node(at, NodeId{target});
      return feed(at, core::NodeReturned{NodeId{target}});
    case Verb::signal:
      return feed(at, core::ResolveSignal{SignalId{target}});
    case Verb::cancel:
      return feed(at, core::Cancel{workload_.number_of(target)});
    case Verb::cancel_group:
      return feed(at, core::CancelGroup{GroupId{target}});
    case Verb::hold:
      return feed(at, core::Hold{workload_.number_of(target)});
    case Verb::release:
      return feed(at, core::Release{workload_.number_of(target)});
  }
}

void Simulation::feed(Time at, core::EventBody body) {
  now_.now = at;
  ++now_.events;
  const core::Event event{at, std::move(body)};
  actions_.clear();
  for (Observer* observer : observers_)
    observer->before_step(event);
  const std::size_t from_timers = engine_.step(event, actions_);
  for (Observer* observer : observers_)
    observer->after_step(event);

  // What timers decided comes before the event, each at its own instant.
  Time instant = at;
  for (std::size_t i = 0; i < from_timers; ++i) {
    if (const auto* mark = std::get_if<core::Instant>(&actions_[i]); mark != nullptr) {
      instant = mark->at;
    }
    note_action(instant, actions_[i]);
  }
  for (Observer* observer : observers_)
    observer->on_event(event);
  for (std::size_t i = from_timers; i < actions_.size(); ++i)
    note_action(at, actions_[i]);

  quiet_events_ = actions_.empty() ? quiet_events_ + 1 : 0;
  if (checks_) broken_ = engine_.check_invariants();
}

void Simulation::note_action(Time at, const core::Action& action) {
  if (std::holds_alternative<core::TaskAccepted>(action)) ++now_.live;
  if (std::holds_alternative<core::TaskFinished>(action)) --now_.live;
  agents_.on_action(at, action);
  for (Observer* observer : observers_)
    observer->on_action(at, action);
}

}  // namespace berth::sim
