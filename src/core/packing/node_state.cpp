// See node_state.h.
#include "core/packing/node_state.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "base/assert.h"

namespace berth::core {
namespace {

constexpr std::int64_t kUnit = 1000;   // one core
constexpr std::uint32_t kLinear = 64;  // steps of one unit
constexpr std::uint32_t kDoublings = 4;
constexpr std::uint32_t kHalf = kLinear / 2;

// The width of a step and its least amount, in units.
std::pair<std::int64_t, std::int64_t> width_and_low(std::uint16_t step) {
  if (step < kLinear) return {1, step};
  const std::uint32_t doubling = (step - kLinear) / kHalf + 1;
  const std::int64_t inside = kHalf + (step - kLinear) % kHalf;
  return {std::int64_t{1} << doubling, inside << doubling};
}

struct IslandView {
  std::array<std::uint8_t, kNodeGpusMax> left{};  // descending
  std::uint32_t size = 0;
  auto operator<=>(const IslandView&) const = default;
};

}  // namespace

std::uint16_t cpu_step(std::int64_t milli) {
  const auto units = static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(milli / kUnit, 0, (kLinear << kDoublings) - 1));
  if (units < kLinear) return static_cast<std::uint16_t>(units);
  const auto doubling = static_cast<std::uint32_t>(std::bit_width(units / kLinear));
  return static_cast<std::uint16_t>(kLinear + (doubling - 1) * kHalf + (units >> doubling) - kHalf);
}

std::int64_t cpu_low(std::uint16_t step) { return width_and_low(step).second * kUnit; }

std::int64_t cpu_mid(std::uint16_t step) {
  const auto [width, low] = width_and_low(step);
  return low * kUnit + width * kUnit / 2;
}

std::int64_t cpu_end(std::uint16_t step) {
  if (step + 1U >= kCpuSteps) return INT64_MAX;
  const auto [width, low] = width_and_low(step);
  return (low + width) * kUnit;
}

std::uint32_t idle_of(const NodeState& state) {
  std::uint32_t idle = 0;
  for (const std::uint8_t left : state.left)  // past the node's GPUs: 0
    idle += left;
  return idle;
}

NodeState outline(const NodeView& view) {
  ASSERT(view.gpus <= kNodeGpusMax);
  NodeState state;
  state.kind = view.kind;
  state.gpus = view.gpus;
  state.cpu = cpu_step(view.cpu.value);
  std::array<std::uint8_t, kNodeGpusMax> number;
  number.fill(kNodeGpusMax);
  for (std::size_t i = 0; i < view.gpus; ++i) {
    state.left[i] =
        static_cast<std::uint8_t>(std::min<std::uint32_t>(view.left[i], 1000) / kResidualStep);
    std::uint8_t& island = number[view.island[i]];
    if (island == kNodeGpusMax) island = state.islands++;
    state.island[i] = island;
  }
  return state;
}

NodeState canonical(const NodeState& state) {
  NodeState result = state;
  if (idle_of(state) == 0) result.cpu = 0;
  if (state.islands <= 1) {
    std::sort(result.left.begin(), result.left.begin() + state.gpus, std::greater<>());
    return result;
  }
  std::array<IslandView, kNodeGpusMax> islands;
  for (std::size_t i = 0; i < state.gpus; ++i) {
    IslandView& island = islands[state.island[i]];
    island.left[island.size++] = state.left[i];
  }
  for (std::size_t i = 0; i < state.islands; ++i)
    std::sort(islands[i].left.begin(), islands[i].left.begin() + islands[i].size, std::greater<>());
  std::sort(islands.begin(), islands.begin() + state.islands, std::greater<>());
  std::size_t next = 0;
  for (std::uint8_t i = 0; i < state.islands; ++i) {
    for (std::size_t j = 0; j < islands[i].size; ++j, ++next) {
      result.left[next] = islands[i].left[j];
      result.island[next] = i;
    }
  }
  return result;
}

GpuSet choose_together(const NodeState& state, GpuSet usable, std::uint32_t gpus, bool one_island) {
  if (static_cast<std::uint32_t>(std::popcount(usable)) < gpus) return 0;
  std::array<std::uint32_t, kNodeGpusMax> count{};
  for (GpuSet rest = usable; rest != 0; rest &= rest - 1)
    ++count[state.island[static_cast<std::size_t>(std::countr_zero(rest))]];
  GpuSet chosen = 0;
  std::uint32_t missing = gpus;
  while (missing > 0) {
    // The smallest island that has enough; else all of the largest, and on.
    std::size_t best = 0;
    for (std::size_t i = 1; i < state.islands; ++i) {
      const bool enough = count[i] >= missing;
      const bool best_enough = count[best] >= missing;
      if (enough ? !best_enough || count[i] < count[best] : !best_enough && count[i] > count[best])
        best = i;
    }
    if (one_island && count[best] < gpus) return 0;
    std::array<std::pair<std::uint8_t, std::uint8_t>, kNodeGpusMax> order;
    std::size_t size = 0;
    for (std::uint8_t i = 0; i < state.gpus; ++i) {
      if ((usable >> i & 1) != 0 && state.island[i] == best) order[size++] = {state.left[i], i};
    }
    std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(size));
    for (std::size_t i = 0; i < size && missing > 0; ++i, --missing)
      chosen |= GpuSet{1} << order[i].second;
    count[best] = 0;
  }
  return chosen;
}

}  // namespace berth::core
