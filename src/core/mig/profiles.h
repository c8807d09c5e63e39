// MIG profiles: into which slices a GPU may be cut, and what a profile means on which GPU.
//
// A GPU's memory is cut into equal memory slices, its SMs into compute slices. An instance takes
// some of both; its memory slices lie side by side from one of a few starts. A request names a
// profile as nvidia-smi does ("3g.40gb"). The same name can mean different things: "1g.10gb" is the
// plain slice of an 80 GB GPU, and on an A100 of 40 GB the one with twice the memory. So profiles
// are interned names, and slot_class says what one means on a geometry.
//
// Tables only. Geometries and profiles are numbered in model/mig.h.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/units.h"
#include "core/model/mig.h"

namespace berth::core::mig {

// What a profile means on a geometry.
struct SlotClass {
  ProfileId profile = kNoProfile;
  std::uint8_t compute_slices = 0;
  std::uint8_t memory_slices = 0;
  std::uint8_t starts = 0;  // legal first memory slices, a bit each
  std::uint8_t most = 0;    // instances on an empty GPU
  bool media = false;       // takes the media extension ("+me"), of which a GPU has one
  Mib memory{0};
  std::uint16_t sms = 0;  // 0: not known
};

// What is taken of a GPU: a bit for each memory slice and, beside that byte, one for the media
// extension. Compute slices need no bit: the legal starts never let them run out first (a test
// enumerates every layout), so memory slices alone say what still fits.
struct State {
  std::uint8_t used = 0;
  bool media = false;

  constexpr std::uint16_t index() const {
    return static_cast<std::uint16_t>(used | (media ? 256U : 0U));
  }
  static constexpr State at(std::uint16_t index) {
    return {static_cast<std::uint8_t>(index & 255U), index >= 256};
  }
  constexpr auto operator<=>(const State&) const = default;
};
inline constexpr std::size_t kStates = 512;
inline constexpr int kMemorySlicesMax = 8;

// Into how many slices such a GPU is cut.
int compute_slices(Geometry geometry);
int memory_slices(Geometry geometry);

std::string_view name_of(Geometry geometry);
std::string_view name_of(ProfileId profile);
// "a100_40, h100_80": those whose bits are set, or "none".
std::string names_of_geometries(std::uint64_t mask);
// Geometry::none and kNoProfile where nothing has that name.
Geometry geometry_named(std::string_view name);
ProfileId profile_named(std::string_view name);

// The slots of a geometry, the smallest profile first.
std::span<const SlotClass> slot_classes(Geometry geometry);
// Null: such a GPU does not have the profile.
const SlotClass* slot_class(Geometry geometry, ProfileId profile);

// The part of a GPU that an instance counts as in use: its compute slices of all. The same on every
// geometry that has the profile. REQUIRES a profile.
Milli use_of(ProfileId profile);
// What it is charged for: the larger of its parts of the compute and of the memory slices.
Milli charged_part(Geometry geometry, const SlotClass& slot);

}  // namespace berth::core::mig
