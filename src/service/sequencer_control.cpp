// Control: cancels, pauses, definitions, explanations.
#include <string>
#include <utility>

#include "base/assert.h"
#include "core/model/tenant_tree.h"
#include "core/state/state.h"
#include "service/sequencer.h"

namespace berth::service {
namespace {

ControlOutcome unknown(std::string_view noun, const std::string& name) {
  ControlOutcome outcome;
  outcome.kind = ControlOutcome::Kind::unknown_name;
  outcome.noun = noun;
  outcome.name = name;
  return outcome;
}

ControlOutcome answered(const core::Reason& refusal) {
  ControlOutcome outcome;
  if (refusal) outcome.kind = ControlOutcome::Kind::refused;
  outcome.reason = refusal;
  return outcome;
}

ControlOutcome too_many_classes(const Names& names, const DefineQueue& queue) {
  ControlOutcome outcome;
  outcome.kind = ControlOutcome::Kind::too_many_classes;
  outcome.flaw = "queues and GPUs name " + std::to_string(core::kMaxWorkClasses) +
                 " classes of work already, and no more are told apart; use one of";
  for (const std::string& name : names.work_classes())
    outcome.flaw += (name == names.work_classes().front() ? " \"" : ", \"") + name + "\"";
  outcome.flaw += " instead of \"" + queue.work_class + "\"";
  return outcome;
}

// What is wrong with the tenants if this one, perhaps a new one, stood below that parent.
std::string flaw_below(const Names& names, TenantId id, const std::string& name, TenantId parent) {
  const bool is_new = id.value == names.tenants().size();
  if (!parent || (!is_new && names.tenants()[id.value].spec.parent == parent)) return {};
  std::vector<TenantId> parents;
  for (const TenantEntry& entry : names.tenants())
    parents.push_back(entry.spec.parent);
  if (is_new) parents.emplace_back();
  parents[id.value] = parent;
  // Nothing stands below a new one, so that only the way up can be wrong.
  const core::TreeFinding finding =
      is_new ? core::judge_tenant(parents, id) : core::judge_tree(parents);
  return core::sentence_of(finding, [&](TenantId at) {
    return "\"" + (at == id ? name : names.tenants()[at.value].name) + "\"";
  });
}

}  // namespace

void Sequencer::take(ControlCommand&& command, Time now) {
  ControlOutcome outcome = run(command.what, now);
  if (command.done) group_->controls.push_back({std::move(command.done), std::move(outcome)});
}

ControlOutcome Sequencer::run(Control& what, Time now) {
  return std::visit(
      [&](auto& c) -> ControlOutcome {
        using C = std::decay_t<decltype(c)>;
        if constexpr (std::is_same_v<C, CancelTasks>) {
          return cancel(c, now);
        } else if constexpr (std::is_same_v<C, HoldTask>) {
          step(core::Hold{c.task}, now);
          return answered(refusal_of(c.task));
        } else if constexpr (std::is_same_v<C, ReleaseTask>) {
          step(core::Release{c.task}, now);
          return answered(refusal_of(c.task));
        } else if constexpr (std::is_same_v<C, ResolveSignal>) {
          return resolve(c, now);
        } else if constexpr (std::is_same_v<C, SetQueuePaused>) {
          const QueueId queue = names_.queue(c.queue);
          if (!queue) return unknown("queue", c.queue);
          // Resuming also ends a drain.
          if (!c.paused) step(core::DrainQueue{queue, false}, now);
          step(core::PauseQueue{queue, c.paused}, now);
          return {};
        } else if constexpr (std::is_same_v<C, SetQueueDraining>) {
          const QueueId queue = names_.queue(c.queue);
          if (!queue) return unknown("queue", c.queue);
          step(core::DrainQueue{queue, c.draining}, now);
          return {};
        } else if constexpr (std::is_same_v<C, SetTenantPaused>) {
          const TenantId tenant = names_.tenant(c.tenant);
          if (!tenant) return unknown("tenant", c.tenant);
          step(core::PauseTenant{tenant, c.paused}, now);
          return {};
        } else if constexpr (std::is_same_v<C, SetGpuDraining>) {
          const GpuId gpu = names_.gpu(c.gpu);
          if (!gpu) return unknown("gpu", c.gpu);
          step(core::DrainGpu{gpu, c.draining}, now);
          return {};
        } else if constexpr (std::is_same_v<C, DefinePolicy>) {
          if (c.spec != names_.policy()) step(core::SetPolicy{c.spec}, now);
          return {};
        } else if constexpr (std::is_same_v<C, DefineTenantDefaults>) {
          options_.tenant_defaults = c.spec;
          options_.tenant_default_tier = c.tier;
          options_.tenant_default_commands = c.commands;
          options_.max_tenants = c.max_tenants;
          options_.make_unknown_tenants = c.make_unknown;
          return {};
        } else if constexpr (std::is_same_v<C, PutPackingTable>) {
          return put(c, now);
        } else if constexpr (std::is_same_v<C, CarrySpecs>) {
          return carry(c);
        } else if constexpr (std::is_same_v<C, ReadPacking>) {
          return packing();
        } else if constexpr (std::is_same_v<C, ExplainTask>) {
          ControlOutcome outcome;
          outcome.explanation = engine_.explain(c.task);
          return outcome;
        } else {
          return define(c, now);
        }
      },
      what);
}

ControlOutcome Sequencer::cancel(const CancelTasks& cancel, Time now) {
  ControlOutcome outcome;
  for (const TaskNo task : cancel.tasks) {
    step(core::Cancel{task}, now);
    const core::Reason refusal = refusal_of(task);
    if (!refusal) {
      ++outcome.count;
      outcome.stopping += count_own<core::StopTask>();
    } else if (cancel.tasks.size() == 1) {
      return answered(refusal);
    }
  }
  return outcome;
}

// A signal may be resolved before anything waits for it; what comes later does not wait then.
ControlOutcome Sequencer::resolve(const ResolveSignal& resolve, Time now) {
  const TenantId tenant = names_.tenant(resolve.tenant);
  if (!tenant) return unknown("tenant", resolve.tenant);
  forget_names(now);
  step(core::ResolveSignal{signal_for(tenant, resolve.signal)}, now);
  // What one step does not reach is ripe, and nothing else is: what was left before an event is
  // finished before it.
  ControlOutcome outcome;
  outcome.count = count_own<core::TaskReady>() + engine_.state().ripe.size();
  return outcome;
}

ControlOutcome Sequencer::define(const DefineTenant& tenant, Time now) {
  core::TenantSpec spec = tenant.spec;
  spec.parent = tenant.parent.empty() ? TenantId::none() : names_.tenant(tenant.parent);
  if (!tenant.parent.empty() && !spec.parent) return unknown("tenant", tenant.parent);
  ControlOutcome outcome;
  TenantId id = names_.tenant(tenant.name);
  outcome.created = !id;
  if (!id) id.value = static_cast<std::uint32_t>(names_.tenants().size());
  outcome.flaw = flaw_below(names_, id, tenant.name, spec.parent);
  if (!outcome.flaw.empty()) {
    outcome.kind = ControlOutcome::Kind::bad_tree;
    return outcome;
  }
  const bool same_tier = !outcome.created && names_.tenants()[id.value].tier == tenant.tier;
  if (!same_tier) note(TenantNamed{id, tenant.name, tenant.tier});
  const bool same_commands = names_.tenants()[id.value].commands == tenant.commands;
  if (!same_commands) {
    note(CommandsAllowed{CommandsAllowed::Noun::tenant, id.value, tenant.commands});
  }
  if (same_tier && same_commands && names_.tenants()[id.value].spec == spec) return outcome;
  step(core::PutTenant{id, spec}, now);
  return outcome;
}

ControlOutcome Sequencer::define(const DefineQueue& queue, Time now) {
  core::QueueSpec spec = queue.spec;
  spec.model = queue.model.empty() ? ModelId::none() : names_.model(queue.model);
  if (!queue.model.empty() && !spec.model) return unknown("model", queue.model);
  spec.work_class =
      queue.work_class.empty() ? WorkClassId::none() : work_class_named(queue.work_class);
  if (!queue.work_class.empty() && !spec.work_class) return too_many_classes(names_, queue);
  ControlOutcome outcome;
  QueueId id = names_.queue(queue.name);
  outcome.created = !id;
  if (!id) {
    id.value = static_cast<std::uint32_t>(names_.queues().size());
    note(QueueNamed{id, queue.name});
  }
  const bool same_commands = names_.queues()[id.value].commands == queue.commands;
  if (!same_commands) {
    note(CommandsAllowed{CommandsAllowed::Noun::queue, id.value, queue.commands});
  } else if (!outcome.created && names_.queues()[id.value].spec == spec) {
    return outcome;
  }
  step(core::PutQueue{id, spec}, now);
  return outcome;
}

ControlOutcome Sequencer::put(PutPackingTable& table, Time now) {
  const core::PackingKnowledge& known = engine_.state().packing;
  if (table.bytes != known.table) {
    step(core::PutTable{core::TableKind::packing, known.version + 1, std::move(table.bytes)}, now);
  }
  return packing();
}

// A task that has ended meanwhile needs its spec no more.
ControlOutcome Sequencer::carry(CarrySpecs& carry) {
  const core::TaskTable& tasks = engine_.state().tasks;
  for (auto& [task, spec] : carry.specs) {
    if (tasks.slot_of(task) != core::kNoSlot) note(SpecCarried{task, std::move(spec), {}});
  }
  write_notes();
  return {};
}

// At most some hundred classes of shapes are sorted and copied.
ControlOutcome Sequencer::packing() const {
  const core::PackingKnowledge& known = engine_.state().packing;
  ControlOutcome outcome;
  outcome.packing = {core::typical(known.mix), known.arrivals, known.version, known.table};
  return outcome;
}

ControlOutcome Sequencer::define(const DefineModel& model, Time now) {
  ControlOutcome outcome;
  ModelId id = names_.model(model.name);
  outcome.created = !id;
  if (!id) {
    id.value = static_cast<std::uint32_t>(names_.models().size());
    note(ModelNamed{id, model.name});
  } else if (names_.models()[id.value].spec == model.spec) {
    return outcome;
  }
  step(core::PutModel{id, model.spec}, now);
  return outcome;
}

}  // namespace berth::service
