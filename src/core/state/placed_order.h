// PlacedOrder: pending placed tasks in order of service, one at a time. Read-only and lazy: looking
// at the first few costs a few steps, however many wait.
//
// A shape's key is that of its best flow, a flow's that of its head, so all three stand in one
// frontier: a shape gives its flows, a flow its tasks, each when its key comes up. Stored keys
// below the top of a shape's flows are lower bounds; such a flow is put back with its exact key.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/state/flow_cursor.h"
#include "core/state/state.h"

namespace berth::core {

class PlacedOrder {
 public:
  explicit PlacedOrder(const State& state);

  struct Item {
    std::uint32_t slot;
    OrderKey key;
  };
  // None at the end.
  std::optional<Item> next();

 private:
  enum class Kind : std::uint8_t { shape, flow, task };
  struct Candidate {
    OrderKey key;
    Kind kind = Kind::shape;
    std::uint32_t at = 0;  // shape: position among all; flow: position in its shape; task: cursor
    std::uint32_t shape = 0;  // of a flow
  };

  void push(const Candidate& candidate);
  void push_shape(std::uint32_t position);
  void push_flow(std::uint32_t shape, std::uint32_t position);
  void push_task(std::uint32_t cursor);
  OrderKey key_of(const Flow& flow, std::uint32_t slot) const;

  struct Open {
    const Flow* flow;
    FlowCursor cursor;
  };

  const State& state_;
  std::vector<Candidate> frontier_;  // a binary heap, least key first
  std::vector<Open> cursors_;
};

}  // namespace berth::core
