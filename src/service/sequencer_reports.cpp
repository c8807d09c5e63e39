// Reports: what agents say becomes events; a new session is reconciled with what the engine knows.
//
// A lease that the agent does not know was lost with the agent, unless it was granted in this
// process and still waits to be sent. Results stand as notes before the event that uses them.
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

constexpr std::uint32_t kProtocol = 1;

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
    default:
      return core::Failure::error;
  }
}

core::TaskOutcome outcome_of(const v1::TaskOutcome& outcome) {
  return {TaskNo{outcome.task_no()}, outcome.result().completed(), failure_of(outcome.result())};
}

constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr std::int64_t kNotableLoad = 50;  // thousandths

// Within a day, whatever the agent says: load times are added up.
Duration took(const v1::ModelLoaded& loaded) {
  constexpr std::int64_t kDayUs = 24LL * 60 * 60 * 1'000'000;
  return microseconds(std::clamp<std::int64_t>(loaded.took_us(), 0, kDayUs));
}

core::GpuSpec spec_of(const v1::Gpu& gpu) {
  core::GpuSpec spec;
  spec.vram = Mib{gpu.vram_mb()};
  spec.speed = Milli{gpu.speed_milli() == 0 ? 1000 : gpu.speed_milli()};
  return spec;
}

// What is wrong with a hello; "": nothing. The core asserts what it is told of GPUs, and the
// journal keeps it: no agent may get past this with anything else.
std::string flaw_in_hello(const Names& names, const v1::Hello& hello) {
  if (hello.protocol_low() > kProtocol || hello.protocol_high() < kProtocol) {
    return "this server speaks version " + std::to_string(kProtocol) +
           " of the agents' protocol, the agent " + std::to_string(hello.protocol_low()) + " to " +
           std::to_string(hello.protocol_high()) + "; upgrade the older of the two";
  }
  for (const v1::Gpu& gpu : hello.gpus()) {
    if (const char* expected = core::flaw_in(spec_of(gpu))) {
      return "the agent names GPU \"" + gpu.uuid() + "\" with " + std::to_string(gpu.vram_mb()) +
             " MiB and a speed of " + std::to_string(gpu.speed_milli()) + "/1000; expected " +
             expected;
    }
  }
  std::set<std::string> new_kinds;
  for (const v1::Gpu& gpu : hello.gpus()) {
    if (!names.gpu(gpu.uuid()) && !names.kind(gpu.kind())) new_kinds.insert(gpu.kind());
  }
  const std::size_t kinds = names.next_kind().value + new_kinds.size();
  if (kinds > core::kMaxKinds) {
    return "with this agent the cluster would have " + std::to_string(kinds) +
           " kinds of GPU; at most " + std::to_string(core::kMaxKinds) + " are told apart";
  }
  if (names.next_node().value >= core::kNodesMax) {
    return "the cluster has as many nodes as a server can know, " + std::to_string(core::kNodesMax);
  }
  return "";
}

}  // namespace

void Sequencer::send(std::uint64_t session, v1::ServerMessage&& message) {
  const auto known = sessions_.find(session);
  const std::string node = known == sessions_.end() ? "" : known->second.node;
  group_->items.push_back({ToAgentMessage{session, node, std::move(message)}, 0, 0});
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

// ---- A session begins
// ----------------------------------------------------------------------------

void Sequencer::greet(std::uint64_t session, const v1::Hello& hello, Time now) {
  v1::ServerMessage answer;
  v1::Welcome& welcome = *answer.mutable_welcome();
  if (std::string flaw = flaw_in_hello(names_, hello); !flaw.empty()) {
    welcome.set_refused(std::move(flaw));
    return send(session, std::move(answer));
  }
  welcome.set_protocol(kProtocol);
  welcome.set_epoch(epoch_);
  welcome.set_ttl_ms(options_.agent_ttl.ns / kNsPerMs);
  welcome.set_margin_ms(options_.agent_margin.ns / kNsPerMs);
  sessions_[session] = {hello.node(), hello.incarnation(), 0};
  put_gpus(hello, now);
  const NodeId node = names_.node(hello.node());
  std::vector<v1::ServerMessage> stops;
  if (node) {
    stops = reconcile_leases(hello, node, now, welcome);
    reconcile_models(hello, node, now);
  }
  greeted_.insert(hello.node());
  send(session, std::move(answer));
  for (v1::ServerMessage& stop : stops)
    send(session, std::move(stop));
}

void Sequencer::put_gpus(const v1::Hello& hello, Time now) {
  std::set<GpuId> present;
  for (const v1::Gpu& gpu : hello.gpus()) {
    GpuId id = names_.gpu(gpu.uuid());
    const bool fresh = !id;
    if (fresh) {
      id.value = static_cast<std::uint32_t>(names_.gpus().size());
      note(GpuNamed{id, gpu.uuid(), gpu.name(), gpu.kind(), hello.node(), gpu.simulated()});
    }
    present.insert(id);
    const GpuEntry& entry = names_.gpus()[id.value];
    core::GpuSpec spec = spec_of(gpu);
    spec.node = names_.node(entry.node);
    spec.kind = names_.kind(entry.kind);
    if (fresh || entry.spec != spec) step(core::PutGpu{id, spec}, now);
    if (names_.gpus()[id.value].lost) step(core::GpuReturned{id}, now);
  }
  for (std::uint32_t i = 0; i < names_.gpus().size(); ++i) {
    const GpuEntry& entry = names_.gpus()[i];
    if (entry.node == hello.node() && !present.contains(GpuId{i}) && !entry.lost) {
      step(core::GpuLost{GpuId{i}}, now);
    }
  }
}

// Returns the stops that the agent may have missed: of tasks that run there and have ended here.
std::vector<v1::ServerMessage> Sequencer::reconcile_leases(const v1::Hello& hello, NodeId node,
                                                           Time now, v1::Welcome& welcome) {
  std::map<LeaseId, const v1::HeldLease*> held;
  for (const v1::HeldLease& lease : hello.leases())
    held[LeaseId{lease.lease()}] = &lease;

  const core::State& state = engine_.state();
  std::vector<core::LeaseEnded> lost;
  std::vector<core::TaskEnded> never_started;
  std::vector<v1::ServerMessage> stops;
  for (const core::Lease& lease : state.leases) {
    if (!lease.id || lease.gpus.empty()) continue;
    if (state.gpu(lease.gpus.front()).spec.node != node) continue;
    const auto known = held.find(lease.id);
    if (known != held.end()) {
      welcome.add_adopt(lease.id.value);
      for (const std::uint64_t task : known->second->not_started()) {
        never_started.push_back({lease.id, {TaskNo{task}, false, core::Failure::infrastructure}});
      }
      for (const std::uint64_t task : known->second->running()) {
        const auto is_live = [&](const core::LeaseTask& t) {
          return t.task.value == task && t.live;
        };
        if (std::ranges::any_of(lease.tasks, is_live)) continue;
        v1::StopTask& stop = *stops.emplace_back().mutable_stop();
        stop.set_lease(lease.id.value);
        stop.set_task_no(task);
      }
      held.erase(known);
    } else if (!unsent_leases_.contains(lease.id)) {
      core::LeaseEnded ended{lease.id, {}};
      for (const core::LeaseTask& task : lease.tasks) {
        if (task.live) ended.outcomes.push_back({task.task, false, core::Failure::infrastructure});
      }
      lost.push_back(std::move(ended));
    }
  }
  for (const auto& [lease, what] : held)
    welcome.add_kill(lease.value);
  for (const core::TaskEnded& ended : never_started)
    step(ended, now);
  for (core::LeaseEnded& ended : lost)
    step(std::move(ended), now);
  unsent_leases_.clear();
  return stops;
}

// What the agent does not hold has left the GPU; a load that was under way has failed.
void Sequencer::reconcile_models(const v1::Hello& hello, NodeId node, Time now) {
  std::set<std::pair<GpuId, std::uint64_t>> resident;
  for (const v1::ResidentModel& model : hello.models())
    resident.emplace(names_.gpu(model.gpu()), model.load());

  std::vector<core::EventBody> gone;
  const core::State& state = engine_.state();
  for (std::uint32_t i = 0; i < state.gpus.size(); ++i) {
    const GpuId id{i};
    if (state.gpu(id).spec.node != node) continue;
    for (const core::Residence& at : state.gpu(id).residences) {
      if (resident.contains({id, at.load.value}) || unsent_loads_.contains(at.load)) continue;
      if (at.loading) {
        gone.emplace_back(core::ModelLoaded{id, at.model, false, Duration{0}, at.load});
      } else {
        gone.emplace_back(core::ModelUnloaded{id, at.model, at.load});
      }
    }
  }
  for (core::EventBody& event : gone)
    step(std::move(event), now);
  unsent_loads_.clear();
}

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
