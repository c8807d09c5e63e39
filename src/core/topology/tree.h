// HardwareTree: the cluster as plain data: racks, nodes, GPUs and how they are joined.
//
// cluster → rack → (island of several nodes) → node → (socket, PCIe switch, island) → GPU. Numbers
// only: names live at the edge. The tree says what is there, never what is free.
//
// A tree is used only when flaws_in finds nothing. Then: a node is in one rack and holds at most
// kSlots GPUs, all of one kind; an island lies inside one node or covers whole nodes of one rack,
// and joins GPUs of one kind; a PCIe switch hangs under one socket.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/units.h"

namespace berth::core {

// Places for GPUs on one node. A set of GPUs of a node is a mask, bit i for index i.
inline constexpr std::uint32_t kSlots = 16;
using GpuMask = std::uint16_t;

inline constexpr std::uint16_t kUnknownPart = 0xFFFF;

struct TreeNode {
  RackId rack;  // none: a number that stands for no node (any more)
  Milli cpu;
  Mib memory;
};

struct TreeGpu {
  NodeId node;  // none: a number that stands for no GPU (any more)
  std::uint8_t index = 0;
  KindId kind;
  std::uint16_t socket = kUnknownPart;       // numbered inside the node
  std::uint16_t pcie_switch = kUnknownPart;  // likewise
  IslandId island;                           // numbered for the whole cluster; none: no NVLink
};

struct HardwareTree {
  std::uint32_t racks = 0;
  std::vector<TreeNode> nodes;  // by NodeId
  std::vector<TreeGpu> gpus;    // by GpuId
};

enum class FlawCode : std::uint8_t {
  node_in_no_rack,
  negative_amount,
  gpu_on_no_node,
  index_too_high,
  index_used_twice,
  too_many_gpus,
  no_such_kind,
  mixed_kinds_on_node,
  mixed_kinds_in_island,
  island_across_racks,
  island_covers_part_of_node,
  switch_under_two_sockets,
};

// What is wrong, and where: the fields that say nothing about this flaw are none.
struct Flaw {
  FlawCode code = FlawCode::node_in_no_rack;
  NodeId node;
  GpuId gpu;
  GpuId other;  // the GPU it is at odds with
  IslandId island;
  std::uint32_t number = 0;  // the index, count, kind, switch or rack in question
  bool operator==(const Flaw&) const = default;
};

// Every flaw at once, in order of their nodes, GPUs and islands. Empty: the tree can be used.
std::vector<Flaw> flaws_in(const HardwareTree& tree);

// The flaw as a sentence, by numbers; an edge that knows names words it from the fields.
std::string sentence(const Flaw& flaw);

}  // namespace berth::core
