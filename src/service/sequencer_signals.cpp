// Signals: how many a tenant may have, what is known of them, and how one is taken back.
//
// A signal that was given stays given: a task that comes later does not wait. A reset forgets the
// name, and the next task that names it waits for a new signal; those that were let go stay so.
#include <algorithm>
#include <string>
#include <utility>

#include "core/state/state.h"
#include "service/sequencer.h"

namespace berth::service {
namespace {

// Tasks that wait for the signals of one page are counted one by one, for so many; then the page
// ends with the signal it is at.
constexpr std::size_t kWaitersCounted = 10'000;

}  // namespace

core::Reason Sequencer::signals_spent(TenantId tenant) const {
  core::Reason reason;
  reason.need = static_cast<std::int64_t>(names_.signals_of(tenant)) + 1;
  reason.have = static_cast<std::int64_t>(options_.max_signals);
  return reason;
}

ControlOutcome Sequencer::reset(const ResetSignal& reset) {
  ControlOutcome outcome;
  const TenantId tenant = names_.tenant(reset.tenant);
  const SignalId signal = tenant ? names_.signal(tenant, reset.signal) : SignalId::none();
  outcome.name = reset.signal;
  if (!signal) {
    outcome.kind = ControlOutcome::Kind::unknown_name;
    outcome.noun = "signal";
    return outcome;
  }
  outcome.count = line_of(tenant, reset.signal, signal).waiters;
  if (outcome.count > 0) {
    outcome.kind = ControlOutcome::Kind::not_given;
    return outcome;
  }
  note(NameForgotten{NameForgotten::Noun::signal, tenant, reset.signal});
  forgetter_.forgotten(signal);
  return outcome;
}

ControlOutcome Sequencer::read(const ReadSignals& wanted) const {
  ControlOutcome outcome;
  const auto& signals = names_.signals();
  const TenantId only = wanted.tenant.empty() ? TenantId::none() : names_.tenant(wanted.tenant);
  if (!wanted.tenant.empty() && !only) return outcome;  // who has done nothing has no signals
  auto at = only ? signals.lower_bound(Names::Scoped{only.value, ""}) : signals.begin();
  if (wanted.after) {
    at = signals.upper_bound(Names::Scoped{wanted.after->first.value, wanted.after->second});
  }
  std::size_t counted = 0;
  for (; at != signals.end() && (!only || at->first.first == only.value); ++at) {
    if (outcome.signals.signals.size() == wanted.most || counted > kWaitersCounted) {
      outcome.signals.more = true;
      break;
    }
    const auto known = engine_.state().signals.find(at->second);
    if (known != engine_.state().signals.end()) counted += known->second.waiters.size();
    outcome.signals.signals.push_back(line_of({at->first.first}, at->first.second, at->second));
  }
  return outcome;
}

SignalLine Sequencer::line_of(TenantId tenant, const std::string& name, SignalId signal) const {
  SignalLine line{tenant, name, false, 0, Time::never()};
  if (const std::optional<Time> given = names_.given_since(signal)) line.since = *given;
  const auto known = engine_.state().signals.find(signal);
  if (known == engine_.state().signals.end()) return line;
  line.given = known->second.resolved;
  const core::TaskTable& tasks = engine_.state().tasks;
  for (const TaskNo task : known->second.waiters) {
    const std::uint32_t slot = tasks.slot_of(task);
    if (slot == core::kNoSlot) continue;
    ++line.waiters;
    line.since = std::min(line.since, tasks.row(slot).submitted);
  }
  return line;
}

}  // namespace berth::service
