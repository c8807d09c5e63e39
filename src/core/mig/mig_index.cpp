// See mig_index.h.
#include "core/mig/mig_index.h"

#include <algorithm>
#include <tuple>

#include "base/assert.h"

namespace berth::core::mig {

MigIndex::MigIndex(const ValueTable& table)
    : geometry_(table.geometry),
      reachable_(reachable_states(table.geometry)),
      options_(kProfiles),
      by_state_(kStates) {
  use(table);
}

void MigIndex::use(const ValueTable& table) {
  ASSERT(table.geometry == geometry_);
  for (const SlotClass& slot : slot_classes(geometry_))
    options_[slot.profile] = options_for(slot, table);
}

MigIndex::Options MigIndex::options_for(const SlotClass& slot, const ValueTable& table) const {
  Options options;
  for (std::uint16_t i = 0; i < kStates; ++i) {
    if (!reachable_[i]) continue;
    const State state = State::at(i);
    const auto start = choose(state, slot, table);
    if (!start) continue;
    const std::int32_t cost = table.of(state) - table.of(take(state, slot, *start));
    options.push_back({cost, i, *start});
  }
  std::sort(options.begin(), options.end(), [](const Option& a, const Option& b) {
    return std::tie(a.cost, a.state) < std::tie(b.cost, b.state);
  });
  return options;
}

void MigIndex::put(GpuId gpu, State state) {
  ASSERT(reachable_[state.index()]);
  const bool inserted = by_state_[state.index()].insert(gpu.value);
  ASSERT(inserted);
  occupied_[state.index()] = true;
}

void MigIndex::erase(GpuId gpu, State state) {
  const bool erased = by_state_[state.index()].erase(gpu.value);
  ASSERT(erased);
  occupied_[state.index()] = !by_state_[state.index()].empty();
}

std::vector<GpuId> MigIndex::in_state(State state) const {
  std::vector<GpuId> gpus;
  by_state_[state.index()].visit_from(0, [&](std::uint64_t gpu) {
    gpus.push_back(GpuId{static_cast<std::uint32_t>(gpu)});
    return true;
  });
  return gpus;
}

std::optional<MigIndex::Place> MigIndex::best(ProfileId profile) const {
  std::optional<Place> found;
  visit(profile, [&](const Place& place) {
    found = place;
    return false;
  });
  return found;
}

}  // namespace berth::core::mig
