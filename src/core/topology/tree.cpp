// See tree.h.
#include "core/topology/tree.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "core/model/shape.h"

namespace berth::core {
namespace {

// GPUs that stand on a node, by node; the others are flaws of their own.
using GpusByNode = std::vector<std::vector<GpuId>>;

bool is_there(const HardwareTree& tree, NodeId node) {
  return node.value < tree.nodes.size() && tree.nodes[node.value].rack;
}

void check_nodes(const HardwareTree& tree, std::vector<Flaw>& flaws) {
  for (std::uint32_t i = 0; i < tree.nodes.size(); ++i) {
    const TreeNode& node = tree.nodes[i];
    if (!node.rack) continue;
    if (node.rack.value >= tree.racks) {
      flaws.push_back({.code = FlawCode::node_in_no_rack, .node = {i}, .number = node.rack.value});
    }
    if (node.cpu.value < 0 || node.memory.value < 0) {
      flaws.push_back({.code = FlawCode::negative_amount, .node = {i}});
    }
  }
}

GpusByNode check_gpus(const HardwareTree& tree, std::vector<Flaw>& flaws) {
  GpusByNode by_node(tree.nodes.size());
  for (std::uint32_t i = 0; i < tree.gpus.size(); ++i) {
    const TreeGpu& gpu = tree.gpus[i];
    if (!gpu.node) continue;
    if (!is_there(tree, gpu.node)) {
      flaws.push_back({.code = FlawCode::gpu_on_no_node, .node = gpu.node, .gpu = {i}});
      continue;
    }
    if (gpu.index >= kSlots) {
      flaws.push_back(
          {.code = FlawCode::index_too_high, .node = gpu.node, .gpu = {i}, .number = gpu.index});
    }
    if (gpu.kind.value >= kMaxKinds) {
      flaws.push_back(
          {.code = FlawCode::no_such_kind, .node = gpu.node, .gpu = {i}, .number = gpu.kind.value});
    }
    by_node[gpu.node.value].push_back({i});
  }
  return by_node;
}

void check_gpus_of_node(const HardwareTree& tree, NodeId node, const std::vector<GpuId>& gpus,
                        std::vector<Flaw>& flaws) {
  if (gpus.size() > kSlots) {
    flaws.push_back({.code = FlawCode::too_many_gpus,
                     .node = node,
                     .number = static_cast<std::uint32_t>(gpus.size())});
  }
  std::map<std::uint8_t, GpuId> by_index;
  std::map<std::uint16_t, GpuId> by_switch;
  bool kinds_differ = false;
  for (const GpuId id : gpus) {
    const TreeGpu& gpu = tree.gpus[id.value];
    if (const auto [it, fresh] = by_index.emplace(gpu.index, id); !fresh) {
      flaws.push_back({.code = FlawCode::index_used_twice,
                       .node = node,
                       .gpu = id,
                       .other = it->second,
                       .number = gpu.index});
    }
    if (gpu.kind != tree.gpus[gpus.front().value].kind && !std::exchange(kinds_differ, true)) {
      flaws.push_back(
          {.code = FlawCode::mixed_kinds_on_node, .node = node, .gpu = id, .other = gpus.front()});
    }
    if (gpu.pcie_switch == kUnknownPart) continue;
    const auto [it, fresh] = by_switch.emplace(gpu.pcie_switch, id);
    if (!fresh && tree.gpus[it->second.value].socket != gpu.socket) {
      flaws.push_back({.code = FlawCode::switch_under_two_sockets,
                       .node = node,
                       .gpu = id,
                       .other = it->second,
                       .number = gpu.pcie_switch});
    }
  }
}

void check_island(const HardwareTree& tree, const GpusByNode& by_node, IslandId island,
                  const std::vector<GpuId>& gpus, std::vector<Flaw>& flaws) {
  const GpuId first = gpus.front();
  const TreeGpu& of_first = tree.gpus[first.value];
  std::map<NodeId, std::size_t> nodes;
  bool kinds_differ = false;
  bool racks_differ = false;
  for (const GpuId id : gpus) {
    const TreeGpu& gpu = tree.gpus[id.value];
    ++nodes[gpu.node];
    const Flaw at_odds{.node = gpu.node, .gpu = id, .other = first, .island = island};
    // GPUs of one node are compared there.
    if (gpu.kind != of_first.kind && gpu.node != of_first.node &&
        !std::exchange(kinds_differ, true)) {
      flaws.push_back(at_odds);
      flaws.back().code = FlawCode::mixed_kinds_in_island;
    }
    if (tree.nodes[gpu.node.value].rack != tree.nodes[of_first.node.value].rack &&
        !std::exchange(racks_differ, true)) {
      flaws.push_back(at_odds);
      flaws.back().code = FlawCode::island_across_racks;
    }
  }
  if (nodes.size() == 1) return;
  for (const auto& [node, joined] : nodes) {
    if (joined == by_node[node.value].size()) continue;
    flaws.push_back({.code = FlawCode::island_covers_part_of_node,
                     .node = node,
                     .island = island,
                     .number = static_cast<std::uint32_t>(joined)});
  }
}

std::string called(const char* what, std::uint32_t number) {
  return what + (" " + std::to_string(number));
}

}  // namespace

std::vector<Flaw> flaws_in(const HardwareTree& tree) {
  std::vector<Flaw> flaws;
  check_nodes(tree, flaws);
  const GpusByNode by_node = check_gpus(tree, flaws);
  std::map<IslandId, std::vector<GpuId>> islands;
  for (std::uint32_t node = 0; node < by_node.size(); ++node) {
    check_gpus_of_node(tree, {node}, by_node[node], flaws);
    for (const GpuId gpu : by_node[node]) {
      if (const IslandId island = tree.gpus[gpu.value].island) islands[island].push_back(gpu);
    }
  }
  for (const auto& [island, gpus] : islands)
    check_island(tree, by_node, island, gpus, flaws);
  return flaws;
}

std::string sentence(const Flaw& flaw) {
  const std::string node = called("node", flaw.node.value);
  const std::string gpu = called("GPU", flaw.gpu.value);
  const std::string other = called("GPU", flaw.other.value);
  const std::string island = called("island", flaw.island.value);
  const std::string number = std::to_string(flaw.number);
  switch (flaw.code) {
    case FlawCode::node_in_no_rack:
      return node + " stands in rack " + number + ", which does not exist";
    case FlawCode::negative_amount:
      return node + " has a negative amount of CPU or memory";
    case FlawCode::gpu_on_no_node:
      return gpu + " is on " + node + ", which does not exist";
    case FlawCode::index_too_high:
      return gpu + " on " + node + " has index " + number + "; the highest is " +
             std::to_string(kSlots - 1);
    case FlawCode::index_used_twice:
      return gpu + " and " + other + " on " + node + " both have index " + number;
    case FlawCode::too_many_gpus:
      return node + " has " + number + " GPUs; at most " + std::to_string(kSlots) + " are possible";
    case FlawCode::no_such_kind:
      return gpu + " on " + node + " is of kind " + number + "; there are at most " +
             std::to_string(kMaxKinds);
    case FlawCode::mixed_kinds_on_node:
      return gpu + " and " + other + " on " + node + " are of different kinds; a node has one";
    case FlawCode::mixed_kinds_in_island:
      return gpu + " on " + node + " and " + other + " are of different kinds, but both in " +
             island;
    case FlawCode::island_across_racks:
      return island + " joins " + gpu + " on " + node + " with " + other + " in another rack";
    case FlawCode::island_covers_part_of_node:
      return island + " spans several nodes, but only " + number + " GPUs of " + node +
             "; it must cover whole nodes, or lie inside one";
    case FlawCode::switch_under_two_sockets:
      return gpu + " and " + other + " on " + node + " share PCIe switch " + number +
             ", but not the socket";
  }
  return {};
}

}  // namespace berth::core
