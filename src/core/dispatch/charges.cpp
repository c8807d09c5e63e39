// See charges.h.
#include "core/dispatch/charges.h"

#include <algorithm>

namespace berth::core {

namespace {

// What its CPUs and memory are worth: who takes half of a node's CPUs pays for half of its GPUs.
std::int64_t nodes_rate(const State& state, const BatchStarted& batch) {
  if (batch.cpu.value == 0 && batch.memory.value == 0) return 0;
  std::int64_t rate = 0;
  for (const NodeCount& part : count_by_node(state, batch.gpus, batch.node)) {
    const Node& node = state.node(part.node);
    const auto n = std::max<std::int64_t>(1, static_cast<std::int64_t>(batch.gpus.size()));
    const std::int64_t cpu = node_part(batch.cpu.value, part.gpus, n);
    const std::int64_t memory = node_part(batch.memory.value, part.gpus, n);
    // By their general speed, as in charge_rate: the class of the work changes no price.
    std::int64_t worth = node.gpus.empty() ? 1 : 0;
    for (const GpuId gpu : node.gpus)
      worth += state.gpu(gpu).spec.speed.value;
    rate += std::max(scale(worth, cpu, std::max<std::int64_t>(1, node.spec.cpu.value)),
                     scale(worth, memory, std::max<std::int64_t>(1, node.spec.memory.value)));
  }
  return rate;
}

// Of an instance its slices are what counts: their memory is its own, used or not.
std::int64_t gpus_rate(const State& state, const BatchStarted& batch) {
  if (!batch.instance) return charge_rate(state, batch.gpus, batch.share, batch.vram);
  const mig::Geometry geometry = batch.instance->geometry;
  const mig::SlotClass& slot = *mig::slot_class(geometry, batch.instance->profile);
  return charge_rate(state, batch.gpus, mig::charged_part(geometry, slot), Mib{0});
}

}  // namespace

StartPrice price_of(const State& state, const BatchStarted& batch) {
  StartPrice price;
  price.rate = std::max(gpus_rate(state, batch), nodes_rate(state, batch));
  price.parts = static_cast<std::int64_t>(batch.tasks.size());
  if (batch.gpus.empty() || batch.instance) return price;
  const Gpu& gpu = state.gpu(batch.gpus.front());
  price.by_vram = scale(batch.vram.value, 1000, std::max<std::int64_t>(1, gpu.usable.value)) >
                  batch.share.value;
  if (batch.model) {
    const Residence* residence = find_residence(gpu, batch.model);
    if (residence != nullptr) price.load_us = cost_us(price.rate, residence->owed);
  }
  if (price.by_vram) price.parts = batch.vram.value;
  return price;
}

}  // namespace berth::core
