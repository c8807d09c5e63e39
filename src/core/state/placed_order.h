// PlacedOrder: pending placed work in order of service, one item at a time. Lazy: looking at the
// first few costs a few steps, however many wait.
//
// What is walked is added first: every flow, the open shapes (but for single tasks that would delay
// a reservation wherever they ran), or the flows of blocked shapes that fit a cell. A flow or shape
// comes up when its turn may have come, and once; who enters it gets its tasks, each when its own
// turn comes. Stored keys may be lower bounds; what comes up with one waits for its exact one, so
// tasks come in their exact order. While it walks, nothing that it walks on may change; then the
// keys that were stale are put right.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/state/flow_cursor.h"
#include "core/state/state.h"

namespace berth::core {

class PlacedOrder {
 public:
  explicit PlacedOrder(State& state) : state_(state) {}

  void add_all();
  void add_open();
  // Those of blocked shapes that may fit what there is.
  void add_blocked(NeedyTenants& needy, const Need& available);

  struct Item {
    OrderKey key;
    std::uint32_t shape = 0;
    std::uint32_t flow = kNoSlot;  // none: all of the shape's
    std::uint32_t slot = kNoSlot;  // of a task; none: the flow or shape itself
  };
  // None at the end.
  std::optional<Item> next();
  // The tasks of a flow or shape that came up.
  void enter(const Item& item);

  // Ends the walk: keys that were stale are made exact.
  void put_right();

 private:
  enum class Kind : std::uint8_t {
    ranked,
    of_tenant,
    open,
    lone,
    needy,
    blocked,
    shape,
    flow,
    of_shape,
    task
  };
  struct Candidate {
    OrderKey key;
    Kind kind = Kind::shape;
    std::uint32_t at = 0;    // its place in the heap, tree or list of its kind; a shape, a flow
    std::uint32_t list = 0;  // which heap, tree or list: of a tenant, a search, a shape
  };
  struct Search {
    NeedyTenants* needy;
    Need available;
  };
  struct Tree {
    const WaitingTree* flows;
    TenantId tenant;
    Need available;
  };

  void push(const Candidate& candidate);
  void push_in(const IndexedHeap<OrderKey>& heap, Kind kind, std::uint32_t at, std::uint32_t list);
  void push_of_tenant(TenantId tenant, std::uint32_t at);
  void push_subtree(std::uint32_t tree, WaitingTree::Index at);
  void push_lone(StayTree::Index at);
  void push_task(std::uint32_t cursor);
  void open_tenant(const Candidate& least);
  void open_of_tenant(const Candidate& least);
  void open_shape(const Candidate& least);
  void open_lone(const Candidate& least);
  void surface_shape(std::uint32_t shape, const OrderKey& stored);
  void open_needy(const Candidate& least);
  void open_subtree(const Candidate& least);
  void open_of_shape(const Candidate& least);
  void open_flow(std::uint32_t flow);
  void surface_flow(std::uint32_t flow, const OrderKey& stored);

  State& state_;
  std::vector<Candidate> frontier_;  // a binary heap, least key first
  std::vector<Search> searches_;
  std::vector<Tree> trees_;
  std::vector<FlowCursor> cursors_;
  // With stored keys below their exact ones.
  std::vector<TenantId> stale_tenants_;
  std::vector<std::pair<NeedyTenants*, TenantId>> stale_needy_;
  std::vector<std::uint32_t> stale_flows_;
  std::vector<std::uint32_t> stale_shapes_;
};

}  // namespace berth::core
