// Reports: what agents say becomes events. How a session begins is in sequencer_hello.cpp. Results
// stand as notes before the event that uses them.
#include <algorithm>
#include <cstdlib>
#include <set>
#include <utility>

#include "base/assert.h"
#include "core/model/ranges.h"
#include "core/state/state.h"
#include "service/sequencer.h"

namespace berth::service {
namespace {

core::Failure failure_of(const v1::TaskResult& result) {
  switch (result.failure()) {
    case v1::OUT_OF_MEMORY:
      return core::Failure::out_of_memory;
    case v1::TIMEOUT:
      return core::Failure::timeout;
    case v1::CRASH:
      return core::Failure::crash;
    case v1::INFRASTRUCTURE:
      return core::Failure::infrastructure;
    case v1::DEADLINE:
      return core::Failure::deadline;
    default:
      return core::Failure::error;
  }
}

core::TaskOutcome outcome_of(const v1::TaskOutcome& outcome) {
  return {TaskNo{outcome.task_no()}, outcome.result().completed(), failure_of(outcome.result())};
}

constexpr std::int64_t kNotableLoad = 50;                           // thousandths
constexpr std::int64_t kMsMax = 100LL * 365 * 24 * 60 * 60 * 1000;  // whatever the agent says

// Within a day, whatever the agent says: load times are added up.
Duration took(const v1::ModelLoaded& loaded) {
  constexpr std::int64_t kDayUs = 24LL * 60 * 60 * 1'000'000;
  return microseconds(std::clamp<std::int64_t>(loaded.took_us(), 0, kDayUs));
}

}  // namespace

void Sequencer::send(std::uint64_t session, v1::ServerMessage&& message) {
  const auto known = sessions_.find(session);
  const std::string agent = known == sessions_.end() ? "" : known->second.agent;
  group_->items.push_back({ToAgentMessage{session, agent, std::move(message)}, 0, 0});
}

void Sequencer::take(std::uint64_t session, v1::AgentMessage&& message, Time now) {
  if (message.has_hello()) {
    greet(session, message.hello(), now);
  } else if (message.has_report() && sessions_.contains(session)) {
    take_report(session, *message.mutable_report(), now);
  } else if (message.has_heartbeat() && sessions_.contains(session)) {
    take_readings(message.heartbeat(), now);
  }
}

void Sequencer::end_session(std::uint64_t session) { sessions_.erase(session); }

// ---- Readings
// ------------------------------------------------------------------------------------

// The load of a GPU decides which batches may join others on it. Only what changes that is worth an
// event. What is not known counts as nothing: then what was promised counts alone, as it does on
// simulated GPUs, whose readings say the same again, later.
void Sequencer::take_readings(const v1::Heartbeat& heartbeat, Time now) {
  for (const v1::GpuReading& reading : heartbeat.readings()) {
    const GpuId gpu = names_.gpu(reading.gpu());
    const core::State& state = engine_.state();
    if (!gpu || !state.has(gpu) || names_.gpus()[gpu.value].simulated) continue;
    const Milli load{std::clamp<std::int64_t>(reading.utilisation_percent(), 0, 100) * 10};
    const Milli last = state.gpu(gpu).reported;
    const Milli threshold = state.policy.gpu_load_threshold;
    const bool crosses = (last < threshold) != (load < threshold);
    const bool differs = std::abs(load.value - last.value) >= kNotableLoad;
    if (crosses || differs) step(core::GpuUtilisation{gpu, load}, now);
  }
}

// ---- Reports
// -------------------------------------------------------------------------------------

void Sequencer::take_report(std::uint64_t session, v1::Report& report, Time now) {
  Session& from = sessions_[session];
  const bool old = report.incarnation() != from.incarnation || report.seq() <= from.last_report;
  if (!old) {
    from.last_report = report.seq();
    apply_report(report, now);
  }
  v1::ServerMessage answer;
  answer.mutable_acknowledge()->set_seq(from.last_report);
  // One acknowledgement per group is enough.
  if (!group_->items.empty()) {
    auto* last = std::get_if<ToAgentMessage>(&group_->items.back().what);
    if (last != nullptr && last->session == session && last->message.has_acknowledge()) {
      last->message = std::move(answer);
      return;
    }
  }
  send(session, std::move(answer));
}

void Sequencer::apply_report(v1::Report& report, Time now) {
  switch (report.body_case()) {
    case v1::Report::kLeaseStarted:
      return step(core::LeaseStarted{LeaseId{report.lease_started().lease()}}, now);
    case v1::Report::kTaskEnded: {
      v1::TaskEnded& ended = *report.mutable_task_ended();
      note_result(LeaseId{ended.lease()}, *ended.mutable_outcome());
      if (ended.ended_ago_ms() > 0) {
        const Duration ago = milliseconds(std::min(ended.ended_ago_ms(), kMsMax));
        note(AttemptEnded{TaskNo{ended.outcome().task_no()}, LeaseId{ended.lease()},
                          std::max(now_, now) - ago});
      }
      return step(core::TaskEnded{LeaseId{ended.lease()}, outcome_of(ended.outcome())}, now);
    }
    case v1::Report::kLeaseEnded: {
      v1::LeaseEnded& ended = *report.mutable_lease_ended();
      core::LeaseEnded event{LeaseId{ended.lease()}, {}};
      std::set<TaskNo> named;
      for (v1::TaskOutcome& outcome : *ended.mutable_outcomes()) {
        note_result(event.lease, outcome);
        named.insert(TaskNo{outcome.task_no()});
        if (!outcome.result().completed()) event.outcomes.push_back(outcome_of(outcome));
      }
      put_back_unnamed(event, named);
      const std::optional<Duration> ran = ran_of(ended, now);
      if (ran) return step(core::LeaseEndedAfter{std::move(event), *ran}, now);
      return step(std::move(event), now);
    }
    case v1::Report::kModelLoaded: {
      const v1::ModelLoaded& loaded = report.model_loaded();
      const GpuId gpu = names_.gpu(loaded.gpu());
      const ModelId model = names_.model(loaded.model());
      if (!gpu || !model) return;
      return step(core::ModelLoaded{gpu, model, loaded.ok(), took(loaded), LoadId{loaded.load()}},
                  now);
    }
    case v1::Report::kModelUnloaded: {
      const v1::ModelUnloaded& unloaded = report.model_unloaded();
      const GpuId gpu = names_.gpu(unloaded.gpu());
      const ModelId model = names_.model(unloaded.model());
      if (!gpu || !model) return;
      return step(core::ModelUnloaded{gpu, model, LoadId{unloaded.load()}}, now);
    }
    case v1::Report::kGpuLost:
      if (const GpuId gpu = names_.gpu(report.gpu_lost().gpu())) step(core::GpuLost{gpu}, now);
      return;
    case v1::Report::kGpuReturned:
      if (const GpuId gpu = names_.gpu(report.gpu_returned().gpu())) {
        step(core::GpuReturned{gpu}, now);
      }
      return;
    case v1::Report::BODY_NOT_SET:
      return;
  }
}

// Nothing: until now. Nobody pays for the time in which there was no server to hear of the end.
std::optional<Duration> Sequencer::ran_of(const v1::LeaseEnded& ended, Time now) const {
  if (ended.has_ran_ms()) return milliseconds(std::clamp<std::int64_t>(ended.ran_ms(), 0, kMsMax));
  if (ended.ended_ago_ms() <= 0) return std::nullopt;
  const core::State& state = engine_.state();
  const std::uint32_t slot = core::find_lease(state, LeaseId{ended.lease()});
  if (slot == core::kNoSlot) return std::nullopt;
  const Duration ago = milliseconds(std::min(ended.ended_ago_ms(), kMsMax));
  return std::max(std::max(now_, now) - state.leases[slot].started - ago, Duration{1});
}

// To the core, a task that is not named completed. An agent names all it knows; what it does not
// know it never started (it was killed while it took the lease in).
void Sequencer::put_back_unnamed(core::LeaseEnded& ended, const std::set<TaskNo>& named) const {
  const core::State& state = engine_.state();
  const std::uint32_t slot = core::find_lease(state, ended.lease);
  if (slot == core::kNoSlot) return;
  for (const core::LeaseTask& task : state.leases[slot].tasks) {
    if (!task.live || named.contains(task.task)) continue;
    ended.outcomes.push_back({task.task, false, core::Failure::infrastructure});
  }
}

void Sequencer::note_result(LeaseId lease, v1::TaskOutcome& outcome) {
  notes_.emplace_back(
      AttemptResult{TaskNo{outcome.task_no()}, lease, outcome.result().SerializeAsString()});
}

}  // namespace berth::service
