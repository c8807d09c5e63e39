// See empty_nodes.h.
#include "learn/empty_nodes.h"

#include <algorithm>
#include <map>

namespace berth::learn {
namespace {

struct Sort {
  KindId kind;
  Mib vram;
  core::mig::Geometry mig;
  auto operator<=>(const Sort&) const = default;
};
using Gpus = std::vector<const core::GpuSpec*>;

core::NodeView view_of(const core::NodeSpec& node, std::span<const core::GpuSpec* const> gpus,
                       Milli vram_usable) {
  core::NodeView view;
  view.cpu = node.cpu;
  view.memory = node.memory;
  view.gpus = static_cast<std::uint8_t>(gpus.size());
  if (!gpus.empty()) view.kind = gpus.front()->kind;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const core::GpuSpec& gpu = *gpus[i];
    view.island[i] = static_cast<std::uint8_t>(i);
    for (std::size_t j = 0; j < i && gpu.island; ++j) {
      if (gpus[j]->island == gpu.island) view.island[i] = view.island[j];
    }
    if (gpu.mig != core::mig::Geometry::none) continue;
    view.left[i] = static_cast<std::uint16_t>(kWholeGpu.value);
    view.vram[i] = static_cast<std::uint32_t>(gpu.vram.value * vram_usable.value / 1000);
  }
  return view;
}

}  // namespace

std::vector<core::NodeView> empty_nodes(std::span<const core::NodeSpec> nodes,
                                        std::span<const core::GpuSpec> gpus, Milli vram_usable) {
  std::vector<std::map<Sort, Gpus>> by_node(nodes.size());
  for (const core::GpuSpec& gpu : gpus) {
    if (gpu.node.value >= by_node.size()) by_node.resize(gpu.node.value + 1);
    by_node[gpu.node.value][{gpu.kind, gpu.vram, gpu.mig}].push_back(&gpu);
  }
  std::vector<core::NodeView> views;
  for (std::size_t i = 0; i < by_node.size(); ++i) {
    const core::NodeSpec spec = i < nodes.size() ? nodes[i] : core::NodeSpec{};
    if (by_node[i].empty()) views.push_back(view_of(spec, {}, vram_usable));
    for (const auto& [sort, alike] : by_node[i]) {
      for (std::span rest(alike); !rest.empty();) {
        const std::size_t count = std::min<std::size_t>(rest.size(), core::kNodeGpusMax);
        views.push_back(view_of(spec, rest.first(count), vram_usable));
        rest = rest.subspan(count);
      }
    }
  }
  return views;
}

}  // namespace berth::learn
