// See node_view.h.
#include "core/packing/node_view.h"

#include <algorithm>
#include <bit>

namespace berth::core {
namespace {

int most_in_one_island(const NodeView& view, GpuSet usable) {
  std::array<int, kNodeGpusMax> count{};
  for (GpuSet rest = usable; rest != 0; rest &= rest - 1)
    ++count[view.island[static_cast<std::size_t>(std::countr_zero(rest))]];
  return *std::max_element(count.begin(), count.end());
}

}  // namespace

GpuSet usable_gpus(const NodeView& view, const Shape& shape) {
  GpuSet usable = 0;
  for (std::size_t i = 0; i < view.gpus; ++i) {
    const bool takes = view.left[i] > 0 && view.left[i] >= shape.share;
    if (takes && view.vram[i] >= shape.vram) usable |= GpuSet{1} << i;
  }
  return usable;
}

bool fits(const NodeView& view, const Shape& shape) {
  if (view.cpu < shape.cpu || view.memory < shape.memory) return false;
  if (shape.gpus == 0) return true;
  if (shape.gpus > view.gpus || !allows(shape.kinds, view.kind)) return false;
  const GpuSet usable = usable_gpus(view, shape);
  if (std::popcount(usable) < shape.gpus) return false;
  return !needs_island(shape) || most_in_one_island(view, usable) >= shape.gpus;
}

}  // namespace berth::core
