// WaitingTree against a plain list: the same members, and subtrees that know their least.
#include "core/state/waiting_tree.h"

#include <algorithm>
#include <map>
#include <random>

#include <gtest/gtest.h>

namespace berth::core::waiting_tree_test {
namespace {

struct Member {
  Need need;
  OrderKey key;
};

// The first in order of those that fit, found as a search does: from the least key on.
std::uint32_t first_fitting(const WaitingTree& shapes, const Need& available) {
  std::vector<WaitingTree::Index> frontier;
  if (!shapes.empty()) frontier.push_back(shapes.root());
  std::uint32_t best = UINT32_MAX;
  OrderKey best_key;
  while (!frontier.empty()) {
    const WaitingTree::Node& node = shapes.node(frontier.back());
    frontier.pop_back();
    const bool is_behind = best != UINT32_MAX && best_key < node.least_key;
    if (is_behind || !may_fit(node.least, available)) continue;
    if (may_fit(node.need, available) && (best == UINT32_MAX || node.key < best_key)) {
      best = node.member;
      best_key = node.key;
    }
    for (const WaitingTree::Index child : {node.left, node.right}) {
      if (child != WaitingTree::kNil) frontier.push_back(child);
    }
  }
  return best;
}

std::uint32_t first_in_list(const std::map<std::uint32_t, Member>& list, const Need& available) {
  std::uint32_t best = UINT32_MAX;
  for (const auto& [shape, member] : list) {
    if (!may_fit(member.need, available)) continue;
    if (best == UINT32_MAX || member.key < list.at(best).key) best = shape;
  }
  return best;
}

TEST(WaitingTree, FindsWhatAListFinds) {
  std::mt19937_64 rng(7);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(n));
  };
  WaitingTree shapes;
  std::map<std::uint32_t, Member> list;
  std::uint64_t ties = 0;
  for (int step = 0; step < 20'000; ++step) {
    const auto shape = static_cast<std::uint32_t>(below(200));
    const auto known = list.find(shape);
    if (known != list.end()) {
      shapes.erase(shape, known->second.need);
      list.erase(known);
    } else {
      const Member member{{below(8), below(8), below(3)}, {0, below(50), 0, ties++}};
      shapes.insert(shape, member.need, member.key);
      list.emplace(shape, member);
    }
    if (known == list.end() && below(2) == 0) {
      list[shape].key = {0, below(50), 0, ties++};
      shapes.set_key(shape, list[shape].need, list[shape].key);
    }
    const Need available{below(9), below(9), below(4)};
    ASSERT_EQ(first_fitting(shapes, available), first_in_list(list, available));
  }
  std::vector<std::uint32_t> members;
  shapes.visit([&](std::uint32_t shape) { members.push_back(shape); });
  EXPECT_EQ(members.size(), list.size());
  for (const std::uint32_t shape : members)
    shapes.erase(shape, list.at(shape).need);
  EXPECT_TRUE(shapes.empty());
}

}  // namespace
}  // namespace berth::core::waiting_tree_test
