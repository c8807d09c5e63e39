// The tables say what nvidia-smi says, and every layout that is legal can be reached.
//
// The oracle is NVIDIA's own rule, spelled out apart from the tables: placements as `nvidia-smi mig
// -lgipp` prints them must not share a memory slice, compute slices sum up to 7 at most, and one
// instance at most has the media extension.
#include "core/mig/profiles.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/mig/placement.h"

namespace berth::core::mig::profiles_test {
namespace {

struct Printed {
  std::string name;
  int compute;
  std::vector<int> starts;
  int size;
  int instances;
  bool media = false;
};

struct PrintedGpu {
  Geometry geometry;
  std::vector<std::string> names;
};

const std::vector<PrintedGpu> kGpus = {
    {Geometry::a100_40,
     {"1g.5gb", "1g.5gb+me", "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb"}},
    {Geometry::a100_80,
     {"1g.10gb", "1g.10gb+me", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"}},
    {Geometry::h100_80,
     {"1g.10gb", "1g.10gb+me", "1g.20gb", "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb"}},
    {Geometry::h200_141,
     {"1g.18gb", "1g.18gb+me", "1g.35gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb"}},
    {Geometry::b200_180,
     {"1g.23gb", "1g.23gb+me", "1g.45gb", "2g.45gb", "3g.90gb", "4g.90gb", "7g.180gb"}},
};

std::vector<Printed> printed(const PrintedGpu& gpu) {
  return {{gpu.names[0], 1, {0, 1, 2, 3, 4, 5, 6}, 1, 7},
          {gpu.names[1], 1, {0, 1, 2, 3, 4, 5, 6}, 1, 1, true},
          {gpu.names[2], 1, {0, 2, 4, 6}, 2, 4},
          {gpu.names[3], 2, {0, 2, 4}, 2, 3},
          {gpu.names[4], 3, {0, 4}, 4, 2},
          {gpu.names[5], 4, {0}, 4, 1},
          {gpu.names[6], 7, {0}, 8, 1}};
}

// A layout, as the rule sees it.
struct Layout {
  std::array<int, 8> slices{};  // 0: free, else the number of the instance
  int compute = 0;
  int media = 0;
  std::multiset<std::string> names;
  std::set<std::pair<std::string, int>> placed;

  bool add(const Printed& profile, int start) {
    for (int i = start; i < start + profile.size; ++i) {
      if (slices.at(static_cast<std::size_t>(i)) != 0) return false;
    }
    if (compute + profile.compute > 7) return false;
    if (profile.media && media > 0) return false;
    for (int i = start; i < start + profile.size; ++i)
      slices[static_cast<std::size_t>(i)] = static_cast<int>(placed.size()) + 1;
    compute += profile.compute;
    media += profile.media ? 1 : 0;
    names.insert(profile.name);
    placed.emplace(profile.name, start);
    return true;
  }

  State state() const {
    State out{.used = 0, .media = media > 0};
    for (std::size_t i = 0; i < 8; ++i) {
      if (slices[i] != 0) out.used = static_cast<std::uint8_t>(out.used | 1U << i);
    }
    return out;
  }
};

// Every legal layout, once.
std::vector<Layout> all_layouts(const std::vector<Printed>& profiles) {
  std::set<std::set<std::pair<std::string, int>>> seen;
  std::vector<Layout> layouts = {Layout{}};
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    for (const Printed& profile : profiles) {
      for (const int start : profile.starts) {
        Layout next = layouts[i];
        if (next.add(profile, start) && seen.insert(next.placed).second) layouts.push_back(next);
      }
    }
  }
  return layouts;
}

bool maximal(const Layout& layout, const std::vector<Printed>& profiles) {
  for (const Printed& profile : profiles) {
    for (const int start : profile.starts) {
      Layout next = layout;
      if (next.add(profile, start)) return false;
    }
  }
  return true;
}

TEST(MigProfiles, TablesSayWhatNvidiaSmiPrints) {
  for (const PrintedGpu& gpu : kGpus) {
    ASSERT_EQ(slot_classes(gpu.geometry).size(), 7U);
    for (const Printed& profile : printed(gpu)) {
      const SlotClass* slot = slot_class(gpu.geometry, profile_named(profile.name));
      ASSERT_NE(slot, nullptr) << profile.name;
      EXPECT_EQ(name_of(slot->profile), profile.name);
      EXPECT_EQ(slot->compute_slices, profile.compute);
      EXPECT_EQ(slot->memory_slices, profile.size);
      EXPECT_EQ(slot->most, profile.instances);
      EXPECT_EQ(slot->media, profile.media);
      std::vector<int> starts;
      for (int start = 0; start < 8; ++start) {
        if ((slot->starts >> start & 1) != 0) starts.push_back(start);
      }
      EXPECT_EQ(starts, profile.starts) << profile.name;
    }
  }
}

TEST(MigProfiles, NamesAndNumbersGoBothWays) {
  EXPECT_EQ(profile_named(""), kNoProfile);
  EXPECT_EQ(profile_named("5g.40gb"), kNoProfile);
  std::set<std::string_view> names;
  for (std::size_t id = 1; id < kProfiles; ++id) {
    const auto profile = static_cast<ProfileId>(id);
    EXPECT_EQ(profile_named(name_of(profile)), profile);
    EXPECT_TRUE(names.insert(name_of(profile)).second) << name_of(profile);
  }
  EXPECT_EQ(geometry_named("h200_141"), Geometry::h200_141);
  EXPECT_EQ(geometry_named("v100"), Geometry::none);
  for (std::size_t g = 0; g < kGeometries; ++g) {
    const auto geometry = static_cast<Geometry>(g);
    EXPECT_EQ(geometry_named(name_of(geometry)), geometry);
  }
}

// Numbers are in journals: a row that moves would turn old requests into other ones.
TEST(MigProfiles, NumbersStay) {
  EXPECT_EQ(profile_named("1g.5gb"), 1);
  EXPECT_EQ(profile_named("7g.40gb"), 7);
  EXPECT_EQ(profile_named("1g.10gb+me"), 8);
  EXPECT_EQ(profile_named("1g.18gb"), 14);
  EXPECT_EQ(profile_named("7g.180gb"), 27);
  EXPECT_EQ(static_cast<int>(Geometry::b200_180), 5);
}

TEST(MigProfiles, OneNameIsTwoThings) {
  const ProfileId profile = profile_named("1g.10gb");
  EXPECT_EQ(slot_class(Geometry::a100_40, profile)->memory_slices, 2);
  EXPECT_EQ(slot_class(Geometry::a100_80, profile)->memory_slices, 1);
  EXPECT_EQ(slot_class(Geometry::h200_141, profile), nullptr);
  EXPECT_EQ(slot_class(Geometry::none, profile), nullptr);
  EXPECT_EQ(slot_class(Geometry::a100_40, kNoProfile), nullptr);
  EXPECT_EQ(slot_class(Geometry::a100_40, 200), nullptr);
}

// What a profile promises is no more than its slices hold, and no less than its name rounds to.
TEST(MigProfiles, MemoryAndSmsArePlausible) {
  for (const PrintedGpu& gpu : kGpus) {
    const auto slots = slot_classes(gpu.geometry);
    const Mib whole = slots.back().memory;
    for (const SlotClass& slot : slots) {
      EXPECT_LE(slot.memory.value * 8, whole.value * slot.memory_slices) << name_of(slot.profile);
      EXPECT_GE(slot.memory.value * 8 * 100, whole.value * slot.memory_slices * 90);
      if (slot.sms != 0) {
        EXPECT_GE(slot.sms, 14 * slot.compute_slices);
      }
    }
  }
}

TEST(MigProfiles, EveryLegalLayoutIsReachedAndNoOther) {
  for (const PrintedGpu& gpu : kGpus) {
    const std::vector<Printed> profiles = printed(gpu);
    StateSet expected{};
    for (const Layout& layout : all_layouts(profiles)) {
      const State state = layout.state();
      expected[state.index()] = true;
      // What the rule lets join this layout is what the state alone says.
      for (const Printed& profile : profiles) {
        for (int start = -1; start <= 8; ++start) {
          const bool listed = std::count(profile.starts.begin(), profile.starts.end(), start) > 0;
          Layout next = layout;
          const bool allowed = listed && next.add(profile, start);
          const ProfileId id = profile_named(profile.name);
          ASSERT_EQ(legal(gpu.geometry, state, id, start), allowed) << profile.name << start;
          if (!allowed) continue;
          ASSERT_EQ(take(gpu.geometry, state, id, start), next.state());
          ASSERT_EQ(give(gpu.geometry, next.state(), id, start), state);
        }
      }
    }
    EXPECT_EQ(reachable_states(gpu.geometry), expected);
  }
}

TEST(MigProfiles, AsManyLayoutsAsPublished) {
  const auto count = [](const std::vector<Printed>& profiles) {
    std::size_t placed = 0;
    std::set<std::multiset<std::string>> kinds;
    for (const Layout& layout : all_layouts(profiles)) {
      if (!maximal(layout, profiles)) continue;
      ++placed;
      kinds.insert(layout.names);
    }
    return std::pair{placed, kinds.size()};
  };
  std::vector<Printed> profiles = printed(kGpus.front());
  profiles.erase(profiles.begin() + 1);  // 1g+me takes the same places as 1g
  EXPECT_EQ(count(profiles), (std::pair<std::size_t, std::size_t>{78, 38}));
  profiles.erase(profiles.begin() + 1);  // 1g with double memory
  EXPECT_EQ(count(profiles), (std::pair<std::size_t, std::size_t>{19, 14}));

  const StateSet reachable = reachable_states(Geometry::a100_40);
  EXPECT_EQ(std::count(reachable.begin(), reachable.begin() + 256, true), 192);
}

TEST(MigProfiles, WholeGpusHaveNoStates) {
  EXPECT_TRUE(slot_classes(Geometry::none).empty());
  EXPECT_EQ(reachable_states(Geometry::none), StateSet{});
  EXPECT_EQ(memory_slices(Geometry::none), 0);
  EXPECT_EQ(compute_slices(Geometry::h200_141), 7);
}

}  // namespace
}  // namespace berth::core::mig::profiles_test
