// The price of a batch: what its GPUs, or its part of their nodes, are worth while it runs. What
// follows from a price stands in model/price.h.
#pragma once

#include <cstdint>

#include "core/action.h"
#include "core/model/price.h"
#include "core/state/state.h"

namespace berth::core {

struct StartPrice : BatchPrice {
  bool by_vram = false;  // VRAM dominates: tasks pay in proportion to theirs, else alike
};

// Of a batch about to start.
StartPrice price_of(const State& state, const BatchStarted& batch);

inline std::uint32_t part_of(const StartPrice& price, std::uint32_t vram) {
  return price.by_vram ? vram : 1;
}

// Writes the price, and each task's part and first charge, into the batch. `vram_of(i)`: of its
// i-th task.
template <class VramOf>
void put_price(const State& state, BatchStarted& batch, VramOf vram_of) {
  const StartPrice price = price_of(state, batch);
  batch.rate = price.rate;
  batch.load_us = price.load_us;
  const Duration quantum = first_quantum(batch.expected);
  for (std::size_t i = 0; i < batch.tasks.size(); ++i) {
    batch.tasks[i].part = part_of(price, vram_of(i));
    batch.tasks[i].charge_us = share_of(price, quantum, batch.tasks[i].part);
  }
}

}  // namespace berth::core
