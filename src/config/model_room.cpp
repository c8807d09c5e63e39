// See model_room.h.
#include "config/model_room.h"

#include "config/diagnostics.h"

namespace berth::config {

void LargestGpu::consider(std::string_view gpu, Mib vram, Milli vram_usable) {
  const Mib its{vram.value * vram_usable.value / 1000};
  if (!name.empty() && its <= usable) return;
  name = gpu;
  usable = its;
}

Mib room_of(const core::ModelSpec& spec) { return {spec.weights.value + spec.vram_per_task.value}; }

std::string flaw_in_size(std::string_view model, const core::ModelSpec& spec,
                         const LargestGpu& largest) {
  const Mib need = room_of(spec);
  if (need <= largest.usable) return "";
  return "model " + config::quoted(model) + " needs " + std::to_string(need.value) +
         " MiB on one GPU (weights " + std::to_string(spec.weights.value) + ", a task " +
         std::to_string(spec.vram_per_task.value) + "), and " +
         (largest.name.empty() ? "there is no GPU that takes models"
                               : "the largest GPU, " + largest.name + ", can promise " +
                                     std::to_string(largest.usable.value) + " MiB");
}

}  // namespace berth::config
