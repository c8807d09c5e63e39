// See worth.h.
#include "core/packing/worth.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/units.h"
#include "core/packing/cost_levels.h"

namespace berth::core {
namespace {

constexpr std::int64_t kCostStep = 40'000;      // millionths of a GPU
constexpr std::int64_t kScarcityWeight = 30;    // millionths for each thousandth above 1000
constexpr std::int64_t kBrokenIsland = 80'000;  // an island partly used, on a node with several

std::int64_t rounded(std::int64_t value) {
  const std::int64_t shifted = value + kCostStep / 2;
  return shifted >= 0 ? shifted / kCostStep : -((-shifted + kCostStep - 1) / kCostStep);
}

std::int64_t broken_islands(const NodeState& state) {
  std::array<std::uint32_t, kNodeGpusMax> left{};
  std::array<std::uint32_t, kNodeGpusMax> size{};
  for (std::size_t i = 0; i < state.gpus; ++i) {
    left[state.island[i]] += state.left[i];
    size[state.island[i]] += kResiduals - 1;
  }
  std::int64_t broken = 0;
  for (std::size_t i = 0; i < state.islands; ++i)
    broken += left[i] > 0 && left[i] < size[i] ? 1 : 0;
  return broken;
}

// GPUs that some node of the state might use for the shape.
GpuSet maybe_usable(const NodeState& state, const Shape& shape) {
  GpuSet usable = 0;
  for (std::size_t i = 0; i < state.gpus; ++i) {
    const std::uint32_t most = state.left[i] * kResidualStep + kResidualStep - 1;
    if (most >= shape.share) usable |= GpuSet{1} << i;
  }
  return usable;
}

NodeState after_start(const NodeState& state, const Shape& shape, GpuSet gpus) {
  NodeState after = state;
  after.cpu = cpu_step(cpu_mid(state.cpu) - shape.cpu.value);
  const std::uint32_t share = shape.share;
  for (; gpus != 0; gpus &= gpus - 1) {
    std::uint8_t& left = after.left[static_cast<std::size_t>(std::countr_zero(gpus))];
    const std::uint32_t had = left * kResidualStep;
    left = static_cast<std::uint8_t>(had > share ? (had - share) / kResidualStep : 0);
  }
  return after;
}

}  // namespace

void Worth::set_mix(TypicalMix mix) {
  mix_ = std::move(mix);
  renew_rows();
  set_gpus(std::exchange(gpus_by_kind_, {}));
}

void Worth::set_table(std::optional<ValueTable> table) {
  table_ = std::move(table);
  renew_rows();
}

void Worth::renew_rows() { rows_ = FragmentRows(table_ ? mix_ : sharpened(mix_)); }

bool Worth::set_gpus(const std::vector<std::int64_t>& gpus_by_kind) {
  gpus_by_kind_ = gpus_by_kind;
  std::vector<std::int64_t> prices = scarcity(mix_, gpus_by_kind);
  for (std::int64_t& price : prices)
    price = (price - 1000) * kScarcityWeight;
  return std::exchange(kind_price_, std::move(prices)) != kind_price_;
}

std::int64_t Worth::phi(const NodeState& state) const {
  const std::uint32_t idle = idle_of(state);
  if (idle == 0) return 0;
  std::int64_t value = state.islands > 1 ? broken_islands(state) * kBrokenIsland : 0;
  if (table_) {
    value += expected_idle(table_->page(state.kind), state, idle);
    return value + rows_.copies_fragment(state, idle) / 20;
  }
  std::int64_t squares = 0;
  for (std::size_t i = 0; i < state.gpus; ++i)
    squares += std::int64_t{state.left[i]} * state.left[i];
  return value + (rows_.fragment(state, idle) * 7 + rows_.copies_fragment(state, idle) * 3) / 10 -
         squares * 10;
}

std::int32_t Worth::cost(const NodeState& after, std::int64_t phi_before,
                         const Shape& shape) const {
  std::int64_t value = phi(after) - phi_before;
  const std::uint32_t kind = after.kind.value;
  if (!table_ && shape.gpus > 0 && kind < kind_price_.size())
    value += kind_price_[kind] * shape.gpus * shape.share / 1000;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(rounded(value), -kCostMost, kCostMost));
}

std::int32_t Worth::cheapest(const NodeState& state, std::int64_t phi_before,
                             const Shape& shape) const {
  if (shape.gpus > 0 && (shape.gpus > state.gpus || !allows(shape.kinds, state.kind)))
    return kCostNone;
  if (idle_of(state) == 0) {
    // No room is lost here, and the CPUs are not told; less than a step may be left of a GPU.
    return shape.gpus == 0 || shape.share < kResidualStep ? 0 : kCostNone;
  }
  if (cpu_end(state.cpu) <= shape.cpu.value) return kCostNone;
  const auto start = best_start(state, phi_before, shape, maybe_usable(state, shape));
  return start ? start->cost : kCostNone;
}

std::optional<Worth::Start> Worth::best_start(const NodeState& state, std::int64_t phi_before,
                                              const Shape& shape, GpuSet usable) const {
  if (shape.gpus == 0) return Start{cost(after_start(state, shape, 0), phi_before, shape), 0};
  if (shape.gpus > 1 || shape.share >= 1000) {
    const GpuSet gpus = choose_together(state, usable, shape.gpus, needs_island(shape));
    if (gpus == 0) return std::nullopt;
    return Start{cost(after_start(state, shape, gpus), phi_before, shape), gpus};
  }
  // One GPU: one try for each (island, residual), the emptier first.
  std::array<std::pair<std::uint32_t, GpuSet>, kNodeGpusMax> tries;
  std::size_t size = 0;
  for (GpuSet rest = usable; rest != 0; rest &= rest - 1) {
    const auto i = static_cast<std::size_t>(std::countr_zero(rest));
    const std::uint32_t key = (100U - state.left[i]) << 8 | state.island[i];
    const auto same = [key](const auto& tried) { return tried.first == key; };
    if (std::none_of(tries.begin(), tries.begin() + static_cast<std::ptrdiff_t>(size), same))
      tries[size++] = {key, rest & -rest};
  }
  std::optional<Start> best;
  std::uint32_t best_key = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const auto [key, gpu] = tries[i];
    const Start start{cost(after_start(state, shape, gpu), phi_before, shape), gpu};
    const bool better = !best || start.cost < best->cost ||
                        (start.cost == best->cost && (key >> 8) < (best_key >> 8));
    if (better) best = start, best_key = key;
  }
  return best;
}

}  // namespace berth::core
