// Admission: may this task enter? The first stage.
//
// Reads the state, decides, and says why not, with numbers and, where waiting helps, when to ask
// again. Knows nothing of GPUs beyond their sizes, nor of order or placement. A refusal takes no
// tokens.
#pragma once

#include <vector>

#include "core/action.h"
#include "core/state/state.h"

namespace berth::core {

// Answers a submit of one task, or of a workflow (all or nothing), numbered from `first`.
// Reason none: accepted. Otherwise the first task's reason that refuses, and that task.
struct AdmissionVerdict {
  Reason reason;
  std::size_t task = 0;
};
AdmissionVerdict judge_submit(const State& state, TaskNo first, const std::vector<TaskSpec>& specs);

// Could a task of this size ever run on the GPUs there are, and may it, in its queue? None: yes.
Reason judge_size(const State& state, const TaskSpec& spec);
// Whether the queue takes one more task, beside `earlier` ones of the same submit. None: yes.
Reason judge_queue_limit(const State& state, QueueId queue, std::uint32_t earlier);
// Whether work of this shape is placed work in the queue.
bool is_placed_in(const State& state, QueueId queue, const Shape& shape);

// Level of the tenant's bucket now, in 1e-9 tokens.
std::int64_t token_level_nano(const Tenant& tenant, Time now);

// Applies TaskAccepted: takes the tokens and makes the row, waiting or pending.
void admit(State& state, TaskNo task, const TaskSpec& spec);
// Applies a refusal: that of a submit spends its number, that of a request changes nothing.
void turn_away(State& state, TaskNo task, const Reason& reason);
// A task ends before it ever started: its tokens go back.
void give_tokens_back(State& state, const TaskRow& row);

}  // namespace berth::core
