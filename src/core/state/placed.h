// Placed work: tasks whose shape asks for more than one slice of one GPU. The slow lane's index.
//
// Tasks of one shape fit where their like fits, so shapes compete, each by its best flow:
//   open     it fitted when it was last tried, or was not tried yet
//   blocked  it was tried and fits nowhere, except perhaps on cells in `freed`
// A cell is what packing and the gang search call a node: GPUs of one kind and size on one node, at
// most 16. Cells follow from the hardware and are numbered in its order; they are made anew,
// lazily, when it changes.
//
// What starts next is found in one pass in order of service (placed_next.cpp): the first few tasks
// that cannot start get a reservation; behind them, only shapes that fit somewhere are looked at,
// for a task that delays no reservation, and no shape whose only task would delay one wherever it
// ran. A pass is made anew for every start; nothing of it
// outlives the state it was made from.
//
// Invariants: 1 a shape with flows that compete is open or blocked; 2 when no node is dirty, a
// blocked shape fits no cell outside `freed`. All of it is an index: it is rebuilt from the tables,
// everything open, and the answers are the same.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/ids.h"
#include "base/indexed_heap.h"
#include "base/time.h"
#include "core/model/reason.h"
#include "core/model/shape.h"
#include "core/packing/mix.h"
#include "core/packing/node_view.h"
#include "core/packing/pack_index.h"
#include "core/state/free_times.h"
#include "core/state/mig_work.h"
#include "core/state/order_key.h"
#include "core/state/waiting_tree.h"
#include "core/timeline/plan.h"
#include "core/topology/free_index.h"

namespace berth::core {

enum class PlacedBench : std::uint8_t { none, open, blocked };

struct ShapeWork {
  IndexedHeap<OrderKey> flows;  // that compete; keys are lower bounds
  OrderKey key;                 // by which it stands among the open
  PlacedBench bench = PlacedBench::none;
  std::optional<Stay> lone;    // open, and one task alone: what that takes
  std::uint64_t tried_at = 0;  // blocked: the version of the cells it was tried with
  // The last pass that searched a place for it, and which of the places found is its.
  std::uint64_t tried = 0;
  std::uint32_t place = UINT32_MAX;  // none: it fits nowhere
};

// Blocked shapes that differ only in CPUs, memory and VRAM stand in one index.
struct BlockedClass {
  bool is_gang = false;  // may lie on several nodes
  std::uint16_t gpus = 0;
  std::uint16_t share = 0;
  KindMask kinds = 0;
  auto operator<=>(const BlockedClass&) const = default;
};

// Flows whose shapes are of one class: each tenant's by what they need, and the tenants by lower
// bounds of their best flows' keys.
struct NeedyTenants {
  std::map<TenantId, WaitingTree> flows;
  IndexedHeap<OrderKey> tenants;
  HeapPositions positions;
};

// Where a shape can start now.
struct Place {
  NodeId node;              // of work without a GPU
  std::vector<GpuId> gpus;  // by rank
  std::optional<MigInstance> instance;
  explicit operator bool() const { return static_cast<bool>(node) || !gpus.empty(); }
};

// GPUs of one kind with as much VRAM, cut alike; to the gang search: a kind.
struct CellKind {
  KindId kind;
  Mib usable;
  mig::Geometry mig = mig::Geometry::none;  // other than none: they take nothing but instances
  auto operator<=>(const CellKind&) const = default;
};

struct Cell {
  NodeId node;
  std::uint32_t kind = 0;  // in PlacedWork::kinds
  std::vector<GpuId> gpus;
  NodeView view;
  PoolId pool;  // in the plan
};

struct NextStart {
  std::uint32_t slot = 0;  // of the task
  OrderKey key;
  Place place;
};

// When the nodes or racks of one kind have so much free.
struct DomainTimes {
  Level level = Level::node;
  std::uint32_t kind = 0;
  FreeTimes times;
};

// What runs and what is reserved, over time. Made when the first reservation is, kept while placed
// work waits and for some time after.
struct PlacedPlan {
  bool kept = false;
  std::size_t idle_changes = 0;  // of leases, since placed work last waited
  Pools pools;
  PoolId all;
  std::vector<PoolId> roots;                                 // by cell kind
  std::map<std::pair<std::uint32_t, RackId>, PoolId> racks;  // by cell kind and rack
  std::vector<std::uint32_t> kind_of;                        // by pool of a cell
  std::vector<DomainTimes> times;  // those that were asked for; at most kDomainTimesMax
  LongWork long_work;
  std::vector<Reservation> reservations;  // handles are task numbers
  // Tasks behind this one get no reservation; none: there were fewer.
  std::optional<OrderKey> last;
};

// What packing knows of the work that comes.
struct PackingKnowledge {
  Mix mix;  // learned from what is submitted
  std::uint64_t arrivals = 0;
  TypicalMix typical;               // in force while no table is: taken from the mix now and then
  std::uint64_t version = 0;        // of the table
  std::vector<std::uint8_t> table;  // as it came; empty: none
};

struct PlacedWork {
  bool in_use = false;            // cells are kept; from the first placed task on
  std::vector<ShapeWork> shapes;  // by number in the shape table
  HeapPositions positions;        // of shapes in `open`
  IndexedHeap<OrderKey> open;     // but for those of one task, which stand in `lone`
  StayTree lone;                  // so that nobody looks at those that would delay a reservation
  std::map<BlockedClass, WaitingTree> blocked;  // without keys
  // By tenant (placed_tenants.cpp): a charge moves the tenant, not its flows.
  std::vector<IndexedHeap<OrderKey>> of_tenant;  // its flows that compete, keys without its V
  HeapPositions flow_positions;
  IndexedHeap<OrderKey> ranked;  // tenants, by lower bounds of their best flows' keys
  HeapPositions tenant_positions;
  std::map<BlockedClass, NeedyTenants> needy;  // the flows of work that lies on one node
  std::uint64_t passes = 0;
  std::vector<std::uint64_t> entered;  // by flow: the last pass that came upon it

  std::vector<Cell> cells;
  std::vector<std::uint32_t> cell_of;     // by GPU
  std::vector<CellKind> kinds;            // at most kMaxKinds
  std::vector<NodeView> empty_cells;      // each sort of cell once, as if nothing ran
  std::vector<std::uint32_t> first_cell;  // by node; the cells of a node stand together
  bool cells_stale = true;                // the hardware has changed
  std::vector<NodeId> dirty;              // nodes whose cells may have changed
  std::set<std::uint32_t> freed;          // cells with more room than when shapes were blocked
  std::uint64_t version = 1;              // goes up when a cell has more room
  std::uint64_t gangs_tried = 0;          // the version at which no blocked gang fitted
  PackIndex pack;
  std::optional<FreeIndex> tree;
  std::optional<FreeIndex> empty_tree;  // as if everything were up and nothing ran

  MigWork mig;
  PlacedPlan plan;
  // Something has changed that a search or a plan would see. Time alone opens nothing: what runs is
  // counted on until its end is moved, so nothing fits later that does not fit now. But after a
  // pass that ran out of visits it may leave out somebody who used one, and another comes up.
  bool stale = true;
  Time looked_at{0};  // of the last pass
  // Tenants were charged. Where the last pass saw all there is and found nothing to start, that
  // matters only if others are the first now: behind them nobody's order counts.
  bool reordered = false;
  bool all_seen = false;
  std::vector<TaskNo> first;  // the tasks that could not start and were looked at for reservations
  // Of preemption: what makes ranks differ, and what has changed since no plan was found.
  std::uint32_t guarantees = 0;  // tenants that have one
  std::uint64_t low_tier_tasks = 0;
  bool ranks_differ() const { return guarantees > 0 || low_tier_tasks > 0; }
  bool preemption_stale = true;  // what runs, or what is free
  bool arrivals_stale = true;    // who waits, at most
  std::vector<TaskNo> no_plan_for;
  Time no_plan_before{0};
  std::optional<NextStart> next;  // what starts next, until anything changes
};

// Whether all its GPUs must lie on one node, wherever there. (An island may join several nodes.)
constexpr bool lies_on_one_node(const Shape& shape) {
  return shape.gpus <= 1 || (shape.required && shape.within == Level::node && shape.groups == 1);
}

}  // namespace berth::core
