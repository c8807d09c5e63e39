// See flow_cursor.h.
#include "core/state/flow_cursor.h"

#include <algorithm>

namespace berth::core {

LaneCursor::LaneCursor(const State& state, const Lane& lane)
    : state_(&state),
      fifo_(state.flows.pool(), lane.fifo),
      returned_(lane.returned.begin()),
      returned_end_(lane.returned.end()) {
  settle();
}

void LaneCursor::settle() {
  while (!fifo_.done() && state_->tasks.row((*fifo_).slot).stamp != (*fifo_).stamp) {
    fifo_.advance();
  }
  slot_ = kNoSlot;
  if (fifo_.done() && returned_ == returned_end_) return;
  from_returned_ = fifo_.done();
  if (!fifo_.done() && returned_ != returned_end_) {
    const TaskRow& row = state_->tasks.row((*fifo_).slot);
    from_returned_ = *returned_ < ReturnedTask{lane_place(*state_, row), row.no, (*fifo_).slot};
  }
  slot_ = from_returned_ ? returned_->slot : (*fifo_).slot;
}

void LaneCursor::advance() {
  if (from_returned_) {
    ++returned_;
  } else {
    fifo_.advance();
  }
  settle();
}

FlowCursor::FlowCursor(const State& state, const Flow& flow)
    : state_(&state), flow_(&flow), first_(state, flow.lanes.front()) {
  if (flow.lanes.size() == 1) return;
  more_.reserve(flow.lanes.size() - 1);
  for (std::size_t i = 1; i < flow.lanes.size(); ++i)
    more_.emplace_back(state, flow.lanes[i]);
  choose_best();
}

void FlowCursor::advance() {
  best().advance();
  if (!more_.empty()) choose_best();
}

void FlowCursor::choose_best() {
  best_ = 0;
  OrderKey least;
  bool found = false;
  for (std::size_t i = 0; i <= more_.size(); ++i) {
    const std::uint32_t slot = i == 0 ? first_.slot() : more_[i - 1].slot();
    if (slot == kNoSlot) continue;
    const OrderKey key = key_in_flow(*state_, *flow_, head_from(state_->tasks.row(slot), slot));
    if (found && least < key) continue;
    found = true;
    least = key;
    best_ = i;
  }
}

FlowOrder::FlowOrder(const State& state, const Queue& queue) : state_(&state), queue_(&queue) {
  if (!queue.flows.empty()) {
    frontier_.reserve(4 * IndexedHeap<OrderKey>::kArity);
    push({queue.flows.top().key, 0, queue.flows.top().handle, false});
  }
}

void FlowOrder::push(Candidate candidate) {
  frontier_.push_back(candidate);
  std::push_heap(frontier_.begin(), frontier_.end(),
                 [](const Candidate& a, const Candidate& b) { return b.key < a.key; });
}

std::optional<FlowOrder::Item> FlowOrder::next() {
  while (!frontier_.empty()) {
    std::pop_heap(frontier_.begin(), frontier_.end(),
                  [](const Candidate& a, const Candidate& b) { return b.key < a.key; });
    const Candidate least = frontier_.back();
    frontier_.pop_back();
    if (least.exact) return Item{least.flow, least.key};
    const auto& entries = queue_->flows.entries();
    const std::size_t first = std::size_t{least.position} * IndexedHeap<OrderKey>::kArity + 1;
    const std::size_t end = std::min(first + IndexedHeap<OrderKey>::kArity, entries.size());
    for (std::size_t child = first; child < end; ++child) {
      push({entries[child].key, static_cast<std::uint32_t>(child), entries[child].handle, false});
    }
    const Flow& flow = state_->flows.flow(least.flow);
    const OrderKey exact = state_->rule->flow_key(*state_, flow, flow.head);
    if (exact == least.key && (frontier_.empty() || exact < frontier_.front().key)) {
      return Item{least.flow, exact};
    }
    push({exact, least.position, least.flow, true});
  }
  return std::nullopt;
}

}  // namespace berth::core
