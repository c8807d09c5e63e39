// Where an instance may be cut from a GPU, and where it should be.
//
// Free functions on a State. What is legal follows from the starts of the profile and from the
// slices in use; which of the legal starts is best, a value table says.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "core/mig/profiles.h"
#include "core/mig/value.h"

namespace berth::core::mig {

// The memory slices that an instance takes when it begins at `start`.
constexpr std::uint8_t slices_from(const SlotClass& slot, int start) {
  return static_cast<std::uint8_t>(((1U << slot.memory_slices) - 1U) << start);
}

constexpr bool legal(State state, const SlotClass& slot, int start) {
  return start >= 0 && start < kMemorySlicesMax && (slot.starts >> start & 1) != 0 &&
         (state.used & slices_from(slot, start)) == 0 && !(slot.media && state.media);
}
bool legal(Geometry geometry, State state, ProfileId profile, int start);

// Whether an instance that is in the state could lie there.
constexpr bool holds(State state, const SlotClass& slot, int start) {
  return start >= 0 && start < kMemorySlicesMax && (slot.starts >> start & 1) != 0 &&
         (~state.used & slices_from(slot, start)) == 0 && (!slot.media || state.media);
}

// REQUIRES legal.
State take(State state, const SlotClass& slot, int start);
State take(Geometry geometry, State state, ProfileId profile, int start);
// REQUIRES an instance of the profile at that start.
State give(State state, const SlotClass& slot, int start);
State give(Geometry geometry, State state, ProfileId profile, int start);

// The legal start that leaves the state of most value; among equals the highest, which spares the
// low starts that the large profiles need. None: it does not fit, or the GPU has no such profile.
std::optional<std::uint8_t> choose(State state, const SlotClass& slot, const ValueTable& values);
std::optional<std::uint8_t> choose(Geometry geometry, State state, ProfileId profile,
                                   const ValueTable& values);

// By State::index(): whether some legal layout takes exactly this.
using StateSet = std::array<bool, kStates>;
StateSet reachable_states(Geometry geometry);

}  // namespace berth::core::mig
