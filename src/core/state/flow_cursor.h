// Read-only walks that a batch is built from: a queue's flows in order, a flow's tasks in order.
//
// Neither changes anything, so that building a batch and giving it up costs nothing to undo.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/chunk_fifo.h"
#include "core/state/state.h"

namespace berth::core {

// The pending tasks of one lane by (eligible, number).
class LaneCursor {
 public:
  LaneCursor(const State& state, const Lane& lane);
  // kNoSlot at the end.
  std::uint32_t slot() const { return slot_; }
  void advance();

 private:
  void settle();

  const State* state_;
  ChunkPool::Cursor fifo_;
  std::set<ReturnedTask>::const_iterator returned_;
  std::set<ReturnedTask>::const_iterator returned_end_;
  std::uint32_t slot_ = kNoSlot;
  bool from_returned_ = false;
};

// The pending tasks of one flow in order of service. Most flows have one lane; the others cost an
// allocation.
class FlowCursor {
 public:
  FlowCursor(const State& state, const Flow& flow);
  // kNoSlot at the end.
  std::uint32_t slot() const { return best().slot(); }
  void advance();

 private:
  LaneCursor& best() { return best_ == 0 ? first_ : more_[best_ - 1]; }
  const LaneCursor& best() const { return best_ == 0 ? first_ : more_[best_ - 1]; }
  void choose_best();

  const State* state_;
  const Flow* flow_;
  LaneCursor first_;
  std::vector<LaneCursor> more_;
  std::size_t best_ = 0;
};

// The startable flows of one queue by exact key. The heap below its top holds lower bounds, so each
// flow is looked at with its stored key first and, if that was stale, put back with the exact one.
class FlowOrder {
 public:
  FlowOrder(const State& state, const Queue& queue);
  // The next flow and its key; none at the end.
  struct Item {
    std::uint32_t flow;
    OrderKey key;
  };
  std::optional<Item> next();

 private:
  struct Candidate {
    OrderKey key;
    std::uint32_t position;
    std::uint32_t flow;
    bool exact;
  };
  void push(Candidate candidate);

  const State* state_;
  const Queue* queue_;
  std::vector<Candidate> frontier_;  // a binary heap, least key first
};

}  // namespace berth::core
