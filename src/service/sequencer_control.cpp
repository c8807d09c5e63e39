// Control: cancels, pauses, explanations. Definitions are in sequencer_settings.cpp.
#include <string>
#include <utility>

#include "base/assert.h"
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
        } else if constexpr (std::is_same_v<C, ChangeTask>) {
          return change(c, now);
        } else if constexpr (std::is_same_v<C, ResolveSignal>) {
          return resolve(c, now);
        } else if constexpr (std::is_same_v<C, ResetSignal>) {
          return reset(c);
        } else if constexpr (std::is_same_v<C, ReadSignals>) {
          return read(c);
        } else if constexpr (std::is_same_v<C, SetQueuePaused>) {
          const QueueId queue = known_queue(c.queue);
          if (!queue) return unknown("queue", c.queue);
          // Resuming also ends a drain.
          if (!c.paused) step(core::DrainQueue{queue, false}, now);
          step(core::PauseQueue{queue, c.paused}, now);
          return {};
        } else if constexpr (std::is_same_v<C, SetQueueDraining>) {
          const QueueId queue = known_queue(c.queue);
          if (!queue) return unknown("queue", c.queue);
          step(core::DrainQueue{queue, c.draining}, now);
          return {};
        } else if constexpr (std::is_same_v<C, SetTenantPaused>) {
          const TenantId tenant = known_tenant(c.tenant);
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
          set(c);
          return {};
        } else if constexpr (std::is_same_v<C, Configure>) {
          return configure(c, now);
        } else if constexpr (std::is_same_v<C, PutSettings>) {
          return put(c, now);
        } else if constexpr (std::is_same_v<C, RevertSettings>) {
          return revert(c, now);
        } else if constexpr (std::is_same_v<C, DeleteBlock>) {
          return remove(c, now);
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
  const TenantId tenant = known_tenant(resolve.tenant);
  if (!tenant) return unknown("tenant", resolve.tenant);
  forget_names(now);
  ControlOutcome outcome;
  const SignalId signal = signal_for(tenant, resolve.signal);
  if (!signal) {
    outcome.kind = ControlOutcome::Kind::too_many_signals;
    outcome.name = resolve.tenant;
    outcome.reason = signals_spent(tenant);
    return outcome;
  }
  step(core::ResolveSignal{signal}, now);
  // What one step does not reach is ripe, and nothing else is: what was left before an event is
  // finished before it.
  outcome.count = count_own<core::TaskReady>() + engine_.state().ripe.size();
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
    const bool is_live = tasks.slot_of(task) != core::kNoSlot;
    if (is_live && !redescribed_.contains(task)) note(SpecCarried{task, std::move(spec), {}});
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

}  // namespace berth::service
