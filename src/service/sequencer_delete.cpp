// Deletes of tenants, queues and models: what nobody uses is no more.
//
// What is deleted has the defaults, is listed no more and takes nothing new; its number stays with
// its name, so that its history can be read and so that it can be made again. What the
// configuration has is not deleted: the next reload would bring it back.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/state/state.h"
#include "service/sequencer.h"

namespace berth::service {
namespace {

constexpr std::size_t kNamesTold = 5;

std::string counted(std::uint64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string them(std::uint64_t count) { return count == 1 ? "it" : "them"; }

std::string end_of(std::uint64_t tasks) {
  return std::string("; wait until ") + (tasks == 1 ? "it has" : "they have") +
         " ended, or cancel " + them(tasks) + ": berth cancel ";
}

// (a, b and 7 more)
std::string listed(const std::vector<std::string>& names) {
  std::string text = " (";
  for (std::size_t i = 0; i < names.size() && i < kNamesTold; ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kNamesTold)
    text += " and " + std::to_string(names.size() - kNamesTold) + " more";
  return text + ")";
}

ControlOutcome used(std::string unit, std::uint64_t count, std::string sentence) {
  ControlOutcome outcome;
  outcome.unit = std::move(unit);
  outcome.count = count;
  outcome.flaw = std::move(sentence);
  return outcome;
}

// Tasks that were put back count where they wait.
template <class IsMeant>
std::uint64_t running_tasks(const core::State& state, IsMeant is_meant) {
  std::uint64_t count = 0;
  for (const core::Lease& lease : state.leases) {
    if (!lease.id) continue;
    for (const core::LeaseTask& task : lease.tasks) {
      const bool is_there = task.live || (task.stopping && !lease.preempted);
      if (is_there && is_meant(lease, task)) ++count;
    }
  }
  return count;
}

}  // namespace

std::uint64_t Sequencer::unfinished_of(QueueId queue) const {
  const core::State& state = engine_.state();
  return state.queue(queue).queued +
         running_tasks(state, [&](const core::Lease& lease, const core::LeaseTask&) {
           return lease.queue == queue;
         });
}

std::uint64_t Sequencer::unfinished_of(TenantId tenant) const {
  const core::State& state = engine_.state();
  return state.tenant(tenant).queued +
         running_tasks(state, [&](const core::Lease&, const core::LeaseTask& task) {
           return task.tenant == tenant;
         });
}

TenantId Sequencer::known_tenant(std::string_view name) const {
  const TenantId id = names_.tenant(name);
  return id && names_.tenants()[id.value].removed ? TenantId::none() : id;
}

QueueId Sequencer::known_queue(std::string_view name) const {
  const QueueId id = names_.queue(name);
  const bool is_gone = id && names_.queues()[id.value].removed && unfinished_of(id) == 0;
  return is_gone ? QueueId::none() : id;
}

ModelId Sequencer::known_model(std::string_view name) const {
  const ModelId id = names_.model(name);
  const bool is_gone = id && names_.models()[id.value].removed && !use_of(id);
  return is_gone ? ModelId::none() : id;
}

bool Sequencer::is_configured(Section section, const std::string& name) const {
  switch (section) {
    case Section::tenants:
      return configured_.tenants.contains(name);
    case Section::queues:
      return configured_.queues.contains(name);
    case Section::models:
      return configured_.models.contains(name);
  }
  return false;
}

// ---- Who uses it
// ---------------------------------------------------------------------------------

std::optional<ControlOutcome> Sequencer::use_of(QueueId queue) const {
  const std::uint64_t tasks = unfinished_of(queue);
  if (tasks == 0) return std::nullopt;
  return used("tasks", tasks,
              "has " + counted(tasks, "unfinished task") + end_of(tasks) + "--queue " +
                  names_.queues()[queue.value].name);
}

std::optional<ControlOutcome> Sequencer::use_of(TenantId tenant) const {
  const std::string& name = names_.tenants()[tenant.value].name;
  if (const std::uint64_t tasks = unfinished_of(tenant)) {
    return used("tasks", tasks,
                "has " + counted(tasks, "unfinished task") + end_of(tasks) + "--tenant " + name);
  }
  std::vector<std::string> below;
  for (const TenantEntry& entry : names_.tenants())
    if (entry.spec.parent == tenant) below.push_back(entry.name);
  if (below.empty()) return std::nullopt;
  return used("tenants", below.size(),
              "has " + counted(below.size(), "tenant") + " below it" + listed(below) + "; delete " +
                  them(below.size()) + " first, or move " + them(below.size()) +
                  ": berth put tenant " + below.front() + " --parent \"\"");
}

std::optional<ControlOutcome> Sequencer::use_of(ModelId model) const {
  const std::string& name = names_.models()[model.value].name;
  std::vector<std::string> queues;
  for (const QueueEntry& queue : names_.queues())
    if (queue.spec.model == model && known_queue(queue.name)) queues.push_back(queue.name);
  if (!queues.empty()) {
    return used("queues", queues.size(),
                "is the model of " + counted(queues.size(), "queue") + listed(queues) +
                    "; delete " + them(queues.size()) + " first, or give " + them(queues.size()) +
                    " another model: berth put queue " + queues.front() + " --model \"\"");
  }
  std::vector<std::string> gpus;
  for (const GpuId gpu : engine_.state().model(model).gpus)
    gpus.push_back(names_.gpus()[gpu.value].name);
  if (gpus.empty()) return std::nullopt;
  return used("GPUs", gpus.size(),
              "is resident or being loaded on " + counted(gpus.size(), "GPU") + listed(gpus) +
                  "; it leaves them when it has been idle for its keep_alive: wait, or shorten "
                  "that: berth put model " +
                  name + " --keep-alive 1s");
}

std::optional<ControlOutcome> Sequencer::use_of(Section section, const std::string& name) const {
  switch (section) {
    case Section::tenants:
      return use_of(names_.tenant(name));
    case Section::queues:
      return use_of(names_.queue(name));
    case Section::models:
      return use_of(names_.model(name));
  }
  return std::nullopt;
}

// ---- It is no more
// -------------------------------------------------------------------------------

ControlOutcome Sequencer::remove(const DeleteBlock& wanted, Time now) {
  const Section section = wanted.section;
  const std::string& name = wanted.name;
  const auto refuse = [&](ControlOutcome::Kind kind, ControlOutcome why = {}) {
    why.kind = kind;
    why.noun = noun_of(section);
    why.name = name;
    return why;
  };
  if (!is_known(section, name)) return refuse(ControlOutcome::Kind::unknown_name);
  if (is_configured(section, name)) return refuse(ControlOutcome::Kind::in_configuration);
  if (auto use = use_of(section, name)) {
    return refuse(ControlOutcome::Kind::in_use, std::move(*use));
  }
  if (names_.put(section, name) != nullptr) note(SettingsReverted{section, name});
  std::uint32_t number = 0;
  if (section == Section::tenants) {
    number = names_.tenant(name).value;
    forget_settings(TenantId{number}, now);
  } else if (section == Section::queues) {
    number = names_.queue(name).value;
    forget_settings(QueueId{number}, now);
  } else {
    number = names_.model(name).value;
  }
  note(Removed{section, number, true});
  return {};
}

// What it was charged stays: the fair order goes on from there if it comes back.
void Sequencer::forget_settings(TenantId tenant, Time now) {
  const TenantEntry& entry = names_.tenants()[tenant.value];
  if (entry.paused) step(core::PauseTenant{tenant, false}, now);
  install(default_tenant(entry.name), now);
  forget_signals(tenant);
}

// Its class of work and its model are free for others then.
void Sequencer::forget_settings(QueueId queue, Time now) {
  const QueueEntry& entry = names_.queues()[queue.value];
  if (entry.paused) step(core::PauseQueue{queue, false}, now);
  if (entry.draining) step(core::DrainQueue{queue, false}, now);
  install(DefineQueue{.name = entry.name}, now);
}

// Nobody waits for them: the tenant has no task.
void Sequencer::forget_signals(TenantId tenant) {
  std::vector<std::pair<std::string, SignalId>> signals;
  for (auto at = names_.signals().lower_bound(Names::Scoped{tenant.value, ""});
       at != names_.signals().end() && at->first.first == tenant.value; ++at) {
    signals.emplace_back(at->first.second, at->second);
  }
  for (auto& [name, signal] : signals) {
    note(NameForgotten{NameForgotten::Noun::signal, tenant, std::move(name)});
    forgetter_.forgotten(signal);
  }
}

}  // namespace berth::service
