// Placed work: tasks whose shape asks for more than one slice of one GPU. The slow lane's index.
//
// Tasks of one shape fit where their like fits, so shapes compete, each by its best flow:
//   open     nothing is known against it: it is tried when its turn comes
//   blocked  it was tried and fits nowhere, except perhaps on cells in `freed`
// A cell is what packing calls a node: GPUs of one kind on one node, at most 16. Cells follow from
// the hardware and are numbered in its order; they are made anew, lazily, when it changes.
//
// Invariants: 1 a shape with flows that compete is open or blocked, by its exact key; 2 when no
// node is dirty, a blocked shape fits no cell outside `freed`. All of it is an index: it is rebuilt
// from the tables, everything open, and the answers are the same.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "base/ids.h"
#include "base/indexed_heap.h"
#include "core/model/shape.h"
#include "core/packing/node_view.h"
#include "core/state/need_index.h"
#include "core/state/order_key.h"

namespace berth::core {

enum class PlacedBench : std::uint8_t { none, open, blocked };

struct ShapeWork {
  IndexedHeap<OrderKey> flows;             // that compete; below the top keys are lower bounds
  std::uint32_t leader_flow = UINT32_MAX;  // its best flow
  OrderKey key;                            // of the leader, exact
  PlacedBench bench = PlacedBench::none;
  std::uint32_t led_prev = UINT32_MAX;  // list of its leader's tenant
  std::uint32_t led_next = UINT32_MAX;
};

// Blocked shapes that differ only in CPUs, memory and VRAM stand in one index, by their CPUs.
struct BlockedClass {
  std::uint16_t gpus = 0;
  std::uint16_t share = 0;
  KindMask kinds = 0;
  auto operator<=>(const BlockedClass&) const = default;
};

// Where a shape can start now.
struct Place {
  NodeId node;              // none: nowhere
  std::vector<GpuId> gpus;  // on it; empty for work that needs none
  explicit operator bool() const { return static_cast<bool>(node); }
};

struct Cell {
  NodeId node;
  std::vector<GpuId> gpus;
  NodeView view;
};

struct PlacedWork {
  bool in_use = false;            // cells are kept; from the first placed task on
  std::vector<ShapeWork> shapes;  // by number in the shape table
  HeapPositions positions;        // of shapes among the open or the blocked
  IndexedHeap<OrderKey> open;
  std::map<BlockedClass, NeedIndex> blocked;
  std::vector<Cell> cells;
  std::vector<NodeView> empty_cells;      // each kind of cell once, as if nothing ran
  std::vector<std::uint32_t> first_cell;  // by node; the cells of a node stand together
  bool cells_stale = true;                // the hardware has changed
  std::vector<NodeId> dirty;              // nodes whose cells may have changed
  std::set<std::uint32_t> freed;          // cells with more room than when shapes were blocked
};

}  // namespace berth::core
