// Building a FreeIndex: nodes in order, pools, racks, islands, and the stretches over them.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "base/assert.h"
#include "core/topology/free_index.h"

namespace berth::core {
namespace {

// A stretch of so few nodes is not halved: to look at them all is as quick.
constexpr std::uint32_t kBlockNodes = 8;

// Islands that cover more than one node.
std::vector<IslandId> joined_islands_of(const HardwareTree& tree) {
  std::map<IslandId, NodeId> first_node;
  std::vector<IslandId> joined;
  for (const TreeGpu& gpu : tree.gpus) {
    if (!gpu.node || !gpu.island) continue;
    const auto [it, fresh] = first_node.emplace(gpu.island, gpu.node);
    if (!fresh && it->second != gpu.node) joined.push_back(gpu.island);
  }
  std::sort(joined.begin(), joined.end());
  joined.erase(std::unique(joined.begin(), joined.end()), joined.end());
  return joined;
}

auto pool_of(const PlacedNode& node) { return std::tuple(node.kind, !node.island); }

auto place_of(const PlacedNode& node) {
  return std::tuple(node.kind, !node.island, node.rack, node.island, node.node);
}

// Islands get numbers of their own in the node, so that nodes built alike have equal slots.
void number_islands(std::vector<Slot>& slots, const std::vector<IslandId>& islands) {
  std::map<IslandId, std::uint16_t> numbers;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!islands[i]) continue;
    slots[i].island =
        numbers.emplace(islands[i], static_cast<std::uint16_t>(numbers.size())).first->second;
  }
}

}  // namespace

FreeIndex::FreeIndex(const HardwareTree& tree) {
  place_nodes(tree);
  place_gpus(tree);
  racks_.resize(tree.racks);
  joined_at_.resize(nodes_.size());
  for (Orders& orders : orders_)
    orders.free_in_rack.resize(tree.racks);
  build_pools();
  // Nothing is free, and the counts know it.
  for (const PlacedNode& node : nodes_)
    refresh(node.block, 1U, 0);
}

void FreeIndex::place_nodes(const HardwareTree& tree) {
  const std::vector<IslandId> joined = joined_islands_of(tree);
  std::vector<PlacedNode> by_id(tree.nodes.size());
  for (const TreeGpu& gpu : tree.gpus) {
    if (!gpu.node) continue;
    PlacedNode& node = by_id[gpu.node.value];
    node.node = gpu.node;
    node.rack = tree.nodes[gpu.node.value].rack;
    node.kind = gpu.kind;
    if (gpu.island && std::binary_search(joined.begin(), joined.end(), gpu.island)) {
      node.island = gpu.island;
    }
  }
  for (const PlacedNode& node : by_id) {
    if (!node.node) continue;
    nodes_.push_back(node);
    kinds_.push_back(node.kind);
  }
  std::sort(nodes_.begin(), nodes_.end(),
            [](const PlacedNode& a, const PlacedNode& b) { return place_of(a) < place_of(b); });
  std::sort(kinds_.begin(), kinds_.end());
  kinds_.erase(std::unique(kinds_.begin(), kinds_.end()), kinds_.end());
  orders_.resize(kinds_.size());
  positions_.assign(tree.nodes.size(), kNoStretch);
  for (std::uint32_t position = 0; position < nodes_.size(); ++position)
    positions_[nodes_[position].node.value] = position;
}

void FreeIndex::place_gpus(const HardwareTree& tree) {
  gpus_.assign(nodes_.size() * kSlots, GpuId::none());
  gpu_islands_.assign(nodes_.size() * kSlots, IslandId::none());
  std::vector<std::optional<TreeGpu>> at(nodes_.size() * kSlots);
  for (std::uint32_t i = 0; i < tree.gpus.size(); ++i) {
    const TreeGpu& gpu = tree.gpus[i];
    if (!gpu.node) continue;
    const std::size_t place = positions_[gpu.node.value] * kSlots + gpu.index;
    at[place] = gpu;
    gpus_[place] = GpuId{i};
    gpu_islands_[place] = gpu.island;
  }
  std::map<std::vector<Slot>, std::uint32_t> known;
  for (std::uint32_t position = 0; position < nodes_.size(); ++position) {
    std::vector<Slot> slots;
    std::vector<IslandId> islands;
    for (std::uint8_t index = 0; index < kSlots; ++index) {
      const auto& gpu = at[position * kSlots + index];
      if (!gpu) continue;
      slots.push_back({index, kUnknownPart, gpu->pcie_switch, gpu->socket});
      islands.push_back(gpu->island);
    }
    number_islands(slots, islands);
    const auto [it, fresh] = known.emplace(slots, static_cast<std::uint32_t>(layouts_.size()));
    if (fresh) layouts_.emplace_back(slots);
    nodes_[position].layout = it->second;
  }
}

void FreeIndex::build_pools() {
  for (std::uint32_t first = 0; first < nodes_.size();) {
    std::uint32_t last = first;
    while (last < nodes_.size() && pool_of(nodes_[last]) == pool_of(nodes_[first]))
      ++last;
    build_pool(first, last);
    first = last;
  }
  island_free_.resize(islands_.size());
}

void FreeIndex::build_pool(std::uint32_t first, std::uint32_t last) {
  Pool pool{.kind = nodes_[first].kind, .joined = static_cast<bool>(nodes_[first].island)};
  std::vector<StretchNo> racks;
  for (std::uint32_t begin = first; begin < last;) {
    std::uint32_t end = begin;
    while (end < last && nodes_[end].rack == nodes_[begin].rack)
      ++end;
    racks.push_back(build_rack(begin, end));
    racks_[nodes_[begin].rack.value].parts.push_back(
        {static_cast<std::uint32_t>(pools_.size()), racks.back()});
    begin = end;
  }
  pool.all = join(racks, 0, racks.size());
  pools_.push_back(pool);
}

StretchNo FreeIndex::build_rack(std::uint32_t first, std::uint32_t last) {
  if (!nodes_[first].island) return build(first, last);
  std::vector<StretchNo> islands;
  for (std::uint32_t begin = first; begin < last;) {
    const PlacedNode& node = nodes_[begin];
    std::uint32_t end = begin;
    while (end < last && nodes_[end].island == node.island)
      joined_at_[end++] = static_cast<std::uint32_t>(islands_.size());
    islands.push_back(build(begin, end));
    racks_[node.rack.value].islands.push_back(static_cast<std::uint32_t>(islands_.size()));
    islands_.push_back({node.island, node.rack, node.kind, islands.back()});
    begin = end;
  }
  return join(islands, 0, islands.size());
}

StretchNo FreeIndex::build(std::uint32_t first, std::uint32_t last) {
  if (last - first > kBlockNodes) {
    const std::uint32_t middle = first + (last - first) / 2;
    return join({build(first, middle), build(middle, last)}, 0, 2);
  }
  const auto block = static_cast<StretchNo>(stretches_.size());
  stretches_.push_back({.first = first, .last = last});
  for (std::uint32_t position = first; position < last; ++position) {
    nodes_[position].block = block;
    stretches_[block].islands_are_nodes &= layout_at(position).islands().size() == 1;
  }
  return block;
}

// The parts are neighbours, in order.
StretchNo FreeIndex::join(const std::vector<StretchNo>& parts, std::size_t first,
                          std::size_t last) {
  ASSERT(first < last);
  if (last - first == 1) return parts[first];
  const std::size_t middle = first + (last - first) / 2;
  const StretchNo left = join(parts, first, middle);
  const StretchNo right = join(parts, middle, last);
  const auto both = static_cast<StretchNo>(stretches_.size());
  stretches_.push_back({.first = stretches_[left].first,
                        .last = stretches_[right].last,
                        .left = left,
                        .right = right,
                        .islands_are_nodes = stretches_[left].islands_are_nodes &&
                                             stretches_[right].islands_are_nodes});
  stretches_[left].up = stretches_[right].up = both;
  return both;
}

}  // namespace berth::core
