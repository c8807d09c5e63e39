// Which GPUs of a node are taken: each rule by a case, and all choices against a plain search.
#include "core/topology/node_layout.h"

#include <array>
#include <bit>
#include <compare>
#include <map>
#include <set>

#include <gtest/gtest.h>

namespace berth::core::node_layout_test {
namespace {

constexpr std::uint16_t kNone = kUnknownPart;

// Eight GPUs in two islands of four; a switch for each two; a socket for each island.
std::vector<Slot> two_islands() {
  std::vector<Slot> slots;
  for (std::uint16_t i = 0; i < 8; ++i) {
    const auto half = static_cast<std::uint16_t>(i / 4);
    slots.push_back({static_cast<std::uint8_t>(i), half, static_cast<std::uint16_t>(i / 2), half});
  }
  return slots;
}

// Eight GPUs in one island, with the same switches and sockets.
std::vector<Slot> one_island() {
  std::vector<Slot> slots = two_islands();
  for (Slot& slot : slots)
    slot.island = 0;
  return slots;
}

std::vector<Slot> no_island() {
  std::vector<Slot> slots = two_islands();
  for (Slot& slot : slots)
    slot.island = kNone;
  return slots;
}

TEST(NodeLayout, TakesTheIslandThatIsBrokenAlready) {
  EXPECT_EQ(NodeLayout(two_islands()).choose(0b1110'1111, 2), 0b1100'0000);
}

TEST(NodeLayout, TakesOneIslandRatherThanTwo) {
  EXPECT_EQ(NodeLayout(two_islands()).choose(0b0111'1110, 3), 0b0000'1110);
}

TEST(NodeLayout, TakesTheIslandThatFitsBest) {
  EXPECT_EQ(NodeLayout(two_islands()).choose(0b1100'0111, 2), 0b1100'0000);
}

TEST(NodeLayout, TakesGpusOfOneSwitch) {
  EXPECT_EQ(NodeLayout(one_island()).choose(0b1101'1010, 2), 0b1100'0000);
  EXPECT_EQ(NodeLayout(no_island()).choose(0b0110'1110, 2), 0b0000'1100);
}

TEST(NodeLayout, TakesGpusOfOneSocketWhenNoSwitchHasEnough) {
  EXPECT_EQ(NodeLayout(one_island()).choose(0b0101'0100, 2), 0b0101'0000);
}

TEST(NodeLayout, TakesTheGpuWhoseSwitchIsInUse) {
  EXPECT_EQ(NodeLayout(one_island()).choose(0b1110'1111, 1), 0b0010'0000);
}

TEST(NodeLayout, TakesTheLowestOfEquals) {
  EXPECT_EQ(NodeLayout(one_island()).choose(0b1111'1111, 1), 0b0000'0001);
  EXPECT_EQ(NodeLayout(one_island()).choose(0b1111'1111, 4), 0b0000'1111);
}

TEST(NodeLayout, KnowsItsIslands) {
  const NodeLayout layout({{0, kNone}, {1, 5}, {2, 5}, {9, 5}});
  EXPECT_EQ(layout.islands(), (std::vector<GpuMask>{0b1, 0b10'0000'0110}));
  EXPECT_EQ(layout.part_sizes(0b10'0000'0011), 0b110U);
  EXPECT_EQ(layout.part_sizes(0), 0U);
}

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::uint32_t below(std::uint32_t n) {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<std::uint32_t>((state_ >> 33) % n);
  }

 private:
  std::uint64_t state_;
};

// The cost of a choice, as the header words it.
std::array<int, 6> cost_of(const std::vector<Slot>& slots, std::uint32_t free,
                           std::uint32_t chosen) {
  const auto effect = [&](std::uint16_t Slot::*grouping) {
    std::map<std::uint32_t, std::uint32_t> parts;
    for (const Slot& slot : slots) {
      const bool alone = slot.*grouping == kNone;
      parts[alone ? 1000U + slot.index : slot.*grouping] |= 1U << slot.index;
    }
    int touched = 0;
    int broken = 0;
    int left = 0;
    for (const auto& [number, part] : parts) {
      if ((part & chosen) == 0) continue;
      ++touched;
      left += std::popcount(part & free & ~chosen);
      if ((part & free) == part && (part & chosen) != part) ++broken;
    }
    return std::array{touched, broken, left};
  };
  const auto islands = effect(&Slot::island);
  const auto switches = effect(&Slot::pcie_switch);
  return {islands[0], islands[1], islands[2], switches[0], effect(&Slot::socket)[0], switches[2]};
}

TEST(NodeLayout, ChoosesAsAPlainSearchWould) {
  Dice dice(7);
  for (int round = 0; round < 30; ++round) {
    const std::uint32_t gpus = 1 + dice.below(8);
    std::vector<Slot> slots;
    for (std::uint32_t i = 0; i < gpus; ++i) {
      const auto part = [&] {
        const std::uint32_t drawn = dice.below(4);
        return drawn == 3 ? kNone : static_cast<std::uint16_t>(drawn);
      };
      slots.push_back({static_cast<std::uint8_t>(i), part(), part(), part()});
    }
    const NodeLayout layout(slots);
    for (std::uint32_t free = 0; free < 1U << gpus; ++free) {
      std::array<std::array<int, 6>, 9> best;
      best.fill({100});
      for (std::uint32_t chosen = 0; chosen <= free; ++chosen) {
        if ((chosen & free) != chosen) continue;
        auto& so_far = best[static_cast<std::size_t>(std::popcount(chosen))];
        so_far = std::min(so_far, cost_of(slots, free, chosen));
      }
      for (int count = 0; count <= std::popcount(free); ++count) {
        const GpuMask chosen =
            layout.choose(static_cast<GpuMask>(free), static_cast<std::uint32_t>(count));
        ASSERT_EQ(std::popcount(chosen), count);
        ASSERT_EQ(chosen & ~free, 0U);
        ASSERT_EQ(cost_of(slots, free, chosen), best[static_cast<std::size_t>(count)]);
      }
    }
  }
}

// Islands of two against switches of two, shifted by one, against sockets: no two GPUs alike.
TEST(NodeLayout, SixteenCrossedGpusStillStayInTheirIslands) {
  std::vector<Slot> slots;
  for (std::uint16_t i = 0; i < 16; ++i) {
    slots.push_back({static_cast<std::uint8_t>(i), static_cast<std::uint16_t>(i / 2),
                     static_cast<std::uint16_t>((i + 1) % 16 / 2),
                     static_cast<std::uint16_t>(i % 3)});
  }
  const NodeLayout layout(slots);
  EXPECT_EQ(layout.choose(0xFFFF, 4), 0xF);
  EXPECT_EQ(layout.choose(0b1100'0000'0000'0110, 2), 0b1100'0000'0000'0000);
}

}  // namespace
}  // namespace berth::core::node_layout_test
