// See placement.h.
#include "core/mig/placement.h"

#include "base/assert.h"

namespace berth::core::mig {

bool legal(Geometry geometry, State state, ProfileId profile, int start) {
  const SlotClass* slot = slot_class(geometry, profile);
  return slot != nullptr && legal(state, *slot, start);
}

State take(State state, const SlotClass& slot, int start) {
  ASSERT(legal(state, slot, start));
  state.used |= slices_from(slot, start);
  state.media = state.media || slot.media;
  return state;
}

State take(Geometry geometry, State state, ProfileId profile, int start) {
  const SlotClass* slot = slot_class(geometry, profile);
  ASSERT(slot != nullptr);
  return take(state, *slot, start);
}

State give(State state, const SlotClass& slot, int start) {
  ASSERT(holds(state, slot, start));
  state.used &= static_cast<std::uint8_t>(~slices_from(slot, start));
  state.media = state.media && !slot.media;
  return state;
}

State give(Geometry geometry, State state, ProfileId profile, int start) {
  const SlotClass* slot = slot_class(geometry, profile);
  ASSERT(slot != nullptr);
  return give(state, *slot, start);
}

std::optional<std::uint8_t> choose(State state, const SlotClass& slot, const ValueTable& values) {
  std::optional<std::uint8_t> best;
  std::int32_t most = 0;
  for (int start = kMemorySlicesMax - 1; start >= 0; --start) {
    if (!legal(state, slot, start)) continue;
    const std::int32_t value = values.of(take(state, slot, start));
    if (best && value <= most) continue;
    best = static_cast<std::uint8_t>(start);
    most = value;
  }
  return best;
}

std::optional<std::uint8_t> choose(Geometry geometry, State state, ProfileId profile,
                                   const ValueTable& values) {
  const SlotClass* slot = slot_class(geometry, profile);
  if (slot == nullptr) return std::nullopt;
  return choose(state, *slot, values);
}

StateSet reachable_states(Geometry geometry) {
  StateSet reachable{};
  if (geometry == Geometry::none) return reachable;
  reachable[State{}.index()] = true;
  // An instance only ever adds bits, so that ascending order meets every state after its parts.
  for (std::uint16_t i = 0; i < kStates; ++i) {
    if (!reachable[i]) continue;
    for (const SlotClass& slot : slot_classes(geometry)) {
      for (int start = 0; start < kMemorySlicesMax; ++start) {
        if (legal(State::at(i), slot, start))
          reachable[take(State::at(i), slot, start).index()] = true;
      }
    }
  }
  return reachable;
}

}  // namespace berth::core::mig
