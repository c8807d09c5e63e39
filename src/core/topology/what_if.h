// WhatIf: changes to a FreeIndex that are taken back unless they are kept.
//
// For plans: what would be free if these leases ended, if this gang started. Each change notes what
// was free before; going back sets that again, the last change first, so that the index is exactly
// what it was. Plans may nest: the inner one ends before the outer one.
#pragma once

#include <utility>
#include <vector>

#include "base/assert.h"
#include "core/topology/free_index.h"
#include "core/topology/gang_search.h"

namespace berth::core {

// What is free when a lease that holds this began, and when it ended.
inline Room without(const Room& room, const NodeTake& take) {
  ASSERT((room.gpus & take.gpus) == take.gpus);
  return {static_cast<GpuMask>(room.gpus & ~take.gpus), room.cpu - take.cpu,
          room.memory - take.memory};
}
inline Room with(const Room& room, const NodeTake& take) {
  ASSERT((room.gpus & take.gpus) == 0);
  return {static_cast<GpuMask>(room.gpus | take.gpus), room.cpu + take.cpu,
          room.memory + take.memory};
}

class WhatIf {
 public:
  // The index outlives the plan.
  explicit WhatIf(FreeIndex& index) : index_(index) {}
  ~WhatIf() { go_back(); }
  WhatIf(const WhatIf&) = delete;
  WhatIf& operator=(const WhatIf&) = delete;

  void set_node(NodeId node, const Room& room) {
    before_.emplace_back(node, index_.room_on(node));
    index_.set_node(node, room);
  }
  // As if a lease ended, or began.
  void give_back(const NodeTake& take) {
    set_node(take.node, with(index_.room_on(take.node), take));
  }
  void take(const NodeTake& take) { set_node(take.node, without(index_.room_on(take.node), take)); }
  void take(const Gang& gang) {
    for (const NodeTake& node : gang.nodes)
      take(node);
  }

  // A point to go back to.
  std::size_t mark() const { return before_.size(); }
  void go_back(std::size_t mark = 0) {
    for (; before_.size() > mark; before_.pop_back())
      index_.set_node(before_.back().first, before_.back().second);
  }
  void keep() { before_.clear(); }

 private:
  FreeIndex& index_;
  std::vector<std::pair<NodeId, Room>> before_;
};

}  // namespace berth::core
