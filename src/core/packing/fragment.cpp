// See fragment.h.
#include "core/packing/fragment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/assert.h"
#include "base/units.h"
#include "core/packing/value_table.h"

namespace berth::core {
namespace {

// Eight lanes at once; compilers turn it into what the machine has.
typedef std::int16_t Block __attribute__((vector_size(16)));
typedef std::int32_t WideBlock __attribute__((vector_size(32)));
constexpr std::size_t kBlock = 8;
constexpr std::int64_t kCopy = 64;  // parts of a copy that are counted
constexpr std::int64_t kLaneMax = 32767;
constexpr std::int64_t kCopiesMax = kLaneMax / kNodeGpusMax;  // on one GPU; a node adds them up
constexpr std::int64_t kUnitMax = 1 << 20;  // keeps sums of lane products in 32 bits
constexpr std::int64_t kMillionthsOfHundredth = kGpuMillionths / 100;
constexpr std::uint8_t kWhole = kResiduals - 1;

std::int16_t lane(std::int64_t value) {
  return static_cast<std::int16_t>(std::clamp<std::int64_t>(value, 0, kLaneMax));
}

Block load(const std::int16_t* lanes) {
  Block block;
  std::memcpy(&block, lanes, sizeof block);
  return block;
}

std::int32_t sum_of(const WideBlock& block) {
  std::int32_t sum = 0;
  for (std::size_t j = 0; j < kBlock; ++j)
    sum += block[j];
  return sum;
}

void add_products(WideBlock& sum, const Block& a, const Block& b) {
  sum += __builtin_convertvector(a, WideBlock) * __builtin_convertvector(b, WideBlock);
}

// The unit that uses the 16 bits of a lane best for weights up to `largest` (of kWeightTotal).
std::int64_t unit_for(std::int64_t largest) {
  return std::min(kUnitMax, kLaneMax * kWeightTotal / std::max<std::int64_t>(1, largest));
}

// weight x GPUs x share, in kWeightTotal-ths of a GPU.
std::int64_t demand_of(const TypicalShape& typical) {
  return std::int64_t{typical.weight} * typical.shape.gpus * typical.shape.share / 1000;
}

}  // namespace

FragmentRows::FragmentRows(const TypicalMix& mix) {
  TypicalMix shapes;
  for (const TypicalShape& typical : mix) {
    if (typical.shape.gpus > 0 && shapes.size() < kLanesMax) shapes.push_back(typical);
  }
  lanes_ = (shapes.size() + kBlock - 1) / kBlock * kBlock;
  gpus_.resize(lanes_);
  copies_.resize(kResiduals * lanes_);
  room_.resize(kResiduals * lanes_);
  wholes_.resize((kNodeGpusMax + 1) * lanes_);
  cpu_.resize(kCpuSteps * lanes_);
  run_.resize(kMaxKinds * lanes_);
  size_.resize(kMaxKinds * lanes_);
  std::int64_t most_weight = 0;
  std::int64_t most_demand = 0;
  for (const TypicalShape& typical : shapes) {
    most_weight = std::max<std::int64_t>(most_weight, typical.weight);
    most_demand = std::max(most_demand, demand_of(typical));
  }
  run_unit_ = unit_for(most_weight);
  size_unit_ = unit_for(most_demand);
  for (std::size_t m = 0; m < shapes.size(); ++m) {
    const TypicalShape& typical = shapes[m];
    const ShapeClass& shape = typical.shape;
    gpus_[m] = lane(shape.gpus);
    const std::uint32_t share = std::max<std::uint32_t>(1, shape.share);
    for (std::uint32_t r = 0; r < kResiduals; ++r) {
      const std::uint32_t left = r * kResidualStep;
      room_[r * lanes_ + m] = lane(left >= share ? r : 0);
      if (shape.gpus == 1)
        copies_[r * lanes_ + m] = lane(std::min(left / share * kCopy, kCopiesMax));
    }
    for (std::uint32_t w = 0; shape.gpus > 1 && w <= kNodeGpusMax; ++w)
      wholes_[w * lanes_ + m] = lane(w / shape.gpus * kCopy);
    for (std::uint32_t step = 0; step < kCpuSteps; ++step) {
      const std::int64_t cpu = cpu_low(static_cast<std::uint16_t>(step));
      const std::int64_t allowed = shape.cpu <= 0    ? kLaneMax
                                   : cpu < shape.cpu ? 0
                                                     : cpu * kCopy / shape.cpu;
      cpu_[step * lanes_ + m] = lane(allowed);
    }
    for (std::uint32_t kind = 0; kind < kMaxKinds; ++kind) {
      if (!allows(shape.kinds, KindId{kind})) continue;
      run_[kind * lanes_ + m] = lane(scale(typical.weight, run_unit_, kWeightTotal));
      size_[kind * lanes_ + m] = lane(scale(demand_of(typical), size_unit_, kWeightTotal));
    }
  }
}

// How often each shape could run on the state, in kCopy-ths.
void FragmentRows::count_runs(const NodeState& state, Lane* runs) const {
  std::size_t wholes = 0;
  std::array<const Lane*, kNodeGpusMax> rows;
  std::size_t used = 0;
  for (std::size_t i = 0; i < state.gpus; ++i) {
    wholes += state.left[i] == kWhole ? 1 : 0;
    rows[used] = &copies_[state.left[i] * lanes_];
    used += state.left[i] > 0 ? 1 : 0;
  }
  const Lane* together = &wholes_[wholes * lanes_];
  const Lane* cpu = &cpu_[state.cpu * lanes_];
  for (std::size_t base = 0; base < lanes_; base += kBlock) {
    Block sum = load(together + base);
    for (std::size_t i = 0; i < used; ++i)
      sum += load(rows[i] + base);
    const Block most = load(cpu + base);
    sum = sum < most ? sum : most;
    std::memcpy(runs + base, &sum, sizeof sum);
  }
  if (state.islands > 1) count_by_island(state, runs);
}

// Shapes of several GPUs that an island could hold are counted island by island, so that breaking
// one has a price.
void FragmentRows::count_by_island(const NodeState& state, Lane* runs) const {
  std::array<std::uint32_t, kNodeGpusMax> wholes{};
  std::array<std::int16_t, kNodeGpusMax> size{};
  for (std::size_t i = 0; i < state.gpus; ++i) {
    wholes[state.island[i]] += state.left[i] == kWhole ? 1 : 0;
    ++size[state.island[i]];
  }
  const std::int16_t largest = *std::max_element(size.begin(), size.end());
  for (std::size_t m = 0; m < lanes_; ++m) {
    if (gpus_[m] <= 1 || gpus_[m] > largest) continue;
    std::int64_t inside = 0;
    for (std::size_t i = 0; i < state.islands; ++i)
      inside += wholes_[wholes[i] * lanes_ + m];
    runs[m] = std::min(runs[m], lane(inside));
  }
}

std::int64_t FragmentRows::fragment(const NodeState& state, std::uint32_t idle) const {
  if (idle == 0 || lanes_ == 0) return idle * kMillionthsOfHundredth;
  std::array<Lane, kLanesMax> runs;
  count_runs(state, runs.data());
  const Lane* weight = &run_[state.kind.value * lanes_];
  WideBlock usable{};
  for (std::size_t base = 0; base < lanes_; base += kBlock) {
    Block room{};
    for (std::size_t i = 0; i < state.gpus; ++i)
      room += load(&room_[state.left[i] * lanes_ + base]);
    const Block runs_here = load(&runs[base]);
    room = runs_here > 0 ? room : Block{};
    add_products(usable, room, load(weight + base));
  }
  return idle * kMillionthsOfHundredth - sum_of(usable) * kMillionthsOfHundredth / run_unit_;
}

std::int64_t FragmentRows::copies_fragment(const NodeState& state, std::uint32_t idle) const {
  if (idle == 0 || lanes_ == 0) return idle * kMillionthsOfHundredth;
  std::array<Lane, kLanesMax> runs;
  count_runs(state, runs.data());
  const Lane* weight = &size_[state.kind.value * lanes_];
  WideBlock usable{};
  for (std::size_t base = 0; base < lanes_; base += kBlock)
    add_products(usable, load(&runs[base]), load(weight + base));
  return idle * kMillionthsOfHundredth -
         sum_of(usable) * std::int64_t{kGpuMillionths} / (size_unit_ * kCopy);
}

TypicalMix sharpened(const TypicalMix& mix) {
  std::vector<double> powers;
  double sum = 0;
  for (const TypicalShape& typical : mix) {
    const double p = static_cast<double>(typical.weight) / kWeightTotal;
    powers.push_back(p * std::sqrt(std::sqrt(p)));
    sum += powers.back();
  }
  TypicalMix result = mix;
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i].weight = static_cast<std::uint32_t>(std::lround(powers[i] / sum * kWeightTotal));
  return result;
}

std::vector<std::int64_t> scarcity(const TypicalMix& mix,
                                   const std::vector<std::int64_t>& gpus_by_kind) {
  std::int64_t gpus = 0;
  for (const std::int64_t count : gpus_by_kind)
    gpus += count;
  std::int64_t demand = 0;
  std::vector<std::int64_t> rho(gpus_by_kind.size(), 0);  // demand per GPU, in kFine-ths
  constexpr std::int64_t kFine = 1000;
  for (const TypicalShape& typical : mix) {
    const std::int64_t asked = demand_of(typical);
    std::int64_t open = 0;
    for (std::uint32_t kind = 0; kind < gpus_by_kind.size(); ++kind)
      open += allows(typical.shape.kinds, KindId{kind}) ? gpus_by_kind[kind] : 0;
    if (asked == 0 || open == 0) continue;
    demand += asked;
    for (std::uint32_t kind = 0; kind < gpus_by_kind.size(); ++kind) {
      if (allows(typical.shape.kinds, KindId{kind})) rho[kind] += scale(asked, kFine * gpus, open);
    }
  }
  for (std::int64_t& value : rho)
    value = demand == 0 ? 1000 : scale(value, 1000, demand * kFine);
  return rho;
}

}  // namespace berth::core
