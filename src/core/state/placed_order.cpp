// See placed_order.h.
#include "core/state/placed_order.h"

#include <algorithm>

#include "core/state/placed_internal.h"

namespace berth::core {
namespace {

constexpr std::size_t kArity = IndexedHeap<OrderKey>::kArity;

}  // namespace

void PlacedOrder::push(const Candidate& candidate) {
  frontier_.push_back(candidate);
  std::push_heap(frontier_.begin(), frontier_.end(),
                 [](const Candidate& a, const Candidate& b) { return b.key < a.key; });
}

void PlacedOrder::push_in(const IndexedHeap<OrderKey>& heap, Kind kind, std::uint32_t at) {
  if (at < heap.size()) push({heap.entries()[at].key, kind, at, heap.entries()[at].handle});
}

void PlacedOrder::push_subtree(std::uint32_t search, WaitingShapes::Index at) {
  if (at == WaitingShapes::kNil) return;
  const Search& where = searches_[search];
  const WaitingShapes::Node& node = where.shapes->node(at);
  if (may_fit(node.least, where.available)) push({node.least_key, Kind::blocked, at, search});
}

void PlacedOrder::push_flow(std::uint32_t shape, std::uint32_t at) {
  const auto& flows = state_.placed.shapes[shape].flows;
  if (at < flows.size()) push({flows.entries()[at].key, Kind::flow, at, shape});
}

void PlacedOrder::push_task(std::uint32_t cursor, std::uint32_t shape) {
  const std::uint32_t slot = cursors_[cursor].cursor.slot();
  if (slot == kNoSlot) return;
  const Flow& flow = *cursors_[cursor].flow;
  const Head head = head_from(state_.tasks.row(slot), slot);
  const OrderKey key = state_.rule->placed_key(state_, state_.queue(flow.queue),
                                               state_.rule->flow_key(state_, flow, head));
  push({key, Kind::task, cursor, shape});
}

void PlacedOrder::add_all() { push_in(state_.placed.ranked, Kind::ranked, 0); }

void PlacedOrder::add_open() { push_in(state_.placed.open, Kind::open, 0); }

void PlacedOrder::add_blocked(const WaitingShapes& shapes, const Need& available) {
  searches_.push_back({&shapes, available});
  push_subtree(static_cast<std::uint32_t>(searches_.size() - 1), shapes.root());
}

void PlacedOrder::add_shape(std::uint32_t shape) {
  push({state_.placed.shapes[shape].key, Kind::shape, 0, shape});
}

void PlacedOrder::enter(std::uint32_t shape) { push_flow(shape, 0); }

// A shape comes up with a stored key: it waits for its exact one.
void PlacedOrder::surface(std::uint32_t shape, const OrderKey& stored) {
  const OrderKey exact = exact_key(state_, shape);
  if (exact != stored) stale_.push_back(shape);
  push({exact, Kind::shape, 0, shape});
}

void PlacedOrder::open_heap(const IndexedHeap<OrderKey>& heap, const Candidate& least) {
  for (std::size_t child = least.at * kArity + 1; child <= least.at * kArity + kArity; ++child)
    push_in(heap, least.kind, static_cast<std::uint32_t>(child));
  surface(least.shape, least.key);
}

void PlacedOrder::open_subtree(const Candidate& least) {
  const std::uint32_t search = least.shape;
  const WaitingShapes::Node& node = searches_[search].shapes->node(least.at);
  push_subtree(search, node.left);
  push_subtree(search, node.right);
  if (may_fit(node.need, searches_[search].available)) surface(node.shape, node.key);
}

void PlacedOrder::open_flow(const Candidate& least) {
  for (std::size_t child = least.at * kArity + 1; child <= least.at * kArity + kArity; ++child)
    push_flow(least.shape, static_cast<std::uint32_t>(child));
  const std::uint32_t id = state_.placed.shapes[least.shape].flows.entries()[least.at].handle;
  const Flow& flow = state_.flows.flow(id);
  cursors_.push_back({&flow, FlowCursor(state_, flow)});
  push_task(static_cast<std::uint32_t>(cursors_.size() - 1), least.shape);
}

std::optional<PlacedOrder::Item> PlacedOrder::next() {
  while (!frontier_.empty()) {
    std::pop_heap(frontier_.begin(), frontier_.end(),
                  [](const Candidate& a, const Candidate& b) { return b.key < a.key; });
    const Candidate least = frontier_.back();
    frontier_.pop_back();
    switch (least.kind) {
      case Kind::ranked:
        open_heap(state_.placed.ranked, least);
        break;
      case Kind::open:
        open_heap(state_.placed.open, least);
        break;
      case Kind::blocked:
        open_subtree(least);
        break;
      case Kind::flow:
        open_flow(least);
        break;
      case Kind::shape:
        return Item{least.key, least.shape};
      case Kind::task: {
        const Item item{least.key, least.shape, cursors_[least.at].cursor.slot()};
        cursors_[least.at].cursor.advance();
        push_task(least.at, least.shape);
        return item;
      }
    }
  }
  return std::nullopt;
}

}  // namespace berth::core
