// See packing_lessons.h.
#include "sim/packing_lessons.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/packing/packing_table.h"
#include "learn/empty_nodes.h"

namespace berth::sim {
namespace {

// Ever rarer: what was seen twice as often tells little that is new.
constexpr std::array<std::uint64_t, 4> kLessonsAfter = {64, 256, 1024, 4096};

}  // namespace

std::vector<core::NodeView> empty_nodes(const Scenario& scenario) {
  std::vector<core::NodeSpec> nodes = scenario.node_specs;
  nodes.resize(std::max(nodes.size(), scenario.nodes.all().size()));
  std::vector<core::GpuSpec> gpus;
  for (const Gpu& gpu : scenario.gpus.specs)
    gpus.push_back(gpu.spec);
  return learn::empty_nodes(nodes, gpus, scenario.policy.vram_usable);
}

core::TypicalMix given_mix(const Scenario& scenario) {
  core::Mix mix;
  for (const core::Shape& shape : scenario.packing.mix)
    mix.note_arrival(shape);
  return core::typical(mix);
}

bool is_lesson_due(std::uint64_t arrivals) {
  return std::ranges::find(kLessonsAfter, arrivals) != kLessonsAfter.end();
}

std::optional<core::PutTable> lesson(const std::vector<core::NodeView>& empty_nodes,
                                     const core::TypicalMix& mix, std::uint64_t version,
                                     const Trainer& trainer) {
  std::optional<core::ValueTable> values = trainer(empty_nodes, mix);
  if (!values) return std::nullopt;
  return core::PutTable{core::TableKind::packing, version,
                        core::encode(core::PackingTable{mix, std::move(*values)})};
}

}  // namespace berth::sim
