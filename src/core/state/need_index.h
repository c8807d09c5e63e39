// NeedIndex: work by what its head needs; answers "the first in order that needs at most x". Its
// members are queues, or shapes of placed work: numbers to it.
//
// Blocked work is thus never visited: a decision asks with what is available and gets the best
// queue that fits, in O(log n), however many larger ones wait. Leaves are the distinct needs;
// each holds a heap by key; a segment tree keeps the least key of every range.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/indexed_heap.h"
#include "core/state/order_key.h"

namespace berth::core {

class NeedIndex {
 public:
  // REQUIRES: the member is not in any index that shares `positions`.
  void insert(HeapPositions& positions, std::uint32_t handle, std::int64_t need,
              const OrderKey& key);
  void erase(HeapPositions& positions, std::uint32_t handle, std::int64_t need);

  struct Best {
    std::uint32_t handle;
    OrderKey key;
  };
  // The member of least key among those with need <= available.
  std::optional<Best> best(std::int64_t available) const;
  bool empty() const { return size_ == 0; }
  // Calls visit(need, heap of those with that need); for checks.
  template <class Visit>
  void visit(Visit visit) const {
    for (std::size_t leaf = 0; leaf < needs_.size(); ++leaf)
      visit(needs_[leaf], heaps_[leaf]);
  }

 private:
  static constexpr std::uint32_t kNobody = UINT32_MAX;  // no member in this range

  struct Node {
    OrderKey key;
    std::uint32_t handle = kNobody;
  };

  std::size_t leaf_of(std::int64_t need) const;
  void add_leaf(std::int64_t need);
  void drop_empty_leaves();
  void rebuild();
  void update(std::size_t leaf);
  static const Node& lesser(const Node& a, const Node& b);
  Node node_of(std::size_t leaf) const;

  std::vector<std::int64_t> needs_;           // sorted, distinct
  std::vector<IndexedHeap<OrderKey>> heaps_;  // by leaf
  std::vector<Node> tree_;                    // 1-based; leaves from width_
  std::size_t width_ = 0;                     // power of two
  std::size_t size_ = 0;                      // members
  std::size_t occupied_ = 0;                  // leaves with a member
};

}  // namespace berth::core
