// See packing_lessons.h.
#include "sim/packing_lessons.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "core/packing/packing_table.h"

namespace berth::sim {
namespace {

// Ever rarer: what was seen twice as often tells little that is new.
constexpr std::array<std::uint64_t, 4> kLessonsAfter = {64, 256, 1024, 4096};

struct Sort {
  KindId kind;
  Mib vram;
  auto operator<=>(const Sort&) const = default;
};

core::NodeView view_of(const core::NodeSpec& node, const std::vector<const Gpu*>& gpus,
                       Milli vram_usable) {
  core::NodeView view;
  view.cpu = node.cpu;
  view.memory = node.memory;
  view.gpus = static_cast<std::uint8_t>(gpus.size());
  if (!gpus.empty()) view.kind = gpus.front()->spec.kind;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const core::GpuSpec& spec = gpus[i]->spec;
    view.left[i] = static_cast<std::uint16_t>(kWholeGpu.value);
    view.vram[i] = static_cast<std::uint32_t>(spec.vram.value * vram_usable.value / 1000);
    view.island[i] = static_cast<std::uint8_t>(i);
    for (std::size_t j = 0; j < i && spec.island; ++j) {
      if (gpus[j]->spec.island == spec.island) view.island[i] = view.island[j];
    }
  }
  return view;
}

}  // namespace

std::vector<core::NodeView> empty_nodes(const Scenario& scenario) {
  std::vector<std::map<Sort, std::vector<const Gpu*>>> nodes(
      std::max(scenario.nodes.all().size(), scenario.node_specs.size()));
  for (const Gpu& gpu : scenario.gpus.specs)
    nodes[gpu.spec.node.value][{gpu.spec.kind, gpu.spec.vram}].push_back(&gpu);

  std::vector<core::NodeView> views;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const core::NodeSpec spec =
        i < scenario.node_specs.size() ? scenario.node_specs[i] : core::NodeSpec{};
    if (nodes[i].empty()) views.push_back(view_of(spec, {}, scenario.policy.vram_usable));
    for (const auto& [sort, gpus] : nodes[i]) {
      for (std::size_t from = 0; from < gpus.size(); from += core::kNodeGpusMax) {
        const std::size_t to = std::min<std::size_t>(gpus.size(), from + core::kNodeGpusMax);
        const std::vector<const Gpu*> part(gpus.begin() + static_cast<std::ptrdiff_t>(from),
                                           gpus.begin() + static_cast<std::ptrdiff_t>(to));
        views.push_back(view_of(spec, part, scenario.policy.vram_usable));
      }
    }
  }
  return views;
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
