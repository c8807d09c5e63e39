// F and M against their definitions, computed plainly in double.
#include "core/packing/fragment.h"

#include <cmath>

#include <gtest/gtest.h>

namespace berth::core::fragment_test {
namespace {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::int64_t below(std::int64_t n) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::int64_t>((state_ >> 33) % static_cast<std::uint64_t>(n));
  }

 private:
  std::uint64_t state_;
};

TypicalMix random_mix(Dice& dice, int shapes) {
  TypicalMix mix;
  for (int i = 0; i < shapes; ++i) {
    TypicalShape& typical = mix.emplace_back();
    typical.shape.gpus = static_cast<std::uint16_t>(
        std::vector{0, 1, 1, 1, 2, 8}[static_cast<std::size_t>(dice.below(6))]);
    typical.shape.share =
        static_cast<std::uint16_t>(typical.shape.gpus == 1 ? 50 + dice.below(96) * 10 : 1000);
    typical.shape.cpu = dice.below(20) * 900;
    typical.shape.kinds = dice.below(3) == 0 ? 2 : 0;
    typical.weight = kWeightTotal / static_cast<std::uint32_t>(shapes);
  }
  return mix;
}

NodeState random_state(Dice& dice) {
  NodeState state;
  state.kind = KindId{static_cast<std::uint32_t>(dice.below(2))};
  state.gpus = 8;
  state.islands = 1;
  state.cpu = static_cast<std::uint16_t>(dice.below(100));
  for (std::size_t i = 0; i < 8; ++i)
    state.left[i] = static_cast<std::uint8_t>(dice.below(2) == 0 ? 100 : dice.below(101));
  return state;
}

struct Plain {
  double f = 0;
  double m = 0;
};

Plain plainly(const TypicalMix& mix, const NodeState& state) {
  double idle = 0;
  for (std::size_t i = 0; i < state.gpus; ++i)
    idle += state.left[i] / 100.0;
  Plain result{0, idle};
  const auto cpu = static_cast<double>(cpu_low(state.cpu));
  for (const TypicalShape& typical : mix) {
    const ShapeClass& shape = typical.shape;
    const double weight = static_cast<double>(typical.weight) / kWeightTotal;
    int enough = 0;
    int copies = 0;
    double small = 0;
    for (std::size_t i = 0; i < state.gpus; ++i) {
      const int left = state.left[i] * 10;
      if (left >= shape.share)
        ++enough;
      else
        small += left / 1000.0;
      if (shape.share > 0) copies += left / shape.share;
    }
    if (shape.gpus > 1) copies = enough / shape.gpus;
    const bool runs = shape.gpus > 0 && enough >= shape.gpus &&
                      cpu >= static_cast<double>(shape.cpu) && allows(shape.kinds, state.kind);
    result.f += weight * (runs ? small : idle);
    if (!runs) continue;
    const double by_cpu = shape.cpu == 0 ? 1e9 : cpu / static_cast<double>(shape.cpu);
    result.m -= weight * std::min<double>(copies, by_cpu) * shape.gpus * shape.share / 1000.0;
  }
  return result;
}

TEST(Fragments, AreWhatTheirDefinitionsSay) {
  Dice dice(3);
  for (int round = 0; round < 300; ++round) {
    const TypicalMix mix = random_mix(dice, 1 + static_cast<int>(dice.below(60)));
    const FragmentRows rows(mix);
    for (int i = 0; i < 20; ++i) {
      const NodeState state = random_state(dice);
      const Plain plain = plainly(mix, state);
      const std::uint32_t idle = idle_of(state);
      // Weights have 15 bits, copies 6 behind the point.
      ASSERT_NEAR(static_cast<double>(rows.fragment(state, idle)) / 1e6, plain.f, 0.02) << round;
      ASSERT_NEAR(static_cast<double>(rows.copies_fragment(state, idle)) / 1e6, plain.m, 0.12)
          << round;
    }
  }
}

TEST(Fragments, WithoutAMixAllThatIsIdleIsFragment) {
  Dice dice(4);
  const NodeState state = random_state(dice);
  const std::uint32_t idle = idle_of(state);
  EXPECT_EQ(FragmentRows().fragment(state, idle), idle * 10'000);
  EXPECT_EQ(FragmentRows(TypicalMix{}).copies_fragment(state, idle), idle * 10'000);
}

TEST(Fragments, TheSmallestSharesDoNotOverflow) {
  TypicalMix mix(1);
  mix[0].shape = {1, 1, 0, 0};
  mix[0].weight = kWeightTotal;
  NodeState state;
  state.kind = KindId{0};
  state.gpus = kNodeGpusMax;
  state.islands = 1;
  state.left.fill(100);
  const std::int64_t fragment = FragmentRows(mix).copies_fragment(state, idle_of(state));
  EXPECT_GE(fragment, 0);
  EXPECT_LE(fragment, 16'000'000);
}

TEST(Fragments, IslandsCountForShapesThatFitIntoThem) {
  TypicalMix mix(1);
  mix[0].shape = {4, 1000, 0, 0};
  mix[0].weight = kWeightTotal;
  NodeState together;
  together.kind = KindId{0};
  together.gpus = 8;
  together.islands = 2;
  together.island = {0, 0, 0, 0, 1, 1, 1, 1};
  together.left = {100, 100, 100, 100, 0, 0, 0, 0};
  NodeState apart = together;
  apart.left = {100, 100, 0, 0, 100, 100, 0, 0};
  const FragmentRows rows(mix);
  EXPECT_NEAR(static_cast<double>(rows.copies_fragment(together, 400)), 0, 2000);
  EXPECT_EQ(rows.copies_fragment(apart, 400), 4'000'000);
}

TEST(Scarcity, IsEvenWithoutChoosyShapes) {
  TypicalMix mix(1);
  mix[0].shape = {1, 500, 0, 0};
  mix[0].weight = kWeightTotal;
  EXPECT_EQ(scarcity(mix, {10, 0, 30}), (std::vector<std::int64_t>{1000, 1000, 1000}));
  EXPECT_EQ(scarcity({}, {10, 5}), (std::vector<std::int64_t>{1000, 1000}));
}

TEST(Scarcity, IsDemandOverGpusRelativeToTheWhole) {
  TypicalMix mix(2);
  mix[0].shape = {1, 1000, 0, 0};
  mix[0].weight = kWeightTotal / 2;
  mix[1].shape = {1, 1000, 0, 1};  // kind 0 alone
  mix[1].weight = kWeightTotal / 2;
  // Kind 0: 0.5/40 + 0.5/10 = 0.0625 for each GPU; kind 1: 0.0125; the whole: 1/40.
  EXPECT_EQ(scarcity(mix, {10, 30}), (std::vector<std::int64_t>{2500, 500}));
}

}  // namespace
}  // namespace berth::core::fragment_test
