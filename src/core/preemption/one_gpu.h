// Which GPU is emptied, as far as need be, for work that asks for one GPU or a share of one. Reads
// the state.
//
// Victims are taken in their order until some GPU has room; of those on its node only the ones
// without which it would have none are stopped. The largest loss is thus as small as can be.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/preemption/victims.h"
#include "core/state/state.h"

namespace berth::core {

// Whether a GPU could serve the task if nothing ran on it. One that is held for its own queue, or
// for a queue whose leader is of a lower tier, is given up for it.
bool may_become_free(const State& state, GpuId gpu, const TaskRow& row);
// The same, and of a kind that the task may use.
bool is_of_use(const State& state, GpuId gpu, const TaskRow& row, const Shape& shape);

// Leases that are taken for gone, by slot.
class Gone {
 public:
  explicit Gone(const State& state) : marks_(state.leases.size(), false) {}
  void add(std::uint32_t slot) { marks_[slot] = true; }
  void remove(std::uint32_t slot) { marks_[slot] = false; }
  bool contains(std::uint32_t slot) const { return marks_[slot]; }

 private:
  std::vector<bool> marks_;
};

// Whether the GPU and its node have room for the task without those that are gone. Idle models make
// room.
bool has_room_without(const State& state, GpuId gpu, const TaskRow& row, const Shape& shape,
                      const Gone& gone);

struct OneGpuPlan {
  GpuId gpu;
  std::vector<std::uint32_t> victims;  // in the order of choice; none: all it needs is being freed
};

std::optional<OneGpuPlan> plan_one_gpu(const State& state, const TaskRow& row, const Shape& shape,
                                       VictimOrder& order,
                                       const std::vector<std::uint32_t>& stopping);

}  // namespace berth::core
