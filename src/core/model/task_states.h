// The life of a task, from one table: the enum, its names and the legal steps all come from here.
//
// A refused submit never becomes a task, so there is no "refused" state. The last four states are
// terminal: a task enters exactly one of them, once.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace berth::core {

// name, terminal, meaning
#define BERTH_TASK_STATES(X)                                                \
  X(waiting, false, "for a dependency, a signal, an instant, or held")      \
  X(pending, false, "eligible: competes in its flow")                       \
  X(starting, false, "promised to a lease that has not reported its start") \
  X(running, false, "its lease runs")                                       \
  X(completed, true, "ended well")                                          \
  X(failed, true, "ended badly and will not be retried")                    \
  X(cancelled, true, "ended by request")                                    \
  X(expired, true, "waited past its tolerated wait, or its deadline passed")

enum class TaskState : std::uint8_t {
#define X(name, terminal, meaning) name,
  BERTH_TASK_STATES(X)
#undef X
};

struct TaskStateInfo {
  std::string_view name;
  bool terminal;
  std::string_view meaning;
};

inline constexpr std::array kTaskStates = {
#define X(name, terminal, meaning) TaskStateInfo{#name, terminal, meaning},
    BERTH_TASK_STATES(X)
#undef X
};

constexpr std::string_view name_of(TaskState s) {
  return kTaskStates[static_cast<std::size_t>(s)].name;
}
constexpr bool is_terminal(TaskState s) {
  return kTaskStates[static_cast<std::size_t>(s)].terminal;
}

// The legal steps. waiting -> completed does not exist: nothing completes without a lease.
constexpr bool may_step(TaskState from, TaskState to) {
  using enum TaskState;
  switch (from) {
    case waiting:
      return to == pending || to == failed || to == cancelled || to == expired;
    case pending:
      return to == waiting || to == starting || to == cancelled || to == expired;
    case starting:
    case running:
      return to == completed || to == failed || to == cancelled || to == expired || to == waiting ||
             to == pending || (from == starting && to == running);
    default:
      return false;
  }
}

}  // namespace berth::core
