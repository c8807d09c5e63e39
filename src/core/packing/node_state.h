// NodeState: a node as scoring sees it, in buckets, so that nodes alike share one score.
//
// Residuals in hundredths of a GPU, free CPUs in steps. The canonical state lists the islands in a
// fixed order and the emptier GPUs of each first, so nodes that differ only in numbering are equal.
// Only scores are read from it; whether a shape fits is asked of the NodeView.
#pragma once

#include <array>
#include <compare>
#include <cstdint>

#include "core/packing/node_view.h"

namespace berth::core {

inline constexpr std::uint32_t kResidualStep = 10;                     // thousandths
inline constexpr std::uint32_t kResiduals = 1000 / kResidualStep + 1;  // 0..100

// Free CPUs: steps of one core up to 64, then 32 steps for each doubling, up to 1,024 cores.
inline constexpr std::uint32_t kCpuSteps = 64 + 4 * 32;
std::uint16_t cpu_step(std::int64_t milli);
std::int64_t cpu_low(std::uint16_t step);  // the least amount of the step, in thousandths
std::int64_t cpu_mid(
    std::uint16_t step);  // its middle: what is left after a start is reckoned from
// No node of the step has as much; for the last one there is no such amount.
std::int64_t cpu_end(std::uint16_t step);

struct NodeState {
  KindId kind;
  std::uint8_t gpus = 0;
  std::uint8_t islands = 0;
  std::uint16_t cpu = 0;  // a step
  std::array<std::uint8_t, kNodeGpusMax> left{};
  std::array<std::uint8_t, kNodeGpusMax> island{};  // 0, 1, .. islands - 1

  auto operator<=>(const NodeState&) const = default;
};

// Idle parts of the state's GPUs, in hundredths.
std::uint32_t idle_of(const NodeState& state);

// The state with its GPUs in the node's own order.
NodeState outline(const NodeView& view);

// The same for all nodes alike. Where no GPU has anything left the CPUs tell nothing; they are 0.
NodeState canonical(const NodeState& state);

// `gpus` of the usable GPUs of a state, those whose loss breaks the fewest islands; there the
// tightest, the lowest index. Nothing when there are too few, or too few in one island where one is
// needed.
GpuSet choose_together(const NodeState& state, GpuSet usable, std::uint32_t gpus, bool one_island);

}  // namespace berth::core
