// MIG as plain values: how a GPU is cut, and the instance that a lease has. The tables that say
// what they mean are in core/mig.
//
// Numbers of geometries and profiles are in journals, so they are only ever appended.
#pragma once

#include <cstddef>
#include <cstdint>

namespace berth::core {
namespace mig {

// Into which slices a GPU is cut. None: it is not in MIG mode.
enum class Geometry : std::uint8_t { none, a100_40, a100_80, h100_80, h200_141, b200_180 };
inline constexpr std::size_t kGeometries = 6;

// An interned profile name; 0: none.
using ProfileId = std::uint8_t;
inline constexpr ProfileId kNoProfile = 0;
inline constexpr std::size_t kProfiles = 28;  // no profile counts too

}  // namespace mig

// A part cut from a GPU: the profile, from this memory slice on.
struct MigInstance {
  mig::Geometry geometry = mig::Geometry::none;
  mig::ProfileId profile = mig::kNoProfile;
  std::uint8_t start = 0;

  bool operator==(const MigInstance&) const = default;
};

}  // namespace berth::core
