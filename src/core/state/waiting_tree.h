// TreeByNeed: shapes or flows by what they need, for the question "who goes first of those that
// fit here now?".
//
// A treap ordered by need, whose priorities are a hash of the member's number; every subtree knows
// its least key and the least it needs of each amount. A search goes from the least key on and
// leaves out subtrees that need too much, so it costs a few steps where much fits, and few where
// nothing does. Knows no tasks and no cells. What it holds decides how it looks, never the order of
// the changes.
//
// WaitingTree: by what they need of a node. StayTree: by what they take of the cluster, how long.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "core/state/order_key.h"

namespace berth::core {

struct Need {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  std::int64_t vram = 0;  // on each GPU
  auto operator<=>(const Need&) const = default;
};

struct Stay {
  std::int64_t amount = 0;  // milli-GPUs
  Duration run;
  auto operator<=>(const Stay&) const = default;
};

// The least of two, each amount by itself.
constexpr Need least_of(const Need& a, const Need& b) {
  return {std::min(a.cpu, b.cpu), std::min(a.memory, b.memory), std::min(a.vram, b.vram)};
}
constexpr Stay least_of(const Stay& a, const Stay& b) {
  return {std::min(a.amount, b.amount), std::min(a.run, b.run)};
}

template <class Needed>
class TreeByNeed {
 public:
  using Index = std::uint32_t;
  static constexpr Index kNil = UINT32_MAX;

  struct Node {
    std::uint32_t member = 0;
    Needed need;
    OrderKey key;
    Index left = kNil;
    Index right = kNil;
    OrderKey least_key;  // of the subtree
    Needed least;        // of the subtree, each amount by itself
  };

  // REQUIRES it is not there, or is.
  void insert(std::uint32_t member, const Needed& need, const OrderKey& key);
  void erase(std::uint32_t member, const Needed& need);
  void set_key(std::uint32_t member, const Needed& need, const OrderKey& key);

  bool empty() const { return root_ == kNil; }
  // For searches.
  Index root() const { return root_; }
  const Node& node(Index at) const { return nodes_[at]; }
  template <class Visit>
  void visit(Visit visit) const {
    visit_below(root_, visit);
  }

 private:
  Index inserted(Index at, Index fresh);
  Index erased(Index at, std::uint32_t member, const Needed& need);
  void change_key(Index at, std::uint32_t member, const Needed& need, const OrderKey& key);
  Index merged(Index a, Index b);
  void split(Index at, Index by, Index& before, Index& after);
  bool comes_before(Index a, Index b) const;
  void refresh(Index at);
  template <class Visit>
  void visit_below(Index at, Visit& visit) const {
    if (at == kNil) return;
    visit_below(nodes_[at].left, visit);
    visit(nodes_[at].member);
    visit_below(nodes_[at].right, visit);
  }

  Index root_ = kNil;
  Index spare_ = kNil;  // removed nodes, linked by `left`
  std::vector<Node> nodes_;
};

using WaitingTree = TreeByNeed<Need>;
using StayTree = TreeByNeed<Stay>;

// Whether anything in the subtree, or this one, might need no more than there is.
constexpr bool may_fit(const Need& need, const Need& available) {
  return need.cpu <= available.cpu && need.memory <= available.memory &&
         need.vram <= available.vram;
}

}  // namespace berth::core
