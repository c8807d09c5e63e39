// Who asks for preemption: of all that waits, what outranks most.
#pragma once

#include <cstddef>
#include <vector>

#include "core/state/state.h"

namespace berth::core {

// Pending tasks by rank (victims.h), those of one rank in order of service: of placed work the
// first of each of the first flows, of batches without a model the first of every flow that
// competes. Ageing and minima of queues decide on the order, not on ranks, so who leads a queue
// does not speak for those behind it. Costs as much as there are queues with such flows. Changes
// indexes only. REQUIRES that none of them can start.
std::vector<TaskNo> first_to_ask(State& state, std::size_t count);

}  // namespace berth::core
