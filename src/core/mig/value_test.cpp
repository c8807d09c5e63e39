// Value tables come from the mix alone, have one encoding, and know what the mix needs.
#include "core/mig/value.h"

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "core/mig/placement.h"

namespace berth::core::mig::value_test {
namespace {

std::vector<Demand> small_mix() {
  return {{profile_named("1g.10gb"), 50, minutes(3)},
          {profile_named("2g.20gb"), 30, minutes(5)},
          {profile_named("3g.40gb"), 15, minutes(20)},
          {profile_named("4g.40gb"), 5, minutes(60)}};
}

TEST(MigValue, TheOrderOfTheMixDoesNotMatter) {
  std::vector<Demand> mix = small_mix();
  // Demands of one profile add up.
  mix.push_back({profile_named("1g.10gb"), 7, minutes(11)});
  mix.push_back({profile_named("1g.10gb"), 1'000'003, nanoseconds(999'999'999'999'999)});
  const ValueTable table = value_table(Geometry::a100_80, mix);
  std::mt19937_64 random(1);
  for (int i = 0; i < 10; ++i) {
    std::shuffle(mix.begin(), mix.end(), random);
    EXPECT_EQ(value_table(Geometry::a100_80, mix), table);
  }
}

TEST(MigValue, UnitsDoNotMatter) {
  std::vector<Demand> mix = small_mix();
  const ValueTable table = value_table(Geometry::a100_80, mix);
  for (Demand& demand : mix) {
    demand.rate *= 64;
    demand.mean_run.ns *= 4;
  }
  EXPECT_EQ(value_table(Geometry::a100_80, mix), table);
}

TEST(MigValue, NothingAskedIsAskedAlike) {
  const ValueTable even = value_table(Geometry::h100_80, {});
  const std::vector<Demand> nothing = {{profile_named("1g.5gb"), 5, minutes(1)},
                                       {profile_named("1g.10gb"), 0, minutes(1)},
                                       {profile_named("2g.20gb"), -3, minutes(1)},
                                       {profile_named("3g.40gb"), 3, Duration{0}},
                                       {kNoProfile, 3, minutes(1)},
                                       {200, 3, minutes(1)}};
  EXPECT_EQ(value_table(Geometry::h100_80, nothing), even);
  EXPECT_NE(value_table(Geometry::a100_80, small_mix()).values, even.values);
}

// A slice less never leaves more room, whatever is asked.
TEST(MigValue, ValuesFallAsAGpuFills) {
  const std::vector<std::vector<Demand>> mixes = {
      {},
      small_mix(),
      {{profile_named("7g.80gb"), 1, minutes(1)}},
      {{profile_named("1g.10gb"), 1, minutes(1)}},
      {{profile_named("1g.10gb+me"), 1, minutes(1)}},
      {{profile_named("1g.10gb"), std::numeric_limits<std::int64_t>::max(), nanoseconds(1)},
       {profile_named("7g.80gb"), 1, Duration::forever()}}};
  const StateSet reachable = reachable_states(Geometry::a100_80);
  for (const auto& mix : mixes) {
    const ValueTable table = value_table(Geometry::a100_80, mix);
    for (std::uint16_t i = 0; i < kStates; ++i) {
      const State state = State::at(i);
      ASSERT_EQ(reachable[i], table.of(state) > 0) << i;
      ASSERT_LE(table.of(state), kValueMax);
      if (!reachable[i]) continue;
      for (const SlotClass& slot : slot_classes(Geometry::a100_80)) {
        for (int start = 0; start < 8; ++start) {
          if (!legal(state, slot, start)) continue;
          ASSERT_GE(table.of(state), table.of(take(state, slot, start))) << i;
        }
      }
    }
  }
}

TEST(MigValue, TheMixDecides) {
  const auto place = [](const char* asked) {
    const std::vector<Demand> mix = {{profile_named(asked), 1, minutes(1)}};
    return choose(Geometry::a100_80, {.used = 0b0000'0011}, profile_named("1g.10gb"),
                  value_table(Geometry::a100_80, mix));
  };
  EXPECT_EQ(place("3g.40gb"), 3);  // the upper half stays whole
  EXPECT_EQ(place("2g.20gb"), 6);  // 2g starts at 2 and 4, never at 6
  // Where the media extension is asked for, a GPU that still has it is worth more.
  const ValueTable media = value_table(
      Geometry::a100_80, std::vector<Demand>{{profile_named("1g.10gb+me"), 1, minutes(1)}});
  EXPECT_GT(media.of({.used = 1}), media.of({.used = 1, .media = true}) + kValueUnit / 10);
}

TEST(MigValue, BytesGoBothWays) {
  for (std::size_t g = 1; g < kGeometries; ++g) {
    const ValueTable table = value_table(static_cast<Geometry>(g), {});
    const std::string bytes = encode(table);
    EXPECT_EQ(bytes.size(), 2050U);
    const auto decoded = decode_value_table(bytes);
    ASSERT_TRUE(decoded.ok());
    EXPECT_EQ(*decoded, table);
    EXPECT_EQ(encode(*decoded), bytes);
  }
}

TEST(MigValue, BytesThatSayNoTableAreRefused) {
  const std::string good = encode(value_table(Geometry::h200_141, {}));
  const auto why = [](const std::string& bytes) {
    const auto decoded = decode_value_table(bytes);
    return decoded.ok() ? std::string() : decoded.error().message;
  };
  EXPECT_NE(why("").find("0 bytes and not 2050"), std::string::npos);
  EXPECT_NE(why(good + "x").find("2051 bytes"), std::string::npos);
  const auto with = [&](std::size_t at, char byte) {
    std::string bytes = good;
    bytes[at] = byte;
    return why(bytes);
  };
  EXPECT_NE(with(0, 2).find("version 2"), std::string::npos);
  EXPECT_NE(with(1, 0).find("the number 0"), std::string::npos);
  EXPECT_NE(with(1, 6).find("the number 6"), std::string::npos);
  EXPECT_NE(with(2 + 3, 1).find("of state 0 is out of range"), std::string::npos);
  EXPECT_NE(with(2 + 3, '\xff').find("value -"), std::string::npos);
  // Only slice 7: no profile starts there.
  EXPECT_NE(with(2 + 4 * 128, 1).find("state 128, which no layout has"), std::string::npos);
  EXPECT_EQ(why(good), "");
}

TEST(MigValue, RandomBytesNeverBecomeAnotherTable) {
  std::mt19937_64 random(7);
  const std::string good = encode(value_table(Geometry::a100_40, {}));
  for (int i = 0; i < 2'000; ++i) {
    std::string bytes = good;
    bytes[random() % bytes.size()] = static_cast<char>(random());
    const auto decoded = decode_value_table(bytes);
    if (decoded.ok()) {
      ASSERT_EQ(encode(*decoded), bytes);
    }
  }
}

}  // namespace
}  // namespace berth::core::mig::value_test
