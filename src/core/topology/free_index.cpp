// See free_index.h.
#include "core/topology/free_index.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"

namespace berth::core {
namespace {

std::uint32_t size_of(GpuMask mask) { return static_cast<std::uint32_t>(std::popcount(mask)); }

std::uint64_t key_of(std::uint32_t free, std::uint32_t domain) {
  return static_cast<std::uint64_t>(free) << 32 | domain;
}

void move(OrderedSet& order, std::uint32_t domain, std::uint32_t before, std::uint32_t after) {
  const bool erased = before == 0 || order.erase(key_of(before, domain));
  const bool inserted = after == 0 || order.insert(key_of(after, domain));
  ASSERT(erased && inserted);
}

void add(Alike& alike, const Room& room) {
  ++alike.nodes;
  alike.cpu_min = std::min(alike.cpu_min, room.cpu.value);
  alike.cpu_max = std::max(alike.cpu_max, room.cpu.value);
  alike.memory_min = std::min(alike.memory_min, room.memory.value);
  alike.memory_max = std::max(alike.memory_max, room.memory.value);
}

Alike both(const Alike& a, const Alike& b) {
  return {a.nodes + b.nodes, std::min(a.cpu_min, b.cpu_min), std::max(a.cpu_max, b.cpu_max),
          std::min(a.memory_min, b.memory_min), std::max(a.memory_max, b.memory_max)};
}

std::vector<std::uint64_t> keys_of(const OrderedSet& order) {
  std::vector<std::uint64_t> keys;
  order.visit_from(0, [&](std::uint64_t key) {
    keys.push_back(key);
    return true;
  });
  return keys;
}

}  // namespace

void FreeIndex::set_node(NodeId id, const Room& room) {
  ASSERT(id.value < positions_.size());
  if (positions_[id.value] == kNoStretch) return;
  PlacedNode& node = nodes_[positions_[id.value]];
  if (room == node.room) return;
  const NodeLayout& layout = layouts_[node.layout];
  const std::uint32_t before = node.free;
  const std::uint32_t island_sizes =
      layout.part_sizes(node.room.gpus) | layout.part_sizes(room.gpus);
  const bool same_gpus = room.gpus == node.room.gpus;
  node.room = room;
  node.free = size_of(room.gpus);
  refresh(node.block, 1U << before | 1U << node.free, same_gpus ? 0 : island_sizes);
  if (node.free != before) count_free(node, before, node.free);
}

Room FreeIndex::room_on(NodeId node) const {
  const std::uint32_t position = positions_[node.value];
  return position == kNoStretch ? Room{} : nodes_[position].room;
}

void FreeIndex::count_free(const PlacedNode& node, std::uint32_t before, std::uint32_t after) {
  Orders& orders = orders_[slot_of(node.kind)];
  orders.free += after - before;
  std::uint32_t& in_rack = orders.free_in_rack[node.rack.value];
  move(orders.racks, node.rack.value, in_rack, in_rack + after - before);
  in_rack += after - before;
  if (!node.island) return;
  const std::uint32_t island = joined_at_[positions_[node.node.value]];
  std::uint32_t& in_island = island_free_[island];
  move(orders.islands, island, in_island, in_island + after - before);
  in_island += after - before;
}

Alike FreeIndex::alike_in(const Stretch& stretch, std::uint32_t free) const {
  if (stretch.left != kNoStretch) {
    return both(stretches_[stretch.left].alike[free], stretches_[stretch.right].alike[free]);
  }
  Alike alike;
  for (std::uint32_t position = stretch.first; position < stretch.last; ++position) {
    if (nodes_[position].free == free) add(alike, nodes_[position].room);
  }
  return alike;
}

IslandParts FreeIndex::islands_in(const Stretch& stretch, std::uint32_t size) const {
  if (stretch.left != kNoStretch) {
    const IslandParts& left = stretches_[stretch.left].islands[size];
    const IslandParts& right = stretches_[stretch.right].islands[size];
    return {left.parts + right.parts, left.node_sizes | right.node_sizes};
  }
  IslandParts found;
  for (std::uint32_t position = stretch.first; position < stretch.last; ++position) {
    const PlacedNode& node = nodes_[position];
    if (node.free < size) continue;
    for (const GpuMask island : layouts_[node.layout].islands()) {
      if (size_of(node.room.gpus & island) != size) continue;
      ++found.parts;
      found.node_sizes |= 1U << node.free;
    }
  }
  return found;
}

// Counts again what changed, from the nodes upwards, as far as it makes a difference.
void FreeIndex::refresh(StretchNo block, std::uint32_t node_sizes, std::uint32_t island_sizes) {
  for (StretchNo no = block; no != kNoStretch; no = stretches_[no].up) {
    Stretch& stretch = stretches_[no];
    bool changed = false;
    for (std::uint32_t rest = node_sizes; rest != 0; rest &= rest - 1) {
      const auto free = static_cast<std::uint32_t>(std::countr_zero(rest));
      const Alike alike = alike_in(stretch, free);
      changed |= alike != stretch.alike[free];
      stretch.alike[free] = alike;
      const std::uint32_t bit = free > 0 ? 1U << free : 0;
      stretch.node_sizes = alike.nodes > 0 ? stretch.node_sizes | bit : stretch.node_sizes & ~bit;
    }
    for (std::uint32_t rest = island_sizes; rest != 0; rest &= rest - 1) {
      const auto size = static_cast<std::uint32_t>(std::countr_zero(rest));
      const IslandParts islands = islands_in(stretch, size);
      changed |= islands != stretch.islands[size];
      stretch.islands[size] = islands;
    }
    if (!changed) return;
  }
}

std::size_t FreeIndex::slot_of(KindId kind) const {
  const auto it = std::lower_bound(kinds_.begin(), kinds_.end(), kind);
  ASSERT(it != kinds_.end() && *it == kind);
  return static_cast<std::size_t>(it - kinds_.begin());
}

std::uint32_t FreeIndex::free_gpus() const {
  std::uint32_t free = 0;
  for (const Orders& orders : orders_)
    free += orders.free;
  return free;
}

std::uint32_t FreeIndex::free_gpus(KindId kind) const {
  return std::binary_search(kinds_.begin(), kinds_.end(), kind) ? orders_[slot_of(kind)].free : 0;
}

std::uint32_t FreeIndex::free_gpus(RackId rack, KindId kind) const {
  if (!std::binary_search(kinds_.begin(), kinds_.end(), kind)) return 0;
  return orders_[slot_of(kind)].free_in_rack[rack.value];
}

bool FreeIndex::operator==(const FreeIndex& other) const {
  const auto same_orders = [](const Orders& a, const Orders& b) {
    return a.free == b.free && a.free_in_rack == b.free_in_rack &&
           keys_of(a.racks) == keys_of(b.racks) && keys_of(a.islands) == keys_of(b.islands);
  };
  return nodes_ == other.nodes_ && stretches_ == other.stretches_ &&
         island_free_ == other.island_free_ &&
         std::equal(orders_.begin(), orders_.end(), other.orders_.begin(), other.orders_.end(),
                    same_orders);
}

}  // namespace berth::core
