// See profiles.h. Slices and starts are those of NVIDIA's table of supported profiles and of
// `nvidia-smi mig -lgipp`. Memory and SMs are those of `nvidia-smi mig -lgip`, the least where
// drivers differ; what the driver of a real GPU says has the last word.
#include "core/mig/profiles.h"

#include <algorithm>
#include <array>

#include "base/assert.h"

namespace berth::core::mig {
namespace {

struct GeometryRow {
  std::string_view name;
  int compute_slices;
  int memory_slices;
};

constexpr std::array<GeometryRow, kGeometries> kGeometryRows = {{{"none", 0, 0},
                                                                 {"a100_40", 7, 8},
                                                                 {"a100_80", 7, 8},
                                                                 {"h100_80", 7, 8},
                                                                 {"h200_141", 7, 8},
                                                                 {"b200_180", 7, 8}}};

constexpr std::array<std::string_view, kProfiles> kProfileNames = {
    "",                                                                                  //
    "1g.5gb",     "1g.5gb+me",  "1g.10gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb",   //
    "1g.10gb+me", "1g.20gb",    "2g.20gb", "3g.40gb", "4g.40gb", "7g.80gb",              //
    "1g.18gb",    "1g.18gb+me", "1g.35gb", "2g.35gb", "3g.71gb", "4g.71gb", "7g.141gb",  //
    "1g.23gb",    "1g.23gb+me", "1g.45gb", "2g.45gb", "3g.90gb", "4g.90gb", "7g.180gb"};

constexpr ProfileId find_profile(std::string_view name) {
  for (std::size_t id = 1; id < kProfiles; ++id) {
    if (kProfileNames[id] == name) return static_cast<ProfileId>(id);
  }
  return kNoProfile;
}

constexpr std::size_t kSlots = 7;
using Slots = std::array<SlotClass, kSlots>;

// GPUs with 7 compute and 8 memory slices differ in names, memory and SMs alone. The last memory
// slice is in reach of three slots only: 1g with double memory, 3g and 7g.
constexpr Slots kSevenSlices = {{
    {.compute_slices = 1, .memory_slices = 1, .starts = 0b0111'1111, .most = 7},
    {.compute_slices = 1, .memory_slices = 1, .starts = 0b0111'1111, .most = 1, .media = true},
    {.compute_slices = 1, .memory_slices = 2, .starts = 0b0101'0101, .most = 4},
    {.compute_slices = 2, .memory_slices = 2, .starts = 0b0001'0101, .most = 3},
    {.compute_slices = 3, .memory_slices = 4, .starts = 0b0001'0001, .most = 2},
    {.compute_slices = 4, .memory_slices = 4, .starts = 0b0000'0001, .most = 1},
    {.compute_slices = 7, .memory_slices = 8, .starts = 0b0000'0001, .most = 1},
}};

struct Row {
  std::string_view name;
  std::int64_t memory_mib;
  std::uint16_t sms;
};

consteval Slots seven_slices(const std::array<Row, kSlots>& rows) {
  Slots slots = kSevenSlices;
  for (std::size_t i = 0; i < kSlots; ++i) {
    slots[i].profile = find_profile(rows[i].name);
    slots[i].memory = Mib{rows[i].memory_mib};
    slots[i].sms = rows[i].sms;
  }
  return slots;
}

constexpr std::array<Slots, kGeometries> kSlotClasses = {
    Slots{},
    seven_slices({{{"1g.5gb", 4864, 14},
                   {"1g.5gb+me", 4864, 14},
                   {"1g.10gb", 9856, 14},
                   {"2g.10gb", 9856, 28},
                   {"3g.20gb", 19968, 42},
                   {"4g.20gb", 19968, 56},
                   {"7g.40gb", 40192, 98}}}),
    seven_slices({{{"1g.10gb", 9728, 14},
                   {"1g.10gb+me", 9728, 14},
                   {"1g.20gb", 19968, 14},
                   {"2g.20gb", 19968, 28},
                   {"3g.40gb", 40192, 42},
                   {"4g.40gb", 40192, 56},
                   {"7g.80gb", 80384, 98}}}),
    seven_slices({{{"1g.10gb", 9856, 16},
                   {"1g.10gb+me", 9856, 16},
                   {"1g.20gb", 19968, 26},
                   {"2g.20gb", 19968, 32},
                   {"3g.40gb", 40192, 60},
                   {"4g.40gb", 40192, 64},
                   {"7g.80gb", 80384, 132}}}),
    seven_slices({{{"1g.18gb", 16384, 16},
                   {"1g.18gb+me", 16384, 16},
                   {"1g.35gb", 33280, 26},
                   {"2g.35gb", 33280, 32},
                   {"3g.71gb", 71424, 60},
                   {"4g.71gb", 71424, 64},
                   {"7g.141gb", 143360, 132}}}),
    // The three large ones: memory in proportion to the slices of 2g.
    seven_slices({{{"1g.23gb", 20992, 18},
                   {"1g.23gb+me", 20992, 18},
                   {"1g.45gb", 45312, 30},
                   {"2g.45gb", 45312, 36},
                   {"3g.90gb", 90624, 0},
                   {"4g.90gb", 90624, 0},
                   {"7g.180gb", 181248, 0}}}),
};

// Place of a profile's slot among those of its geometry; kSlots: it has none.
using Places = std::array<std::array<std::uint8_t, kProfiles>, kGeometries>;

consteval Places make_places() {
  Places places{};
  for (std::size_t g = 0; g < kGeometries; ++g) {
    places[g].fill(kSlots);
    for (std::size_t i = 0; i < kSlots; ++i) {
      const ProfileId profile = kSlotClasses[g][i].profile;
      if (profile != kNoProfile) places[g][profile] = static_cast<std::uint8_t>(i);
    }
  }
  return places;
}
constexpr Places kPlaces = make_places();

std::size_t number(Geometry geometry) {
  const auto g = static_cast<std::size_t>(geometry);
  ASSERT(g < kGeometries);
  return g;
}

}  // namespace

int compute_slices(Geometry geometry) { return kGeometryRows[number(geometry)].compute_slices; }
int memory_slices(Geometry geometry) { return kGeometryRows[number(geometry)].memory_slices; }

std::string_view name_of(Geometry geometry) { return kGeometryRows[number(geometry)].name; }

std::string_view name_of(ProfileId profile) {
  ASSERT(profile < kProfiles);
  return kProfileNames[profile];
}

std::string names_of_geometries(std::uint64_t mask) {
  std::string names;
  for (std::size_t g = 1; g < kGeometries; ++g) {
    if ((mask >> g & 1) == 0) continue;
    names.append(names.empty() ? "" : ", ").append(kGeometryRows[g].name);
  }
  return names.empty() ? "none" : names;
}

Geometry geometry_named(std::string_view name) {
  for (std::size_t g = 0; g < kGeometries; ++g) {
    if (kGeometryRows[g].name == name) return static_cast<Geometry>(g);
  }
  return Geometry::none;
}

ProfileId profile_named(std::string_view name) { return find_profile(name); }

std::span<const SlotClass> slot_classes(Geometry geometry) {
  if (geometry == Geometry::none) return {};
  return kSlotClasses[number(geometry)];
}

const SlotClass* slot_class(Geometry geometry, ProfileId profile) {
  if (profile >= kProfiles) return nullptr;
  const std::size_t place = kPlaces[number(geometry)][profile];
  return place < kSlots ? &kSlotClasses[number(geometry)][place] : nullptr;
}

Milli use_of(ProfileId profile) {
  for (std::size_t g = 1; g < kGeometries; ++g) {
    const auto geometry = static_cast<Geometry>(g);
    const SlotClass* slot = slot_class(geometry, profile);
    if (slot != nullptr) return Milli{slot->compute_slices * 1000 / compute_slices(geometry)};
  }
  ASSERT(false);
  return {};
}

Milli charged_part(Geometry geometry, const SlotClass& slot) {
  const Milli compute{slot.compute_slices * 1000 / compute_slices(geometry)};
  const Milli memory{slot.memory_slices * 1000 / memory_slices(geometry)};
  return std::max(compute, memory);
}

}  // namespace berth::core::mig
