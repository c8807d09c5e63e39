// Where a shape can start. See state.h.
#include <algorithm>

#include "base/assert.h"
#include "core/state/state.h"

namespace berth::core {

Place find_place(const State& state, std::uint32_t number) {
  const Shape& shape = state.shape_table.shape(number);
  for (const Cell& cell : state.placed.cells) {
    if (!fits(cell.view, shape)) continue;
    Place place{cell.node, {}};
    const GpuSet usable = usable_gpus(cell.view, shape);
    for (std::uint32_t i = 0; i < cell.view.gpus && place.gpus.size() < shape.gpus; ++i) {
      if ((usable >> i & 1) != 0) place.gpus.push_back(cell.gpus[i]);
    }
    return place;
  }
  return {};
}

}  // namespace berth::core
