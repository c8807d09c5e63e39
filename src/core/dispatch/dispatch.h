// Dispatch: which tasks start together, what that is charged, and what starting changes.
//
// The leader is the head of the queue's best flow. Each further place goes to the task that is then
// next in the order, as if those before it had been charged already, up to max_batch_size, VRAM,
// and the leader's share; so followers drift no further than leaders do. Batches never mix queues,
// nor tenants where one of them is isolated; a gang runs alone, and so does a command, unless its
// queue says batch_commands.
#pragma once

#include <cstdint>
#include <optional>

#include "core/action.h"
#include "core/state/state.h"

namespace berth::core {

// The batch that starts on these GPUs now. Changes nothing. REQUIRES that the head fits there.
BatchStarted build_batch(const State& state, QueueId queue, const std::vector<GpuId>& gpus);

// What the queue's next batch would be, were VRAM no limit: a walk over at most max_batch_size
// tasks.
struct BatchNeed {
  std::uint32_t tasks = 0;
  Mib vram;
};
// `gpu`: where it would start; its speed and price decide who is next, where tenants compete.
BatchNeed whole_batch(const State& state, QueueId queue, GpuId gpu);

// How many tasks of its queue would be taken before this one, if nothing came and all had room.
// None: more than are counted. REQUIRES a pending task of a flow that competes in its queue.
std::optional<std::uint64_t> tasks_before(const State& state, std::uint32_t slot);

// The start of a placed task, alone. REQUIRES that it fits there.
BatchStarted build_placed(const State& state, std::uint32_t slot, const Place& place);

// Applies it: a lease, slices taken, tasks starting, tenants charged.
void start_batch(State& state, const BatchStarted& batch);

// The next quantum that a lease is charged when what it paid for is used up.
Duration next_quantum(const Lease& lease);
void charge_quantum(State& state, const LeaseCharged& charged);

// Applies the end of a lease: slices freed, charges set right, batch time learned.
void close_lease(State& state, const LeaseClosed& closed);
// One of its GPUs is gone. The lease lives on without it until it is closed.
void lose_slice(State& state, std::uint32_t lease_slot, GpuId gpu);

}  // namespace berth::core
