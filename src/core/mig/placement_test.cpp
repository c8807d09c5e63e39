// Placements are always legal, and the value table decides between them.
#include "core/mig/placement.h"

#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace berth::core::mig::placement_test {
namespace {

const std::vector<Geometry> kCut = {Geometry::a100_40, Geometry::a100_80, Geometry::h100_80,
                                    Geometry::h200_141, Geometry::b200_180};

TEST(MigPlacement, MoreRoomForOthersComesFirst) {
  const ValueTable values = value_table(Geometry::a100_80, {});
  const auto start_of = [&](State state, const char* name) {
    return choose(Geometry::a100_80, state, profile_named(name), values);
  };
  // Where a driver left alone would put 1g at 0, this spares 4g and keeps 2g whole.
  EXPECT_EQ(start_of({}, "1g.10gb"), 6);
  EXPECT_EQ(start_of({}, "1g.20gb"), 6);
  EXPECT_EQ(start_of({}, "3g.40gb"), 4);
  EXPECT_EQ(start_of({}, "7g.80gb"), 0);
  EXPECT_EQ(start_of({.used = 0b0100'0000}, "1g.10gb"), 5);
}

TEST(MigPlacement, EqualValuesGoToTheHighestStart) {
  ValueTable flat{.geometry = Geometry::a100_40, .values = {}};
  EXPECT_EQ(choose(Geometry::a100_40, {}, profile_named("2g.10gb"), flat), 4);
  EXPECT_EQ(choose(Geometry::a100_40, {.used = 0b0011'0000}, profile_named("2g.10gb"), flat), 2);
  flat.values[State{.used = 0b0000'0011}.index()] = 1;
  EXPECT_EQ(choose(Geometry::a100_40, {}, profile_named("2g.10gb"), flat), 0);
}

TEST(MigPlacement, NoneWhereItDoesNotFit) {
  const ValueTable values = value_table(Geometry::h200_141, {});
  const auto start_of = [&](State state, const char* name) {
    return choose(Geometry::h200_141, state, profile_named(name), values);
  };
  EXPECT_EQ(start_of({.used = 1}, "7g.141gb"), std::nullopt);
  EXPECT_EQ(start_of({.used = 0x7f}, "1g.18gb"), std::nullopt);  // slice 7 is no start of 1g
  EXPECT_EQ(start_of({}, "1g.5gb"), std::nullopt);               // not a profile of this GPU
  EXPECT_EQ(start_of({}, "no such"), std::nullopt);
}

TEST(MigPlacement, OneMediaExtensionPerGpu) {
  const auto me = profile_named("1g.18gb+me");
  const State with = take(Geometry::h200_141, {}, me, 3);
  EXPECT_EQ(with, (State{.used = 0b1000, .media = true}));
  EXPECT_FALSE(legal(Geometry::h200_141, with, me, 4));
  EXPECT_TRUE(legal(Geometry::h200_141, with, profile_named("1g.18gb"), 4));
  EXPECT_EQ(give(Geometry::h200_141, with, me, 3), State{});
}

TEST(MigPlacementDeathTest, WhatIsNotThereCannotBeGiven) {
  const auto plain = profile_named("1g.18gb");
  EXPECT_DEATH(give(Geometry::h200_141, {}, plain, 0), "");
  EXPECT_DEATH(give(Geometry::h200_141, {.used = 1}, profile_named("1g.18gb+me"), 0), "");
  EXPECT_DEATH(take(Geometry::h200_141, {.used = 1}, plain, 0), "");
  EXPECT_DEATH(take(Geometry::h200_141, {}, profile_named("1g.5gb"), 0), "");
}

struct Held {
  ProfileId profile;
  int start;
};

// What a list of instances takes, told by adding their slices one by one.
State sum_of(Geometry geometry, const std::vector<Held>& held) {
  int slices[8] = {};
  int media = 0;
  int compute = 0;
  for (const Held& instance : held) {
    const SlotClass* slot = slot_class(geometry, instance.profile);
    for (int i = 0; i < slot->memory_slices; ++i)
      ++slices[instance.start + i];
    media += slot->media ? 1 : 0;
    compute += slot->compute_slices;
  }
  EXPECT_LE(media, 1);
  EXPECT_LE(compute, compute_slices(geometry));
  State state{.used = 0, .media = media > 0};
  for (int i = 0; i < 8; ++i) {
    EXPECT_LE(slices[i], 1) << "slice " << i;
    if (slices[i] > 0) state.used = static_cast<std::uint8_t>(state.used | 1U << i);
  }
  return state;
}

TEST(MigPlacement, TakingAndGivingAtRandomStaysLegal) {
  std::mt19937_64 random(4);
  for (const Geometry geometry : kCut) {
    const StateSet reachable = reachable_states(geometry);
    const ValueTable values = value_table(geometry, {});
    const auto slots = slot_classes(geometry);
    State state;
    std::vector<Held> held;
    int taken = 0;
    for (int step = 0; step < 20'000; ++step) {
      const bool give_one = !held.empty() && random() % 5 < 2;
      if (give_one) {
        const std::size_t i = random() % held.size();
        state = give(geometry, state, held[i].profile, held[i].start);
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        const ProfileId profile = slots[random() % slots.size()].profile;
        auto start = choose(geometry, state, profile, values);
        // Elsewhere than chosen must be just as safe.
        const int other = static_cast<int>(random() % 8);
        if (start && random() % 2 == 0 && legal(geometry, state, profile, other))
          start = static_cast<std::uint8_t>(other);
        bool any = false;
        for (int s = 0; s < 8; ++s)
          any = any || legal(geometry, state, profile, s);
        ASSERT_EQ(start.has_value(), any);
        if (!start) continue;
        ASSERT_TRUE(legal(geometry, state, profile, *start));
        state = take(geometry, state, profile, *start);
        held.push_back({profile, *start});
        ++taken;
      }
      ASSERT_EQ(state, sum_of(geometry, held));
      ASSERT_TRUE(reachable[state.index()]);
    }
    EXPECT_GT(taken, 1000);
  }
}

}  // namespace
}  // namespace berth::core::mig::placement_test
