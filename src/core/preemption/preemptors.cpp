// See preemptors.h.
#include "core/preemption/preemptors.h"

#include <algorithm>

#include "core/preemption/victims.h"

namespace berth::core {
namespace {

struct Asker {
  std::int64_t rank = 0;
  OrderKey key;
  TaskNo task;
  auto operator<=>(const Asker&) const = default;
};

void add_heads(const State& state, const Queue& queue, const Uses& uses,
               std::vector<Asker>& askers) {
  for (const auto& entry : queue.flows.entries()) {
    const Flow& flow = state.flows.flow(entry.handle);
    if (!queue_allows(queue, Milli{flow.head.share * flow.head.gpus})) continue;
    const OrderKey key = state.rule->flow_key(state, flow, flow.head);
    askers.push_back({uses.rank_of(state.tasks.row(flow.head.slot)),
                      state.rule->placed_key(state, queue, key), flow.head.no});
  }
}

}  // namespace

std::vector<TaskNo> first_to_ask(State& state, std::size_t count) {
  const Uses uses(state);
  std::vector<Asker> askers;
  for (const Queue& queue : state.queues) {
    if (queue.ready && !queue.spec.model) add_heads(state, queue, uses, askers);
  }
  for (const TaskNo task : first_waiting(state, count)) {
    const std::uint32_t slot = state.tasks.slot_of(task);
    askers.push_back({uses.rank_of(state.tasks.row(slot)), placed_key_of(state, slot), task});
  }
  const std::size_t first = std::min(askers.size(), count);
  std::partial_sort(askers.begin(), askers.begin() + static_cast<std::ptrdiff_t>(first),
                    askers.end());
  std::vector<TaskNo> tasks;
  for (std::size_t i = 0; i < first; ++i)
    tasks.push_back(askers[i].task);
  return tasks;
}

}  // namespace berth::core
