// See waiting_tree.h.
#include "core/state/waiting_tree.h"

#include <algorithm>
#include <tuple>

#include "base/assert.h"
#include "base/scramble.h"

namespace berth::core {
namespace {

std::uint64_t priority_of(std::uint32_t member) {
  return scramble(member + 0x9e3779b97f4a7c15ULL);  // not 0 for the first
}

}  // namespace

template <class Needed>
void TreeByNeed<Needed>::insert(std::uint32_t member, const Needed& need, const OrderKey& key) {
  Index at = spare_;
  if (at == kNil) {
    at = static_cast<Index>(nodes_.size());
    nodes_.emplace_back();
  } else {
    spare_ = nodes_[at].left;
  }
  nodes_[at] = {.member = member, .need = need, .key = key, .least_key = key, .least = need};
  root_ = inserted(root_, at);
}

template <class Needed>
void TreeByNeed<Needed>::erase(std::uint32_t member, const Needed& need) {
  root_ = erased(root_, member, need);
}

template <class Needed>
void TreeByNeed<Needed>::set_key(std::uint32_t member, const Needed& need, const OrderKey& key) {
  change_key(root_, member, need, key);
}

template <class Needed>
void TreeByNeed<Needed>::change_key(Index at, std::uint32_t member, const Needed& need,
                                    const OrderKey& key) {
  ASSERT(at != kNil);
  Node& node = nodes_[at];
  if (node.member == member) {
    node.key = key;
  } else {
    const bool is_left = std::tie(need, member) < std::tie(node.need, node.member);
    change_key(is_left ? node.left : node.right, member, need, key);
  }
  node.least_key = node.key;
  for (const Index child : {node.left, node.right}) {
    if (child != kNil) node.least_key = std::min(node.least_key, nodes_[child].least_key);
  }
}

template <class Needed>
bool TreeByNeed<Needed>::comes_before(Index a, Index b) const {
  return std::tie(nodes_[a].need, nodes_[a].member) < std::tie(nodes_[b].need, nodes_[b].member);
}

template <class Needed>
auto TreeByNeed<Needed>::inserted(Index at, Index fresh) -> Index {
  if (at == kNil) return fresh;
  if (priority_of(nodes_[fresh].member) > priority_of(nodes_[at].member)) {
    split(at, fresh, nodes_[fresh].left, nodes_[fresh].right);
    refresh(fresh);
    return fresh;
  }
  Node& node = nodes_[at];
  if (comes_before(fresh, at)) {
    node.left = inserted(node.left, fresh);
  } else {
    node.right = inserted(node.right, fresh);
  }
  refresh(at);
  return at;
}

// Parts a subtree into what comes before `by` and what comes after.
template <class Needed>
void TreeByNeed<Needed>::split(Index at, Index by, Index& before, Index& after) {
  if (at == kNil) {
    before = after = kNil;
    return;
  }
  if (comes_before(at, by)) {
    before = at;
    split(nodes_[at].right, by, nodes_[at].right, after);
  } else {
    after = at;
    split(nodes_[at].left, by, before, nodes_[at].left);
  }
  refresh(at);
}

template <class Needed>
auto TreeByNeed<Needed>::erased(Index at, std::uint32_t member, const Needed& need) -> Index {
  ASSERT(at != kNil);
  Node& node = nodes_[at];
  if (node.member == member) {
    const Index rest = merged(node.left, node.right);
    node.left = spare_;
    spare_ = at;
    return rest;
  }
  if (std::tie(need, member) < std::tie(node.need, node.member)) {
    node.left = erased(node.left, member, need);
  } else {
    node.right = erased(node.right, member, need);
  }
  refresh(at);
  return at;
}

// Joins two subtrees; everything in `a` comes before everything in `b`.
template <class Needed>
auto TreeByNeed<Needed>::merged(Index a, Index b) -> Index {
  if (a == kNil) return b;
  if (b == kNil) return a;
  if (priority_of(nodes_[a].member) > priority_of(nodes_[b].member)) {
    nodes_[a].right = merged(nodes_[a].right, b);
    refresh(a);
    return a;
  }
  nodes_[b].left = merged(a, nodes_[b].left);
  refresh(b);
  return b;
}

template <class Needed>
void TreeByNeed<Needed>::refresh(Index at) {
  Node& node = nodes_[at];
  node.least_key = node.key;
  node.least = node.need;
  for (const Index child : {node.left, node.right}) {
    if (child == kNil) continue;
    const Node& below = nodes_[child];
    node.least_key = std::min(node.least_key, below.least_key);
    node.least = least_of(node.least, below.least);
  }
}

template class TreeByNeed<Need>;
template class TreeByNeed<Stay>;

}  // namespace berth::core
