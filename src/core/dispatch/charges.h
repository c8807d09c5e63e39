// What a batch costs and how its tasks split it. Integers; used alike at the start, for later
// quanta and at the end, so that the three always agree.
#pragma once

#include <cstdint>

#include "core/action.h"
#include "core/state/state.h"

namespace berth::core {

struct BatchPrice {
  std::int64_t rate = 0;     // charged GPU-microseconds per 1000 of run time
  std::int64_t load_us = 0;  // for the load of the model, paid by the first batch
  bool by_vram = false;      // VRAM dominates: tasks pay in proportion to theirs, else alike
  std::int64_t parts = 0;
};

// The price of a batch about to start.
BatchPrice price_of(const State& state, const BatchStarted& batch);

inline std::int64_t part_of(const BatchPrice& price, std::uint32_t vram) {
  return price.by_vram ? vram : 1;
}
// What a task with this part pays for a batch that ran this long.
std::int64_t share_of(const BatchPrice& price, Duration ran, std::int64_t part);

// Long batches are charged ahead, a minute at a time.
inline constexpr Duration kLongestQuantum = seconds(60);
Duration first_quantum(Duration expected);

}  // namespace berth::core
