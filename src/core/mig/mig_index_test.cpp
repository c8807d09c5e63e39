// The index answers what a look at every GPU would, whatever happened before.
#include "core/mig/mig_index.h"

#include <algorithm>
#include <map>
#include <random>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

namespace berth::core::mig::mig_index_test {
namespace {

using Fleet = std::map<std::uint32_t, State>;

// All places for one instance, by cost, then GPU.
std::vector<MigIndex::Place> by_looking(const Fleet& fleet, ProfileId profile,
                                        const ValueTable& values) {
  std::vector<std::tuple<std::int32_t, std::uint32_t, std::uint8_t>> found;
  for (const auto& [gpu, state] : fleet) {
    const auto start = choose(values.geometry, state, profile, values);
    if (!start) continue;
    const State after = take(values.geometry, state, profile, *start);
    found.emplace_back(values.of(state) - values.of(after), gpu, *start);
  }
  std::sort(found.begin(), found.end());
  std::vector<MigIndex::Place> places;
  for (const auto& [cost, gpu, start] : found)
    places.push_back({GpuId{gpu}, start, cost});
  return places;
}

std::vector<MigIndex::Place> by_index(const MigIndex& index, ProfileId profile) {
  std::vector<MigIndex::Place> places;
  index.visit(profile, [&](const MigIndex::Place& place) {
    places.push_back(place);
    return true;
  });
  return places;
}

void expect_same(const MigIndex& index, const Fleet& fleet, const ValueTable& values) {
  for (std::size_t id = 0; id < kProfiles + 2; ++id) {
    const auto profile = static_cast<ProfileId>(id);
    const auto expected = by_looking(fleet, profile, values);
    ASSERT_EQ(by_index(index, profile), expected);
    const auto best = index.best(profile);
    ASSERT_EQ(best.has_value(), !expected.empty());
    if (best) {
      ASSERT_EQ(*best, expected.front());
    }
  }
}

TEST(MigIndex, AnswersAsALookAtEveryGpu) {
  std::mt19937_64 random(11);
  for (const Geometry geometry : {Geometry::a100_40, Geometry::h200_141}) {
    ValueTable values = value_table(geometry, {});
    MigIndex index(values);
    Fleet fleet;
    for (std::uint32_t gpu = 0; gpu < 40; ++gpu) {
      fleet[gpu * 7 % 64] = {};
      index.put(GpuId{gpu * 7 % 64}, {});
    }
    struct Held {
      std::uint32_t gpu;
      ProfileId profile;
      int start;
    };
    std::vector<Held> held;
    const auto move = [&](std::uint32_t gpu, State to) {
      index.erase(GpuId{gpu}, fleet[gpu]);
      fleet[gpu] = to;
      index.put(GpuId{gpu}, to);
    };
    const auto slots = slot_classes(geometry);
    for (int step = 0; step < 3000; ++step) {
      if (held.size() > 60 + random() % 60) {
        const std::size_t i = random() % held.size();
        const Held gone = held[i];
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
        move(gone.gpu, give(geometry, fleet[gone.gpu], gone.profile, gone.start));
      } else {
        const ProfileId profile = slots[random() % slots.size()].profile;
        const auto place = index.best(profile);
        if (place) {
          const std::uint32_t gpu = place->gpu.value;
          held.push_back({gpu, profile, place->start});
          move(gpu, take(geometry, fleet[gpu], profile, place->start));
        }
      }
      if (step % 50 == 0) expect_same(index, fleet, values);
      if (step == 1500) {
        // A table with many equal costs: numbers decide.
        values = ValueTable{.geometry = geometry, .values = {}};
        index.use(values);
      }
    }
    // One filled anew from the same content answers the same.
    MigIndex again(values);
    for (auto it = fleet.rbegin(); it != fleet.rend(); ++it)
      again.put(GpuId{it->first}, it->second);
    for (const SlotClass& slot : slots)
      EXPECT_EQ(by_index(again, slot.profile), by_index(index, slot.profile));
  }
}

TEST(MigIndex, GpusInUseBeforeEmptyOnes) {
  MigIndex index(value_table(Geometry::a100_80, {}));
  index.put(GpuId{0}, {});
  index.put(GpuId{1}, {.used = 0b0100'0000});
  const auto small = profile_named("1g.10gb");
  EXPECT_EQ(index.best(small)->gpu, GpuId{1});
  EXPECT_EQ(index.best(small)->start, 5);
  EXPECT_EQ(index.best(profile_named("7g.80gb"))->gpu, GpuId{0});
  EXPECT_EQ(index.best(profile_named("7g.80gb"))->start, 0);
  index.erase(GpuId{0}, {});
  EXPECT_EQ(index.best(profile_named("7g.80gb")), std::nullopt);
  EXPECT_EQ(index.best(profile_named("1g.5gb")), std::nullopt);
  EXPECT_EQ(index.best(kNoProfile), std::nullopt);
}

TEST(MigIndex, AVisitorMaySkip) {
  MigIndex index(value_table(Geometry::a100_80, {}));
  for (std::uint32_t gpu = 0; gpu < 5; ++gpu)
    index.put(GpuId{gpu}, {});
  std::vector<std::uint32_t> seen;
  index.visit(profile_named("2g.20gb"), [&](const MigIndex::Place& place) {
    seen.push_back(place.gpu.value);
    return place.gpu.value < 2;
  });
  EXPECT_EQ(seen, (std::vector<std::uint32_t>{0, 1, 2}));
}

TEST(MigIndexDeathTest, GpusStandOnceWhereTheyAre) {
  MigIndex index(value_table(Geometry::a100_80, {}));
  index.put(GpuId{3}, {});
  EXPECT_DEATH(index.put(GpuId{3}, {}), "");
  EXPECT_DEATH(index.erase(GpuId{3}, {.used = 1}), "");
  EXPECT_DEATH(index.put(GpuId{4}, {.used = 0b1000'0000}), "");
  EXPECT_DEATH(index.use(value_table(Geometry::a100_40, {})), "");
}

}  // namespace
}  // namespace berth::core::mig::mig_index_test
