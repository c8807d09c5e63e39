// Explanation: the answer to "why is my task not running?", as values.
//
// `binding` lists what stands between the task and its start, as recorded by the stage that said
// no, nearest obstacle first; it is empty exactly when the next decision starts the task. The other
// fields place the task in the order and name who holds what it needs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "base/units.h"
#include "core/model/reason.h"
#include "core/model/task_states.h"

namespace berth::core {

// A lease that occupies what the task needs.
struct Holder {
  LeaseId lease;
  GpuId gpu;
  Mib vram;
  Time expected_end;
};

// When a task will probably start: as expected, and if everything that remains to be done took half
// as long, or twice. Work that comes later and goes first is not foreseen.
struct StartEstimate {
  Time low;
  Time likely;
  Time high;
  bool operator==(const StartEstimate&) const = default;
};

struct Explanation {
  TaskState state = TaskState::waiting;
  std::vector<Reason> binding;
  std::uint64_t ahead_in_flow = 0;   // live tasks of its flow that come first
  std::uint64_t ahead_in_queue = 0;  // pending tasks of its queue, all flows
  // Its place among them, from 1 on, in the order in which batches take them; none: not counted so
  // far, or it is placed by its shape.
  std::optional<std::uint64_t> position;
  std::optional<Holder> holder;        // whose end would help first
  std::optional<StartEstimate> start;  // when one can be made
};

}  // namespace berth::core
