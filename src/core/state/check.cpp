// Derives every counter and index again and compares. See state.h for the invariants.
#include "core/state/check.h"

namespace berth::core {

std::vector<std::uint32_t> live_tasks(const State& state) {
  std::vector<std::uint32_t> slots;
  for (std::uint32_t slot = 0; slot < state.tasks.slots(); ++slot) {
    if (state.tasks.is_live(slot)) slots.push_back(slot);
  }
  return slots;
}

std::vector<std::string> check_state(const State& state) {
  Findings findings;
  check_counters(state, findings);
  check_gpus(state, findings);
  check_flows(state, findings);
  check_queues(state, findings);
  check_timers(state, findings);
  check_links(state, findings);
  return findings.take();
}

}  // namespace berth::core
