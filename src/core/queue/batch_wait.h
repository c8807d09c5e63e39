// How long a queue waits for fuller batches.
//
// Fixed: max_batch_wait. Adaptive: chosen from the arrival rate, the learned batch time a + b·n,
// the GPUs that may serve the queue and the tightest tolerated wait, with max_batch_wait as upper
// bound, so as to make the expected time from submit to end small. Busy GPUs collect batches by
// themselves while they work; a wait pays only where it collects more than that, and then mostly
// because batches that leave at even gaps find a free GPU sooner than tasks that come by chance.
#pragma once

#include "base/time.h"
#include "core/state/state.h"

namespace berth::core {

struct WaitInputs {
  Duration gap;       // between arrivals
  Duration base;      // a
  Duration per_task;  // b
  std::int64_t servers = 1;
  std::int64_t max_batch_size = 1;
  Duration longest;  // never wait longer than this
};

// The best of a fixed ladder of waits. Pure arithmetic, in integers.
Duration choose_wait(const WaitInputs& in);

// Sets the wait in force after a change of the queue's spec or of what was learned.
void update_batch_wait(State& state, QueueId queue);

}  // namespace berth::core
