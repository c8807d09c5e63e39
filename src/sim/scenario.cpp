// See scenario.h.
#include "sim/scenario.h"

#include <utility>

#include "config/work_class.h"

namespace berth::sim {

std::vector<std::string> remarks_on(const Scenario& scenario) {
  const std::vector<std::string>& classes = scenario.work_classes.all();
  std::vector<bool> is_of_gpu(classes.size());
  for (const Gpu& gpu : scenario.gpus.specs)
    for (const core::ClassSpeed& its : gpu.spec.class_speeds)
      is_of_gpu[its.work_class.value] = true;
  std::vector<std::string> known;
  for (std::size_t i = 0; i < classes.size(); ++i)
    if (is_of_gpu[i]) known.push_back(classes[i]);

  std::vector<std::string> remarks;
  for (std::size_t i = 0; i < scenario.queues.size(); ++i) {
    const WorkClassId its = scenario.queues.specs[i].spec.work_class;
    std::string remark =
        config::remark_on_class(scenario.queues.names[i], its ? classes[its.value] : "", known);
    if (!remark.empty()) remarks.push_back(std::move(remark));
  }
  return remarks;
}

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
