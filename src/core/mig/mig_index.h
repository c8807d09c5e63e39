// MigIndex: the GPUs of one geometry by their state, to find the best place for an instance.
//
// For each profile the states stand in order of what it would cost to place one there: the value
// before less the value after. A query walks that order past empty states, so its cost does not
// depend on the number of GPUs; it is bounded by the number of states. Whether a GPU in use is
// better than an empty one, the table decides. Among equal costs the lowest GPU comes first.
//
// The owner keeps each GPU's state and says it again to take the GPU out. What the index answers
// depends on its content and the table alone.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/ordered_set.h"
#include "core/mig/placement.h"

namespace berth::core::mig {

class MigIndex {
 public:
  struct Place {
    GpuId gpu;
    std::uint8_t start = 0;
    std::int32_t cost = 0;  // in value; comparable between geometries
    bool operator==(const Place&) const = default;
  };

  explicit MigIndex(const ValueTable& table);
  // REQUIRES a table of the same geometry. GPUs stay where they are.
  void use(const ValueTable& table);

  Geometry geometry() const { return geometry_; }

  // REQUIRES a GPU that is not in the index, and a state that some legal layout has.
  void put(GpuId gpu, State state);
  // REQUIRES the GPU in the index, in that state.
  void erase(GpuId gpu, State state);

  // For checks: the GPUs in this state, ascending.
  std::vector<GpuId> in_state(State state) const;

  // None: nowhere, or GPUs of this geometry have no such profile.
  std::optional<Place> best(ProfileId profile) const;

  // Calls visit(place) for each GPU that could take one instance, the best first, until it returns
  // false.
  template <class Visit>
  void visit(ProfileId profile, Visit visit) const;

 private:
  struct Option {
    std::int32_t cost = 0;
    std::uint16_t state = 0;
    std::uint8_t start = 0;
  };
  using Options = std::vector<Option>;  // by cost, then state

  Options options_for(const SlotClass& slot, const ValueTable& table) const;
  // Visits the GPUs of options [first, last), which cost the same, by number. False: enough.
  template <class Visit>
  bool visit_equals(const Option* first, const Option* last, Visit& visit) const;

  Geometry geometry_;
  StateSet reachable_;
  std::vector<Options> options_;      // by ProfileId
  std::vector<OrderedSet> by_state_;  // GPU numbers, by State::index()
  StateSet occupied_{};               // where by_state_ is not empty: a walk reads little memory
};

template <class Visit>
void MigIndex::visit(ProfileId profile, Visit visit) const {
  if (profile >= options_.size()) return;
  const Options& options = options_[profile];
  const Option* const end = options.data() + options.size();
  for (const Option* first = options.data(); first != end;) {
    const Option* last = first;
    bool any = false;
    for (; last != end && last->cost == first->cost; ++last)
      any = any || occupied_[last->state];
    if (any && !visit_equals(first, last, visit)) return;
    first = last;
  }
}

template <class Visit>
bool MigIndex::visit_equals(const Option* first, const Option* last, Visit& visit) const {
  for (std::uint64_t from = 0;;) {
    std::optional<Place> next;
    for (const Option* option = first; option != last; ++option) {
      const auto gpu = by_state_[option->state].lower_bound(from);
      if (gpu && (!next || *gpu < next->gpu.value))
        next = Place{GpuId{static_cast<std::uint32_t>(*gpu)}, option->start, option->cost};
    }
    if (!next) return true;
    if (!visit(*next)) return false;
    from = std::uint64_t{next->gpu.value} + 1;
  }
}

}  // namespace berth::core::mig
