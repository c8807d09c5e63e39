// NodeSet: the nodes of one state in a fixed order, found by free CPUs and memory.
//
// Members stand in blocks of at most 64, in the order of their keys; a block knows the most that
// any of its members has, so a search passes over blocks where nothing can fit.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace berth::core {

struct NodeMember {
  std::uint64_t key = 0;    // the place in the order; unique
  std::int64_t cpu = 0;     // free
  std::int64_t memory = 0;  // free
};

class NodeSet {
 public:
  bool empty() const { return blocks_.empty(); }

  // REQUIRES an absent key.
  void insert(const NodeMember& member);
  // REQUIRES a present key.
  void erase(std::uint64_t key);

  // The first member below `limit` that has both amounts and that accepts(key) accepts.
  template <class Accepts>
  std::optional<std::uint64_t> find(std::int64_t cpu, std::int64_t memory, std::uint64_t limit,
                                    Accepts accepts) const {
    for (const Block& block : blocks_) {
      if (block.members.front().key >= limit) break;
      if (block.cpu_most < cpu || block.memory_most < memory) continue;
      for (const NodeMember& member : block.members) {
        if (member.key >= limit) return std::nullopt;
        if (member.cpu >= cpu && member.memory >= memory && accepts(member.key)) return member.key;
      }
    }
    return std::nullopt;
  }

  // What the whole set offers at most.
  struct Summary {
    std::uint64_t first_key = UINT64_MAX;
    std::int64_t cpu_most = -1;
    std::int64_t memory_most = -1;
  };
  Summary summary() const;

  template <class Visit>
  void visit(Visit visit) const {
    for (const Block& block : blocks_) {
      for (const NodeMember& member : block.members)
        visit(member);
    }
  }

 private:
  static constexpr std::size_t kBlockMax = 64;

  struct Block {
    std::vector<NodeMember> members;  // by key; never empty
    std::int64_t cpu_most = 0;
    std::int64_t memory_most = 0;

    void measure();
  };

  // The block where the key is or belongs. REQUIRES a block.
  std::size_t block_of(std::uint64_t key) const;

  std::vector<Block> blocks_;
};

}  // namespace berth::core
