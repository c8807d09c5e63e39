// PlacedOrder: pending placed work in order of service, one item at a time. Lazy: looking at the
// first few costs a few steps, however many wait.
//
// What is walked is added first: every shape, the open ones, or the blocked ones that fit a cell. A
// shape comes up when its turn may have come, and once; who enters it gets its tasks, each when its
// own turn comes. Stored keys, of shapes and flows, are lower bounds; what comes up with one is put
// back with the exact one, so tasks come in their exact order. Changes nothing but the order of
// flows inside shapes, whose stored keys are made exact; shapes whose own key was stale are told at
// the end, to be put right.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/state/flow_cursor.h"
#include "core/state/state.h"

namespace berth::core {

class PlacedOrder {
 public:
  explicit PlacedOrder(State& state) : state_(state) {}

  void add_all();
  void add_open();
  // Those of the index that may fit what there is.
  void add_blocked(const WaitingShapes& shapes, const Need& available);
  void add_shape(std::uint32_t shape);

  struct Item {
    OrderKey key;
    std::uint32_t shape = 0;
    std::uint32_t slot = kNoSlot;  // of a task; none: the shape itself
  };
  // None at the end.
  std::optional<Item> next();
  // The tasks of a shape that came up.
  void enter(std::uint32_t shape);

  // Shapes that stand in the indexes with another key than their own.
  const std::vector<std::uint32_t>& stale() const { return stale_; }

 private:
  enum class Kind : std::uint8_t { ranked, open, blocked, shape, flow, task };
  struct Candidate {
    OrderKey key;
    Kind kind = Kind::shape;
    std::uint32_t at = 0;     // its place in the heap, tree or list of its kind
    std::uint32_t shape = 0;  // of a shape, flow or task
  };
  struct Search {
    const WaitingShapes* shapes;
    Need available;
  };
  struct Open {
    const Flow* flow;
    FlowCursor cursor;
  };

  void push(const Candidate& candidate);
  void push_in(const IndexedHeap<OrderKey>& heap, Kind kind, std::uint32_t at);
  void push_subtree(std::uint32_t search, WaitingShapes::Index at);
  void push_flow(std::uint32_t shape, std::uint32_t at);
  void push_task(std::uint32_t cursor, std::uint32_t shape);
  void open_heap(const IndexedHeap<OrderKey>& heap, const Candidate& least);
  void open_subtree(const Candidate& least);
  void open_flow(const Candidate& least);
  void surface(std::uint32_t shape, const OrderKey& stored);

  State& state_;
  std::vector<Candidate> frontier_;  // a binary heap, least key first
  std::vector<Search> searches_;
  std::vector<Open> cursors_;
  std::vector<std::uint32_t> stale_;
};

}  // namespace berth::core
