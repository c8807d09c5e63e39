// Placement: where can the head of a queue start now, or what exactly is missing?
//
// Reads free VRAM, load and holds; knows nothing of tenants or order. The filters are, cheapest
// first: up and accepting, not held for another queue, compute, VRAM; the preference among the GPUs
// that pass is the policy's packing. For a queue with a model only GPUs that hold it count.
#pragma once

#include <vector>

#include "core/model/reason.h"
#include "core/state/state.h"

namespace berth::core {

struct Placement {
  std::vector<GpuId> gpus;  // empty: not now
  Reason reason;            // why not
  explicit operator bool() const { return !gpus.empty(); }
};

// REQUIRES the queue has a leader.
Placement place_head(const State& state, QueueId queue);
// The same for any pending task, as if it led its queue.
Placement place_task(const State& state, const TaskRow& task);

// Where the head's GPU would cut the queue's next batch short: a GPU that has room for `need`,
// which is all of it. None: no GPU has, or the queue has a GPU of its own to start on (a hold).
GpuId roomier_gpu(const State& state, QueueId queue, Mib need);

// The VRAM that the queue's head needs on a GPU that holds nothing yet, weights included.
Mib largest_need(const State& state, QueueId queue);
// Whether any GPU that accepts work could take the head, were it free.
bool some_gpu_accepts(const State& state, QueueId queue);
// The GPU to keep free for a head that fits nowhere now: the one that is expected to have room
// first, among the smallest that are large enough (a bounded look). None: no GPU will do.
GpuId gpu_to_hold(const State& state, QueueId queue);

}  // namespace berth::core
