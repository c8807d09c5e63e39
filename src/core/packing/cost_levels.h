// CostLevels: slots by a small integer cost, the cheapest level first.
//
// A level is a linked list through the slots, so a change touches a few words and allocates
// nothing; a bitmap names the levels that are not empty. The order inside a level follows history:
// who reads it must not let that order reach an answer.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/assert.h"

namespace berth::core {

inline constexpr std::int32_t kCostMost = 511;        // costs lie in -kCostMost .. kCostMost
inline constexpr std::int32_t kCostNone = INT32_MAX;  // no cost at all: the slot is in no level

class CostLevels {
 public:
  CostLevels() { heads_.fill(kEnd); }

  void resize(std::size_t slots) { places_.resize(slots); }

  void set(std::uint32_t slot, std::int32_t cost) {
    Place& place = places_[slot];
    if (place.cost == cost) return;
    if (place.cost != kCostNone) unlink(place);
    place.cost = cost;
    if (cost != kCostNone) link(slot, place);
  }

  // Calls visit(first) for each level in ascending order of cost until it returns true; next()
  // leads on through the level, to kEnd.
  static constexpr std::uint32_t kEnd = UINT32_MAX;
  template <class Visit>
  void visit_levels(Visit visit) const {
    for (std::size_t word = 0; word < filled_.size(); ++word) {
      for (std::uint64_t rest = filled_[word]; rest != 0; rest &= rest - 1) {
        if (visit(heads_[word * 64 + static_cast<std::size_t>(std::countr_zero(rest))])) return;
      }
    }
  }
  std::uint32_t next(std::uint32_t slot) const { return places_[slot].next; }

 private:
  static constexpr std::size_t kLevels = 1024;
  static_assert(2 * kCostMost + 1 <= kLevels);

  struct Place {
    std::int32_t cost = kCostNone;
    std::uint32_t next = kEnd;
    std::uint32_t before = kEnd;
  };

  static std::size_t level_of(std::int32_t cost) {
    ASSERT(cost >= -kCostMost && cost <= kCostMost);
    return static_cast<std::size_t>(std::int64_t{cost} + kCostMost);
  }

  void link(std::uint32_t slot, Place& place) {
    const std::size_t level = level_of(place.cost);
    place.before = kEnd;
    place.next = heads_[level];
    if (place.next != kEnd) places_[place.next].before = slot;
    heads_[level] = slot;
    filled_[level / 64] |= std::uint64_t{1} << level % 64;
  }

  void unlink(const Place& place) {
    const std::size_t level = level_of(place.cost);
    if (place.next != kEnd) places_[place.next].before = place.before;
    if (place.before != kEnd) {
      places_[place.before].next = place.next;
    } else {
      heads_[level] = place.next;
      if (place.next == kEnd) filled_[level / 64] &= ~(std::uint64_t{1} << level % 64);
    }
  }

  std::array<std::uint32_t, kLevels> heads_;
  std::array<std::uint64_t, kLevels / 64> filled_{};
  std::vector<Place> places_;  // by slot
};

}  // namespace berth::core
