// See need_index.h.
#include "core/state/need_index.h"

#include <algorithm>

#include "base/assert.h"

namespace berth::core {

const NeedIndex::Node& NeedIndex::lesser(const Node& a, const Node& b) {
  if (a.handle == kNobody) return b;
  if (b.handle == kNobody) return a;
  return b.key < a.key ? b : a;
}

NeedIndex::Node NeedIndex::node_of(std::size_t leaf) const {
  const auto& heap = heaps_[leaf];
  return heap.empty() ? Node{} : Node{heap.top().key, heap.top().handle};
}

std::size_t NeedIndex::leaf_of(std::int64_t need) const {
  const auto it = std::lower_bound(needs_.begin(), needs_.end(), need);
  ASSERT(it != needs_.end() && *it == need);
  return static_cast<std::size_t>(it - needs_.begin());
}

void NeedIndex::insert(HeapPositions& positions, std::uint32_t handle, std::int64_t need,
                       const OrderKey& key) {
  if (!std::binary_search(needs_.begin(), needs_.end(), need)) add_leaf(need);
  const std::size_t leaf = leaf_of(need);
  if (heaps_[leaf].empty()) ++occupied_;
  heaps_[leaf].put(positions, handle, key);
  ++size_;
  update(leaf);
}

void NeedIndex::erase(HeapPositions& positions, std::uint32_t handle, std::int64_t need) {
  const std::size_t leaf = leaf_of(need);
  heaps_[leaf].erase(positions, handle);
  --size_;
  if (heaps_[leaf].empty()) --occupied_;
  update(leaf);
}

std::optional<NeedIndex::Best> NeedIndex::best(std::int64_t available) const {
  if (size_ == 0) return std::nullopt;
  const auto fitting = std::upper_bound(needs_.begin(), needs_.end(), available);
  std::size_t end = static_cast<std::size_t>(fitting - needs_.begin()) + width_;
  Node least;
  for (std::size_t begin = width_; begin < end; begin /= 2, end /= 2) {
    if (begin % 2 == 1) least = lesser(least, tree_[begin++]);
    if (end % 2 == 1) least = lesser(least, tree_[--end]);
  }
  if (least.handle == kNobody) return std::nullopt;
  return Best{least.handle, least.key};
}

void NeedIndex::add_leaf(std::int64_t need) {
  if (needs_.size() > 2 * occupied_ + 16) drop_empty_leaves();
  const auto at = std::lower_bound(needs_.begin(), needs_.end(), need) - needs_.begin();
  needs_.insert(needs_.begin() + at, need);
  heaps_.insert(heaps_.begin() + at, IndexedHeap<OrderKey>{});
  rebuild();
}

void NeedIndex::drop_empty_leaves() {
  std::size_t kept = 0;
  for (std::size_t leaf = 0; leaf < needs_.size(); ++leaf) {
    if (heaps_[leaf].empty()) continue;
    needs_[kept] = needs_[leaf];
    if (kept != leaf) heaps_[kept] = std::move(heaps_[leaf]);
    ++kept;
  }
  needs_.resize(kept);
  heaps_.resize(kept);
}

void NeedIndex::rebuild() {
  width_ = 1;
  while (width_ < needs_.size())
    width_ *= 2;
  tree_.assign(2 * width_, Node{});
  for (std::size_t leaf = 0; leaf < needs_.size(); ++leaf)
    tree_[width_ + leaf] = node_of(leaf);
  for (std::size_t i = width_; i-- > 1;)
    tree_[i] = lesser(tree_[2 * i], tree_[2 * i + 1]);
}

void NeedIndex::update(std::size_t leaf) {
  std::size_t i = width_ + leaf;
  tree_[i] = node_of(leaf);
  for (i /= 2; i >= 1; i /= 2)
    tree_[i] = lesser(tree_[2 * i], tree_[2 * i + 1]);
}

}  // namespace berth::core
