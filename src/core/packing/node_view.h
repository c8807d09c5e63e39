// NodeView: what one node has free, as packing sees it; and whether a shape fits there.
//
// Feasibility is exact and asks nothing but the view: the amounts, the kinds, the islands. Gangs
// over several nodes and MIG slices are placed elsewhere; here a shape lies whole on one node.
#pragma once

#include <array>
#include <cstdint>

#include "base/ids.h"
#include "core/model/shape.h"

namespace berth::core {

inline constexpr std::uint32_t kNodeGpusMax = 16;

// GPUs of one node, a bit each, by their index on it.
using GpuSet = std::uint32_t;

struct NodeView {
  KindId kind;                                      // of all its GPUs; none: it has no GPU
  std::uint8_t gpus = 0;                            // at most kNodeGpusMax
  Milli cpu;                                        // free
  Mib memory;                                       // free
  std::array<std::uint16_t, kNodeGpusMax> left{};   // free thousandths; 0: takes nothing
  std::array<std::uint32_t, kNodeGpusMax> vram{};   // free MiB
  std::array<std::uint8_t, kNodeGpusMax> island{};  // equal numbers are joined; below kNodeGpusMax

  bool operator==(const NodeView&) const = default;
};

// The shape's GPUs must lie in one island of the node.
constexpr bool needs_island(const Shape& shape) {
  return shape.required && shape.within <= Level::island && shape.gpus > 1;
}

// GPUs that could each carry one GPU's part of the shape. Kind, CPUs and memory are not asked.
GpuSet usable_gpus(const NodeView& view, const Shape& shape);

// Whether the whole shape can run on the node now.
bool fits(const NodeView& view, const Shape& shape);

}  // namespace berth::core
