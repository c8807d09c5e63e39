// See charges.h.
#include "core/dispatch/charges.h"

#include <algorithm>

namespace berth::core {

BatchPrice price_of(const State& state, const BatchStarted& batch) {
  BatchPrice price;
  price.rate = charge_rate(state, batch.gpus, batch.share, batch.vram);
  const Gpu& gpu = state.gpu(batch.gpus.front());
  price.by_vram = scale(batch.vram.value, 1000, std::max<std::int64_t>(1, gpu.usable.value)) >
                  batch.share.value;
  if (batch.model) {
    const Residence* residence = find_residence(gpu, batch.model);
    if (residence != nullptr) price.load_us = cost_us(price.rate, residence->owed);
  }
  price.parts = price.by_vram ? batch.vram.value : static_cast<std::int64_t>(batch.tasks.size());
  return price;
}

std::int64_t share_of(const BatchPrice& price, Duration ran, std::int64_t part) {
  return scale(cost_us(price.rate, ran) + price.load_us, part, price.parts);
}

Duration first_quantum(Duration expected) { return std::min(expected, kLongestQuantum); }

}  // namespace berth::core
