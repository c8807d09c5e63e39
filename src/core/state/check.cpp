// Derives every counter and index again and compares. See state.h for the invariants.
#include "core/state/check.h"

namespace berth::core {

namespace {

std::vector<std::uint32_t> live_tasks(const State& state) {
  std::vector<std::uint32_t> slots;
  slots.reserve(state.tasks.slots());
  for (std::uint32_t slot = 0; slot < state.tasks.slots(); ++slot) {
    if (state.tasks.is_live(slot)) slots.push_back(slot);
  }
  return slots;
}

}  // namespace

std::vector<std::string> check_state(const State& state) {
  Findings findings;
  Derived derived;
  derived.live = live_tasks(state);
  derived.flows = derive_flows(state, derived.live);
  check_counters(state, derived, findings);
  check_tenants(state, derived, findings);
  check_gpus(state, findings);
  check_flows(state, derived, findings);
  check_queues(state, derived, findings);
  check_placed(state, derived, findings);
  check_timers(state, derived, findings);
  check_links(state, derived, findings);
  return findings.take();
}

}  // namespace berth::core
