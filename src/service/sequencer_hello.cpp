// A session begins: what an agent says of its nodes and GPUs becomes events, and what it holds is
// reconciled with what the engine knows.
//
// A lease that the agent does not know was lost with the agent, unless it was granted in this
// process and still waits to be sent. One that never began, as an agent says that has lost nothing,
// is no loss: its tasks are put back as if they had not been promised. Nobody pays for either.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/assert.h"
#include "core/state/state.h"
#include "service/hello_check.h"
#include "service/sequencer.h"

namespace berth::service {
namespace {

constexpr std::int64_t kWelcomeNsPerMs = 1'000'000;

// Whose agent has the lease.
NodeId first_node(const core::State& state, const core::Lease& lease) {
  return lease.gpus.empty() ? lease.node : state.gpu(lease.gpus.front()).spec.node;
}

// Those that the agent has taken back, and those of which it never wrote anything down: it was
// killed while it took the lease in.
std::vector<TaskNo> unbegun_of(const core::Lease& lease, const v1::HeldLease& held,
                               bool knows_all) {
  std::vector<TaskNo> unbegun;
  std::set<std::uint64_t> named;
  for (const auto* list : {&held.not_started(), &held.running(), &held.ended()})
    named.insert(list->begin(), list->end());
  for (const std::uint64_t task : held.not_started())
    unbegun.push_back(TaskNo{task});
  for (const core::LeaseTask& task : lease.tasks) {
    if (knows_all && task.live && !named.contains(task.task.value)) unbegun.push_back(task.task);
  }
  return unbegun;
}

}  // namespace

void Sequencer::greet(std::uint64_t session, const v1::Hello& hello, Time now) {
  v1::ServerMessage answer;
  v1::Welcome& welcome = *answer.mutable_welcome();
  std::string flaw = flaw_in_hello(names_, hello);
  if (flaw.empty()) flaw = flaw_in_claims(hello);
  if (!flaw.empty()) {
    welcome.set_refused(std::move(flaw));
    return send(session, std::move(answer));
  }
  welcome.set_protocol(kAgentProtocol);
  welcome.set_epoch(epoch_);
  welcome.set_ttl_ms(options_.agent_ttl.ns / kWelcomeNsPerMs);
  welcome.set_margin_ms(options_.agent_margin.ns / kWelcomeNsPerMs);
  sessions_[session] = {hello.node(), hello.incarnation(), 0};
  put_nodes(hello, now);
  put_gpus(hello, now);
  std::set<NodeId> nodes;
  for (std::uint32_t i = 0; i < names_.nodes().size(); ++i) {
    if (names_.nodes()[i].agent == hello.node()) nodes.insert(NodeId{i});
  }
  std::vector<v1::ServerMessage> stops = reconcile_leases(hello, nodes, now, welcome);
  reconcile_models(hello, nodes, now);
  greeted_.insert(hello.node());
  send(session, std::move(answer));
  for (v1::ServerMessage& stop : stops)
    send(session, std::move(stop));
}

// Two agents that run cannot both speak for a node.
std::string Sequencer::flaw_in_claims(const v1::Hello& hello) const {
  for (const v1::Node& node : nodes_of(hello)) {
    const NodeId known = names_.node(node.name());
    if (!known) continue;
    const std::string& agent = names_.nodes()[known.value].agent;
    const auto is_its = [&](const auto& open) { return open.second.agent == agent; };
    if (agent == hello.node() || std::ranges::none_of(sessions_, is_its)) continue;
    return "the agent of \"" + agent + "\" already speaks for node \"" + node.name() +
           "\"; give the node another name, or stop that agent";
  }
  return "";
}

template <class Id>
Id Sequencer::part_named(PartNamed::Noun noun, Id known, Id next, const std::string& name) {
  if (known) return known;
  note(PartNamed{noun, next.value, name});
  return next;
}

WorkClassId Sequencer::work_class_named(const std::string& name, std::uint32_t taken) {
  const WorkClassId known = names_.work_class(name);
  const WorkClassId next = names_.next_work_class(taken);
  if (!known && !next) return WorkClassId::none();
  return part_named(PartNamed::Noun::work_class, known, next, name);
}

// REQUIRES that hello_check.h has counted its classes.
std::vector<core::ClassSpeed> Sequencer::class_speeds_of(const v1::Gpu& gpu) {
  std::vector<core::ClassSpeed> speeds;
  std::uint32_t taken = 0;
  for (const v1::ClassSpeed& its : gpu.speed_by_class()) {
    const WorkClassId work_class = work_class_named(its.work_class(), taken);
    ASSERT(work_class);
    taken |= 1U << work_class.value;
    speeds.push_back({work_class, Milli{its.speed_milli()}});
  }
  std::ranges::sort(speeds, {}, &core::ClassSpeed::work_class);
  return speeds;
}

// A node of this agent that is no longer named has nothing to give; what runs there ends first.
void Sequencer::put_nodes(const v1::Hello& hello, Time now) {
  std::set<NodeId> present;
  for (const v1::Node& node : nodes_of(hello)) {
    NodeId id = names_.node(node.name());
    core::NodeSpec spec = spec_of(node);
    spec.rack = part_named(PartNamed::Noun::rack, names_.rack(node.rack()), names_.next_rack(),
                           node.rack());
    const bool fresh = !id;
    if (fresh) id = names_.next_node();
    present.insert(id);
    const NodeNamed name{id, node.name(), hello.node(), node.address()};
    const bool renamed = fresh || names_.nodes()[id.value].agent != name.agent ||
                         names_.nodes()[id.value].address != name.address;
    if (renamed) note(name);
    if (fresh || names_.nodes()[id.value].spec != spec) step(core::PutNode{id, spec}, now);
    if (names_.nodes()[id.value].lost) step(core::NodeReturned{id}, now);
  }
  for (std::uint32_t i = 0; i < names_.nodes().size(); ++i) {
    const NodeEntry& entry = names_.nodes()[i];
    const core::NodeSpec nothing{.rack = entry.spec.rack};
    if (entry.agent != hello.node() || present.contains(NodeId{i})) continue;
    if (entry.spec != nothing) step(core::PutNode{NodeId{i}, nothing}, now);
  }
}

void Sequencer::put_gpus(const v1::Hello& hello, Time now) {
  std::set<GpuId> present;
  for (const v1::Gpu& gpu : hello.gpus()) {
    GpuId id = names_.gpu(gpu.uuid());
    const bool fresh = !id;
    if (fresh) id.value = static_cast<std::uint32_t>(names_.gpus().size());
    present.insert(id);
    core::GpuSpec spec = spec_of(gpu);
    spec.node = names_.node(node_of(hello, gpu));
    spec.kind =
        part_named(PartNamed::Noun::kind, names_.kind(gpu.kind()), names_.next_kind(), gpu.kind());
    if (!gpu.island().empty()) {
      spec.island = part_named(PartNamed::Noun::island, names_.island(gpu.island()),
                               names_.next_island(), gpu.island());
    }
    spec.class_speeds = class_speeds_of(gpu);
    const GpuNamed name{id,         gpu.uuid(),          gpu.name(),
                        gpu.kind(), node_of(hello, gpu), gpu.simulated()};
    if (fresh || name_of(id) != name) note(name);
    if (fresh || names_.gpus()[id.value].spec != spec) step(core::PutGpu{id, spec}, now);
    if (names_.gpus()[id.value].lost) step(core::GpuReturned{id}, now);
  }
  for (std::uint32_t i = 0; i < names_.gpus().size(); ++i) {
    const GpuEntry& entry = names_.gpus()[i];
    const std::string& agent = names_.nodes()[names_.node(entry.node).value].agent;
    if (agent == hello.node() && !present.contains(GpuId{i}) && !entry.lost) {
      step(core::GpuLost{GpuId{i}}, now);
    }
  }
}

GpuNamed Sequencer::name_of(GpuId gpu) const {
  const GpuEntry& entry = names_.gpus()[gpu.value];
  return {gpu, entry.uuid, entry.name, entry.kind, entry.node, entry.simulated};
}

// Returns the stops that the agent may have missed: of tasks that run there and have ended here.
std::vector<v1::ServerMessage> Sequencer::reconcile_leases(const v1::Hello& hello,
                                                           const std::set<NodeId>& nodes, Time now,
                                                           v1::Welcome& welcome) {
  std::map<LeaseId, const v1::HeldLease*> held;
  for (const v1::HeldLease& lease : hello.leases())
    held[LeaseId{lease.lease()}] = &lease;

  const core::State& state = engine_.state();
  std::vector<core::LeaseEnded> gone;
  std::vector<core::TaskEnded> never_started;
  std::vector<v1::ServerMessage> stops;
  for (const core::Lease& lease : state.leases) {
    if (!lease.id || !nodes.contains(first_node(state, lease))) continue;
    const auto known = held.find(lease.id);
    if (known != held.end()) {
      welcome.add_adopt(lease.id.value);
      for (const TaskNo task : unbegun_of(lease, *known->second, hello.knows_all()))
        never_started.push_back({lease.id, {task, false, core::Failure::not_started}});
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
    } else if (unsent_leases_.erase(lease.id) == 0) {
      const bool began = lease.running || !hello.knows_all();
      core::LeaseEnded ended{lease.id, {}};
      for (const core::LeaseTask& task : lease.tasks) {
        if (!task.live) continue;
        ended.outcomes.push_back(
            {task.task, false, began ? core::Failure::infrastructure : core::Failure::not_started});
      }
      gone.push_back(std::move(ended));
    }
  }
  for (const auto& [lease, what] : held)
    welcome.add_kill(lease.value);
  for (const core::TaskEnded& ended : never_started)
    step(ended, now);
  for (core::LeaseEnded& ended : gone)
    step(core::LeaseEndedAfter{std::move(ended), Duration{0}}, now);
  return stops;
}

// What the agent does not hold has left the GPU; a load that was under way has failed.
void Sequencer::reconcile_models(const v1::Hello& hello, const std::set<NodeId>& nodes, Time now) {
  std::set<std::pair<GpuId, std::uint64_t>> resident;
  for (const v1::ResidentModel& model : hello.models())
    resident.emplace(names_.gpu(model.gpu()), model.load());

  std::vector<core::EventBody> gone;
  const core::State& state = engine_.state();
  for (std::uint32_t i = 0; i < state.gpus.size(); ++i) {
    const GpuId id{i};
    if (!nodes.contains(state.gpu(id).spec.node)) continue;
    for (const core::Residence& at : state.gpu(id).residences) {
      if (resident.contains({id, at.load.value}) || unsent_loads_.erase(at.load) > 0) continue;
      if (at.loading) {
        gone.emplace_back(core::ModelLoaded{id, at.model, false, Duration{0}, at.load});
      } else {
        gone.emplace_back(core::ModelUnloaded{id, at.model, at.load});
      }
    }
  }
  for (core::EventBody& event : gone)
    step(std::move(event), now);
}

}  // namespace berth::service
