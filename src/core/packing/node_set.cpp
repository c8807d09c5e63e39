// See node_set.h.
#include "core/packing/node_set.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace berth::core {
namespace {

constexpr auto kBefore = [](const NodeMember& member, std::uint64_t key) {
  return member.key < key;
};

}  // namespace

void NodeSet::Block::measure() {
  cpu_most = members.front().cpu;
  memory_most = members.front().memory;
  for (const NodeMember& member : members) {
    cpu_most = std::max(cpu_most, member.cpu);
    memory_most = std::max(memory_most, member.memory);
  }
}

std::size_t NodeSet::block_of(std::uint64_t key) const {
  const auto it = std::partition_point(blocks_.begin(), blocks_.end(), [key](const Block& block) {
    return block.members.back().key < key;
  });
  return std::min(static_cast<std::size_t>(it - blocks_.begin()), blocks_.size() - 1);
}

void NodeSet::insert(const NodeMember& member) {
  if (blocks_.empty())
    blocks_.push_back({{member}, member.cpu, member.memory});
  else {
    const std::size_t at = block_of(member.key);
    Block& block = blocks_[at];
    const auto it =
        std::lower_bound(block.members.begin(), block.members.end(), member.key, kBefore);
    ASSERT(it == block.members.end() || it->key != member.key);
    block.members.insert(it, member);
    block.cpu_most = std::max(block.cpu_most, member.cpu);
    block.memory_most = std::max(block.memory_most, member.memory);
    if (block.members.size() <= kBlockMax) return;
    Block upper;
    upper.members.assign(block.members.begin() + kBlockMax / 2, block.members.end());
    block.members.resize(kBlockMax / 2);
    block.measure();
    upper.measure();
    blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(at) + 1, std::move(upper));
  }
}

void NodeSet::erase(std::uint64_t key) {
  ASSERT(!blocks_.empty());
  const std::size_t at = block_of(key);
  Block& block = blocks_[at];
  const auto it = std::lower_bound(block.members.begin(), block.members.end(), key, kBefore);
  ASSERT(it != block.members.end() && it->key == key);
  const NodeMember gone = *it;
  block.members.erase(it);
  if (block.members.empty()) {
    blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(at));
  } else if (gone.cpu == block.cpu_most || gone.memory == block.memory_most) {
    block.measure();
  }
}

NodeSet::Summary NodeSet::summary() const {
  Summary result;
  if (!blocks_.empty()) result.first_key = blocks_.front().members.front().key;
  for (const Block& block : blocks_) {
    result.cpu_most = std::max(result.cpu_most, block.cpu_most);
    result.memory_most = std::max(result.memory_most, block.memory_most);
  }
  return result;
}

}  // namespace berth::core
