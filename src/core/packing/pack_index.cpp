// See pack_index.h.
#include "core/packing/pack_index.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace berth::core {
namespace {

// The place of a node in the order of ties: an invertible mix of its id above the id itself.
std::uint64_t tie_key(NodeId node) {
  std::uint32_t x = node.value;
  x = (x ^ (x >> 16)) * 0x7feb352dU;
  x = (x ^ (x >> 15)) * 0x846ca68bU;
  x ^= x >> 16;
  return std::uint64_t{x} << 32 | node.value;
}

NodeId node_of(std::uint64_t key) { return NodeId{static_cast<std::uint32_t>(key)}; }

}  // namespace

void PackIndex::put(NodeId node, const NodeView& view) {
  ASSERT(view.gpus == 0 || view.kind.value < kMaxKinds);
  if (node.value >= nodes_.size()) nodes_.resize(node.value + 1);
  Node& known = nodes_[node.value];
  if (known.here) leave(node);
  if (!known.here || known.view.kind != view.kind || known.view.gpus != view.gpus) {
    if (known.here) count_gpus(known.view, -1);
    count_gpus(view, 1);
  }
  known = {view, join(node, view), true};
}

void PackIndex::erase(NodeId node) {
  ASSERT(find(node) != nullptr);
  leave(node);
  count_gpus(nodes_[node.value].view, -1);
  nodes_[node.value] = {};
}

const NodeView* PackIndex::find(NodeId node) const {
  if (node.value >= nodes_.size() || !nodes_[node.value].here) return nullptr;
  return &nodes_[node.value].view;
}

std::uint32_t PackIndex::join(NodeId node, const NodeView& view) {
  const NodeState state = canonical(outline(view));
  const auto [it, created] = state_slots_.try_emplace(state, 0);
  if (created) {
    if (free_slots_.empty()) {
      free_slots_.push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.emplace_back();
      summaries_.emplace_back();
      changed_.push_back(0);
    }
    it->second = free_slots_.back();
    free_slots_.pop_back();
    slots_[it->second].state = state;
    slots_[it->second].phi = worth_.phi(state);
    note_change(it->second);
  }
  slots_[it->second].members.insert({tie_key(node), view.cpu.value, view.memory.value});
  summaries_[it->second] = slots_[it->second].members.summary();
  return it->second;
}

void PackIndex::leave(NodeId node) {
  const std::uint32_t slot = nodes_[node.value].state;
  State& state = slots_[slot];
  state.members.erase(tie_key(node));
  summaries_[slot] = state.members.summary();
  if (!state.members.empty()) return;
  state_slots_.erase(state.state);
  free_slots_.push_back(slot);
  note_change(slot);
}

void PackIndex::note_change(std::uint32_t slot) {
  changed_[slot] = ++changes_;
  recent_[changes_ % kRecent] = slot;
}

void PackIndex::count_gpus(const NodeView& view, std::int64_t sign) {
  if (view.gpus == 0) return;
  gpus_by_kind_[view.kind.value] += sign * view.gpus;
  gpus_changed_ = true;
}

void PackIndex::set_mix(TypicalMix mix) {
  if (mix == worth_.mix()) return;
  worth_.set_mix(std::move(mix));
  forget_scores();
}

void PackIndex::set_table(std::optional<ValueTable> table) {
  if (table == worth_.table()) return;
  worth_.set_table(std::move(table));
  forget_scores();
}

void PackIndex::forget_scores() {
  caches_.clear();
  for (const auto& [state, slot] : state_slots_)
    slots_[slot].phi = worth_.phi(state);
}

std::optional<PackIndex::Choice> PackIndex::best(const Shape& shape) const {
  if (gpus_changed_ && worth_.set_gpus(gpus_by_kind_)) caches_.clear();
  gpus_changed_ = false;
  Cache& cache = cache_for(shape);
  bring_up_to_date(cache, shape);
  std::optional<Choice> choice;
  cache.levels.visit_levels([&](std::uint32_t slot) {
    const auto node = first_of(cache.levels, slot, shape);
    if (node) choice = Choice{*node, gpus_on(nodes_[node->value], shape)};
    return node.has_value();
  });
  return choice;
}

PackIndex::Cache& PackIndex::cache_for(const Shape& shape) const {
  const CacheKey key{class_of(shape), needs_island(shape)};
  if (caches_.size() == kCachesMax && !caches_.contains(key)) {
    caches_.erase(std::min_element(caches_.begin(), caches_.end(),
                                   [](auto& a, auto& b) { return a.second.used < b.second.used; }));
  }
  Cache& cache = caches_[key];
  cache.used = ++questions_;
  return cache;
}

void PackIndex::bring_up_to_date(Cache& cache, const Shape& shape) const {
  cache.levels.resize(slots_.size());
  const auto renew = [&](std::uint32_t slot) {
    const State& state = slots_[slot];
    cache.levels.set(
        slot, state.members.empty() ? kCostNone : worth_.cheapest(state.state, state.phi, shape));
  };
  if (changes_ - cache.seen <= kRecent) {
    for (std::uint64_t i = cache.seen + 1; i <= changes_; ++i) {
      const std::uint32_t slot = recent_[i % kRecent];
      if (changed_[slot] == i) renew(slot);  // else it comes again
    }
  } else {
    for (std::uint32_t slot = 0; slot < slots_.size(); ++slot) {
      if (changed_[slot] > cache.seen) renew(slot);
    }
  }
  cache.seen = changes_;
}

// Of a level, from its first slot on: the first node in the order of ties where the shape fits.
std::optional<NodeId> PackIndex::first_of(const CostLevels& levels, std::uint32_t slot,
                                          const Shape& shape) const {
  std::uint64_t first = UINT64_MAX;
  const auto accepts = [&](std::uint64_t key) {
    return fits(nodes_[node_of(key).value].view, shape);
  };
  for (; slot != CostLevels::kEnd; slot = levels.next(slot)) {
    const NodeSet::Summary& most = summaries_[slot];
    if (most.first_key >= first || most.cpu_most < shape.cpu.value ||
        most.memory_most < shape.memory.value)
      continue;
    const auto found =
        slots_[slot].members.find(shape.cpu.value, shape.memory.value, first, accepts);
    if (found) first = *found;
  }
  if (first == UINT64_MAX) return std::nullopt;
  return node_of(first);
}

GpuSet PackIndex::gpus_on(const Node& node, const Shape& shape) const {
  if (shape.gpus == 0) return 0;
  const auto start = worth_.best_start(outline(node.view), slots_[node.state].phi, shape,
                                       usable_gpus(node.view, shape));
  ASSERT(start);
  return start->gpus;
}

}  // namespace berth::core
