// See scenario.h.
#include "sim/scenario.h"

namespace berth::sim {

void set_field(core::TaskSpec& spec, std::optional<Duration>& actual_run, Field field,
               std::int64_t value) {
  switch (field) {
    case Field::queue:
      spec.queue.value = static_cast<std::uint32_t>(value);
      break;
    case Field::tenant:
      spec.tenant.value = static_cast<std::uint32_t>(value);
      break;
    case Field::vram:
      spec.vram.value = value;
      break;
    case Field::expected_run:
      spec.expected_run.ns = value;
      break;
    case Field::actual_run:
      actual_run = Duration{value};
      break;
    case Field::priority:
      spec.priority = static_cast<std::int16_t>(value);
      break;
    case Field::tier:
      spec.tier = static_cast<std::uint8_t>(value);
      break;
    case Field::gpus:
      spec.gpus = static_cast<std::uint16_t>(value);
      break;
    case Field::share:
      spec.share.value = value;
      break;
    case Field::tolerated_wait:
      spec.tolerated_wait.ns = value;
      break;
    case Field::tokens:
      spec.tokens = static_cast<std::uint32_t>(value);
      break;
    case Field::cpu:
      spec.cpu.value = value;
      break;
    case Field::memory:
      spec.memory.value = value;
      break;
    case Field::checkpoint_interval:
      spec.checkpoint_interval.ns = value;
      break;
    case Field::restart_cost:
      spec.restart_cost.ns = value;
      break;
  }
}

}  // namespace berth::sim
