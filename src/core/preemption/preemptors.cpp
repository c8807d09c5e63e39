// See preemptors.h.
#include "core/preemption/preemptors.h"

#include <algorithm>
#include <utility>

namespace berth::core {
namespace {

class Leaders {
 public:
  explicit Leaders(const State& state) : state_(state) {}

  void add(QueueId id) {
    const Queue& queue = state_.queue(id);
    if (std::find(seen_.begin(), seen_.end(), id) != seen_.end()) return;
    seen_.push_back(id);
    found_.emplace_back(queue.key, state_.tasks.row(queue.leader_slot).no);
  }
  // The best of them, and the best of those that need less than it, and so on.
  void add_bench(const NeedIndex& bench, std::size_t count) {
    auto best = bench.best(INT64_MAX);
    for (; best && count > 0; --count) {
      const QueueId queue{best->handle};
      add(queue);
      best = bench.best(state_.queue(queue).bench_need - 1);
    }
  }
  std::vector<std::pair<OrderKey, TaskNo>> take() { return std::move(found_); }

 private:
  const State& state_;
  std::vector<QueueId> seen_;
  std::vector<std::pair<OrderKey, TaskNo>> found_;
};

}  // namespace

std::vector<TaskNo> first_to_ask(State& state, std::size_t count) {
  Leaders leaders(state);
  for (const auto& [shape, bench] : state.shapes)
    leaders.add_bench(bench, count);
  for (const auto& [shape, bench] : state.cold)
    leaders.add_bench(bench, count);
  if (const QueueId first = first_in_turn(state)) leaders.add(first);
  std::size_t left = count;
  for (auto it = state.overdue.begin(); it != state.overdue.end() && left > 0; ++it, --left)
    leaders.add(it->second);

  std::vector<std::pair<OrderKey, TaskNo>> waiting = leaders.take();
  for (const TaskNo task : first_waiting(state, count))
    waiting.emplace_back(placed_key_of(state, state.tasks.slot_of(task)), task);
  std::sort(waiting.begin(), waiting.end());
  waiting.resize(std::min(waiting.size(), count));
  std::vector<TaskNo> tasks;
  for (const auto& [key, task] : waiting)
    tasks.push_back(task);
  return tasks;
}

}  // namespace berth::core
