// Who asks for preemption: the first of all that waits, in order of service.
#pragma once

#include <cstddef>
#include <vector>

#include "core/state/state.h"

namespace berth::core {

// The first pending tasks in order: of placed work one of each flow, of batches the leaders of the
// first queues. Changes indexes only. REQUIRES that none of them can start.
std::vector<TaskNo> first_to_ask(State& state, std::size_t count);

}  // namespace berth::core
