// See placed_order.h.
#include "core/state/placed_order.h"

#include <algorithm>

#include "core/state/placed_internal.h"

namespace berth::core {
namespace {

constexpr std::uint32_t kArity = IndexedHeap<OrderKey>::kArity;

template <class Push>
void for_children(std::uint32_t at, Push push) {
  for (std::uint32_t child = at * kArity + 1; child <= at * kArity + kArity; ++child)
    push(child);
}

}  // namespace

void PlacedOrder::push(const Candidate& candidate) {
  frontier_.push_back(candidate);
  std::push_heap(frontier_.begin(), frontier_.end(),
                 [](const Candidate& a, const Candidate& b) { return b.key < a.key; });
}

void PlacedOrder::push_in(const IndexedHeap<OrderKey>& heap, Kind kind, std::uint32_t at,
                          std::uint32_t list) {
  if (at < heap.size()) push({heap.entries()[at].key, kind, at, list});
}

void PlacedOrder::push_of_tenant(TenantId tenant, std::uint32_t at) {
  const IndexedHeap<OrderKey>& flows = state_.placed.of_tenant[tenant.value];
  if (at >= flows.size()) return;
  push({with_v(state_, tenant, flows.entries()[at].key), Kind::of_tenant, at, tenant.value});
}

void PlacedOrder::push_subtree(std::uint32_t tree, WaitingTree::Index at) {
  if (at == WaitingTree::kNil) return;
  const Tree& where = trees_[tree];
  const WaitingTree::Node& node = where.flows->node(at);
  if (!may_fit(node.least, where.available)) return;
  push({with_v(state_, where.tenant, node.least_key), Kind::blocked, at, tree});
}

void PlacedOrder::push_lone(StayTree::Index at) {
  if (at == StayTree::kNil) return;
  const StayTree::Node& node = state_.placed.lone.node(at);
  if (may_fit_beside(state_, node.least)) push({node.least_key, Kind::lone, at, 0});
}

void PlacedOrder::push_task(std::uint32_t cursor) {
  const std::uint32_t slot = cursors_[cursor].slot();
  if (slot != kNoSlot) push({placed_key_of(state_, slot), Kind::task, cursor, 0});
}

void PlacedOrder::add_all() { push_in(state_.placed.ranked, Kind::ranked, 0, 0); }

void PlacedOrder::add_open() {
  push_in(state_.placed.open, Kind::open, 0, 0);
  push_lone(state_.placed.lone.root());
}

void PlacedOrder::add_blocked(NeedyTenants& needy, const Need& available) {
  searches_.push_back({&needy, available});
  push_in(needy.tenants, Kind::needy, 0, static_cast<std::uint32_t>(searches_.size() - 1));
}

void PlacedOrder::enter(const Item& item) {
  if (item.flow != kNoSlot) return open_flow(item.flow);
  push_in(state_.placed.shapes[item.shape].flows, Kind::of_shape, 0, item.shape);
}

// --- what comes up is opened: what stands behind it is pushed ---

void PlacedOrder::open_tenant(const Candidate& least) {
  for_children(least.at,
               [&](std::uint32_t child) { push_in(state_.placed.ranked, Kind::ranked, child, 0); });
  const TenantId tenant{state_.placed.ranked.entries()[least.at].handle};
  const OrderKey& best = state_.placed.of_tenant[tenant.value].top().key;
  if (with_v(state_, tenant, best) != least.key) stale_tenants_.push_back(tenant);
  push_of_tenant(tenant, 0);
}

void PlacedOrder::open_of_tenant(const Candidate& least) {
  const TenantId tenant{least.list};
  for_children(least.at, [&](std::uint32_t child) { push_of_tenant(tenant, child); });
  surface_flow(state_.placed.of_tenant[tenant.value].entries()[least.at].handle, least.key);
}

void PlacedOrder::open_shape(const Candidate& least) {
  for_children(least.at,
               [&](std::uint32_t child) { push_in(state_.placed.open, Kind::open, child, 0); });
  surface_shape(state_.placed.open.entries()[least.at].handle, least.key);
}

void PlacedOrder::open_lone(const Candidate& least) {
  const StayTree::Node& node = state_.placed.lone.node(least.at);
  push_lone(node.left);
  push_lone(node.right);
  if (may_fit_beside(state_, node.need)) surface_shape(node.member, node.key);
}

void PlacedOrder::open_needy(const Candidate& least) {
  const Search search = searches_[least.list];
  for_children(least.at, [&](std::uint32_t child) {
    push_in(search.needy->tenants, Kind::needy, child, least.list);
  });
  const TenantId tenant{search.needy->tenants.entries()[least.at].handle};
  const WaitingTree& flows = search.needy->flows.at(tenant);
  const OrderKey best = with_v(state_, tenant, flows.node(flows.root()).least_key);
  if (best != least.key) stale_needy_.emplace_back(search.needy, tenant);
  trees_.push_back({&flows, tenant, search.available});
  push_subtree(static_cast<std::uint32_t>(trees_.size() - 1), flows.root());
}

void PlacedOrder::open_subtree(const Candidate& least) {
  const Tree tree = trees_[least.list];
  const WaitingTree::Node& node = tree.flows->node(least.at);
  push_subtree(least.list, node.left);
  push_subtree(least.list, node.right);
  if (!may_fit(node.need, tree.available)) return;
  const std::uint32_t shape = state_.flows.flow(node.member).shape;
  if (state_.placed.shapes[shape].bench != PlacedBench::blocked) return;
  surface_flow(node.member, with_v(state_, tree.tenant, node.key));
}

void PlacedOrder::open_of_shape(const Candidate& least) {
  const IndexedHeap<OrderKey>& flows = state_.placed.shapes[least.list].flows;
  for_children(least.at,
               [&](std::uint32_t child) { push_in(flows, Kind::of_shape, child, least.list); });
  open_flow(flows.entries()[least.at].handle);
}

void PlacedOrder::open_flow(std::uint32_t flow) {
  cursors_.emplace_back(state_, state_.flows.flow(flow));
  push_task(static_cast<std::uint32_t>(cursors_.size() - 1));
}

// What comes up with a stored key waits for its exact one.
void PlacedOrder::surface_shape(std::uint32_t shape, const OrderKey& stored) {
  const OrderKey exact = exact_key(state_, shape);
  if (exact != stored) stale_shapes_.push_back(shape);
  push({exact, Kind::shape, shape, 0});
}

void PlacedOrder::surface_flow(std::uint32_t flow, const OrderKey& stored) {
  const OrderKey exact = placed_key_of(state_, state_.flows.flow(flow));
  if (exact != stored) stale_flows_.push_back(flow);
  push({exact, Kind::flow, flow, 0});
}

std::optional<PlacedOrder::Item> PlacedOrder::next() {
  while (!frontier_.empty()) {
    std::pop_heap(frontier_.begin(), frontier_.end(),
                  [](const Candidate& a, const Candidate& b) { return b.key < a.key; });
    const Candidate least = frontier_.back();
    frontier_.pop_back();
    switch (least.kind) {
      case Kind::ranked:
        open_tenant(least);
        break;
      case Kind::of_tenant:
        open_of_tenant(least);
        break;
      case Kind::open:
        open_shape(least);
        break;
      case Kind::lone:
        open_lone(least);
        break;
      case Kind::needy:
        open_needy(least);
        break;
      case Kind::blocked:
        open_subtree(least);
        break;
      case Kind::of_shape:
        open_of_shape(least);
        break;
      case Kind::shape:
        return Item{least.key, least.at};
      case Kind::flow:
        return Item{least.key, state_.flows.flow(least.at).shape, least.at};
      case Kind::task: {
        const std::uint32_t slot = cursors_[least.at].slot();
        const TaskRow& row = state_.tasks.row(slot);
        cursors_[least.at].advance();
        push_task(least.at);
        return Item{least.key, row.shape, row.flow, slot};
      }
    }
  }
  return std::nullopt;
}

void PlacedOrder::put_right() {
  for (const TenantId tenant : stale_tenants_)
    rank_tenant(state_, tenant);
  for (const auto& [needy, tenant] : stale_needy_)
    rank_tenant(state_, *needy, tenant);
  for (const std::uint32_t flow : stale_flows_)
    rank_flow(state_, flow, placed_key_of(state_, state_.flows.flow(flow)));
  for (const std::uint32_t shape : stale_shapes_)
    refresh_shape(state_, shape);
}

}  // namespace berth::core
