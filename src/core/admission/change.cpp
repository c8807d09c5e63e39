// See change.h.
#include "core/admission/change.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "core/admission/admission.h"
#include "core/model/ranges.h"

namespace berth::core {
namespace {

// As resolved: 0 asks the model of the queue that the task shall be in.
Mib vram_in(const State& state, const TaskRow& row, const ChangeTask& change) {
  if (!change.vram) return Mib{row.vram};
  const ModelId model = state.queue(change.queue).spec.model;
  if (change.vram->value > 0 || !model) return *change.vram;
  return state.model(model).spec.vram_per_task;
}

// What its size is judged by.
TaskSpec spec_of(const State& state, const TaskRow& row, const ChangeTask& change) {
  const Shape shape = shape_of(state, row);
  TaskSpec spec;
  spec.tenant = row.tenant;
  spec.queue = change.queue;
  spec.gpus = shape.gpus;
  spec.groups = shape.groups;
  spec.within = shape.within;
  spec.required = shape.required;
  spec.profile = shape.profile;
  spec.share = Milli{shape.share};
  spec.vram = vram_in(state, row, change);
  spec.cpu = shape.cpu;
  spec.memory = shape.memory;
  spec.kinds = shape.kinds;
  spec.tolerated_wait = change.tolerated_wait.value_or(Duration::forever());
  return spec;
}

Reason judge(const State& state, std::uint32_t slot, const ChangeTask& change) {
  const auto about = [](ReasonCode code, std::uint64_t subject) {
    return Reason{code, 0, 0, subject, Time::never()};
  };
  if (slot == kNoSlot) return about(ReasonCode::unknown_task, change.task.value);
  const TaskRow& row = state.tasks.row(slot);
  const bool waits = row.state == TaskState::waiting || row.state == TaskState::pending;
  if (!waits) return about(ReasonCode::already_started, change.task.value);
  if (!state.has(change.queue)) return about(ReasonCode::unknown_queue, change.queue.value);
  const TaskSpec spec = spec_of(state, row, change);
  if (flaw_in(spec) != nullptr) return about(ReasonCode::bad_spec, Reason::kNoSubject);
  const bool moves = change.queue != row.queue;
  if (moves && state.queue(change.queue).draining) {
    return about(ReasonCode::queue_draining, change.queue.value);
  }
  if (moves || vram_in(state, row, change).value != row.vram) {
    if (const Reason reason = judge_size(state, spec)) return reason;
  }
  return moves ? judge_queue_limit(state, change.queue, 0) : Reason{};
}

// Its shape with other VRAM. In its own queue it stays placed work, or a batch's.
void change_vram(State& state, TaskRow& row, Mib vram) {
  Shape shape = shape_of(state, row);
  row.vram = static_cast<std::uint32_t>(vram.value);
  if (row.shape == kNoSlot) return;
  shape.vram = row.vram;
  state.shape_table.drop(std::exchange(row.shape, state.shape_table.take(shape)));
}

// What the task asks for, in a queue that may place it otherwise. It is counted there before it is
// counted here no more: a queue may wait for its last gang to leave.
void move_to(State& state, TaskRow& row, const TaskChanged& changed) {
  const QueueId before = row.queue;
  const bool was_gang = row.gpus > 1 || row.shape != kNoSlot;
  Shape shape = shape_of(state, row);
  if (row.shape != kNoSlot) state.shape_table.drop(row.shape);
  row.shape = kNoSlot;
  row.queue = changed.queue;
  row.vram = static_cast<std::uint32_t>(changed.vram.value);
  shape.vram = row.vram;
  const bool is_placed = is_placed_in(state, row.queue, shape);
  if (is_placed) {
    keep_cells(state);
    row.shape = state.shape_table.take(shape);
  }
  if (row.gpus > 1 || is_placed) count_gang(state, row.queue, 1);
  if (was_gang) count_gang(state, before, -1);
}

}  // namespace

Action judge_change(const State& state, const ChangeTask& change) {
  const std::uint32_t slot = state.tasks.slot_of(change.task);
  if (const Reason reason = judge(state, slot, change)) return TaskRefused{change.task, reason};
  const TaskRow& row = state.tasks.row(slot);
  Time expires = row.expires;
  if (change.tolerated_wait && !row.started) expires = row.submitted + *change.tolerated_wait;
  return TaskChanged{change.task, change.queue, change.priority, vram_in(state, row, change),
                     expires};
}

void change_task(State& state, const TaskChanged& changed) {
  const std::uint32_t slot = state.tasks.slot_of(changed.task);
  ASSERT(slot != kNoSlot);
  TaskRow& row = state.tasks.row(slot);
  const bool is_pending = row.state == TaskState::pending;
  release_keeps(state, row.no);
  if (is_pending) {
    const std::uint32_t flow = row.flow;
    leave_flow(state, slot);
    refresh_flow(state, flow);
    refresh_queue(state, row.queue);
    forget_if_idle(state, flow);
  }
  row.flow = kNoSlot;
  count_queued(state, row, -1);
  if (changed.queue == row.queue) {
    change_vram(state, row, changed.vram);
  } else {
    move_to(state, row, changed);
  }
  count_queued(state, row, 1);
  row.priority = changed.priority;
  row.expires = changed.expires;
  Queue& queue = state.queue(row.queue);
  if (row.expires != Time::never()) {
    queue.tightest_wait = std::min(queue.tightest_wait, row.expires - row.submitted);
  }
  if (is_pending) enter_flow(state, slot);
  arm_task_timer(state, slot);
}

}  // namespace berth::core
