// See placed_order.h.
#include "core/state/placed_order.h"

#include <algorithm>

namespace berth::core {
namespace {

constexpr std::size_t kArity = IndexedHeap<OrderKey>::kArity;

}  // namespace

PlacedOrder::PlacedOrder(const State& state) : state_(state) { push_shape(0); }

void PlacedOrder::push(const Candidate& candidate) {
  frontier_.push_back(candidate);
  std::push_heap(frontier_.begin(), frontier_.end(),
                 [](const Candidate& a, const Candidate& b) { return b.key < a.key; });
}

void PlacedOrder::push_shape(std::uint32_t position) {
  const auto& entries = state_.placed.ranked.entries();
  if (position < entries.size()) push({entries[position].key, Kind::shape, position, 0});
}

void PlacedOrder::push_flow(std::uint32_t shape, std::uint32_t position) {
  const auto& entries = state_.placed.shapes[shape].flows.entries();
  if (position < entries.size()) push({entries[position].key, Kind::flow, position, shape});
}

OrderKey PlacedOrder::key_of(const Flow& flow, std::uint32_t slot) const {
  const Head head = head_from(state_.tasks.row(slot), slot);
  return state_.rule->placed_key(state_, state_.queue(flow.queue),
                                 state_.rule->flow_key(state_, flow, head));
}

void PlacedOrder::push_task(std::uint32_t cursor) {
  const std::uint32_t slot = cursors_[cursor].cursor.slot();
  if (slot == kNoSlot) return;
  push({key_of(*cursors_[cursor].flow, slot), Kind::task, cursor, 0});
}

std::optional<PlacedOrder::Item> PlacedOrder::next() {
  while (!frontier_.empty()) {
    std::pop_heap(frontier_.begin(), frontier_.end(),
                  [](const Candidate& a, const Candidate& b) { return b.key < a.key; });
    const Candidate least = frontier_.back();
    frontier_.pop_back();
    if (least.kind == Kind::task) {
      const Item item{cursors_[least.at].cursor.slot(), least.key};
      cursors_[least.at].cursor.advance();
      push_task(least.at);
      return item;
    }
    for (std::size_t child = least.at * kArity + 1; child <= least.at * kArity + kArity; ++child) {
      const auto position = static_cast<std::uint32_t>(child);
      if (least.kind == Kind::shape) {
        push_shape(position);
      } else {
        push_flow(least.shape, position);
      }
    }
    if (least.kind == Kind::shape) {
      push_flow(state_.placed.ranked.entries()[least.at].handle, 0);
      continue;
    }
    const Flow& flow =
        state_.flows.flow(state_.placed.shapes[least.shape].flows.entries()[least.at].handle);
    cursors_.push_back({&flow, FlowCursor(state_, flow)});
    push_task(static_cast<std::uint32_t>(cursors_.size() - 1));
  }
  return std::nullopt;
}

}  // namespace berth::core
