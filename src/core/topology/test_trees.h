// Trees for tests, said in a few words.
#pragma once

#include <cstdint>
#include <map>

#include "core/topology/free_index.h"
#include "core/topology/tree.h"

namespace berth::core {

inline constexpr Milli kPlentyOfCpu{1'000'000};
inline constexpr Mib kPlentyOfMemory{100'000'000};

struct NodeWords {
  std::uint32_t gpus = 8;
  std::uint32_t islands = 1;  // inside the node, of equal size; 0: no NVLink
  std::uint32_t kind = 0;
  IslandId joined;  // an island of several nodes, instead
  Milli cpu = kPlentyOfCpu;
  Mib memory = kPlentyOfMemory;
};

struct TestTree {
  HardwareTree tree;
  std::uint32_t islands = 0;

  RackId rack() { return RackId{tree.racks++}; }
  IslandId island() { return IslandId{islands++}; }

  // In the last rack. Two GPUs share a PCIe switch, half of them a socket.
  NodeId node(const NodeWords& words = {}) {
    const NodeId id{static_cast<std::uint32_t>(tree.nodes.size())};
    tree.nodes.push_back({RackId{tree.racks - 1}, words.cpu, words.memory});
    const std::uint32_t first_island = islands;
    if (!words.joined) islands += words.islands;
    for (std::uint32_t i = 0; i < words.gpus; ++i) {
      TreeGpu gpu{.node = id, .index = static_cast<std::uint8_t>(i), .kind = {words.kind}};
      gpu.pcie_switch = static_cast<std::uint16_t>(i / 2);
      gpu.socket = static_cast<std::uint16_t>(i / 2 * 4 / words.gpus);
      gpu.island = words.joined;
      if (!words.joined && words.islands > 0) {
        gpu.island = IslandId{first_island + i * words.islands / words.gpus};
      }
      tree.gpus.push_back(gpu);
    }
    return id;
  }

  GpuMask gpus_of(NodeId node) const {
    std::uint32_t mask = 0;
    for (const TreeGpu& gpu : tree.gpus) {
      if (gpu.node == node) mask |= 1U << gpu.index;
    }
    return static_cast<GpuMask>(mask);
  }
  Room whole(NodeId node) const {
    return {gpus_of(node), tree.nodes[node.value].cpu, tree.nodes[node.value].memory};
  }
  // Everything is free.
  FreeIndex index() const {
    FreeIndex index(tree);
    for (std::uint32_t node = 0; node < tree.nodes.size(); ++node)
      index.set_node({node}, whole({node}));
    return index;
  }
  // Leaves these GPUs of the node free.
  void leave(FreeIndex& index, NodeId node, std::uint32_t gpus) const {
    Room room = index.room_on(node);
    room.gpus = static_cast<GpuMask>(gpus);
    index.set_node(node, room);
  }
};

}  // namespace berth::core
