// See capacity.h.
#include "core/topology/capacity.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"

namespace berth::core {
namespace {

std::uint32_t lowest(std::uint32_t bits) {
  return static_cast<std::uint32_t>(std::countr_zero(bits));
}

// Bits from `first` up.
std::uint32_t from(std::uint32_t bits, std::uint32_t first) {
  return first < 32 ? bits >> first << first : 0;
}

// Who asks for nothing fits even where less than nothing is left.
std::int64_t need_of(std::int64_t amount, std::uint32_t part, std::uint32_t whole) {
  if (amount <= 0) return std::numeric_limits<std::int64_t>::min();
  const Wide product = static_cast<Wide>(amount) * part;
  const Wide result = (product + whole - 1) / whole;
  return static_cast<std::int64_t>(
      std::min<Wide>(result, std::numeric_limits<std::int64_t>::max()));
}

}  // namespace

GangDemand demand_of(const Shape& shape) {
  ASSERT(shape.gpus > 0);
  GangDemand demand{.gpus_max = shape.gpus};
  for (std::uint32_t m = 0; m <= kSlots; ++m) {
    demand.cpu[m] = need_of(shape.cpu.value, m, shape.gpus);
    demand.memory[m] = need_of(shape.memory.value, m, shape.gpus);
  }
  return demand;
}

bool Capacity::all_can(const Alike& alike, std::uint32_t units) const {
  const std::uint32_t gpus = units * demand_.unit;
  return alike.cpu_min >= demand_.cpu[gpus] && alike.memory_min >= demand_.memory[gpus];
}

// Said of nodes that differ: one may have the CPU and another the memory.
bool Capacity::some_can(const Alike& alike, std::uint32_t units) const {
  const std::uint32_t gpus = units * demand_.unit;
  return alike.cpu_max >= demand_.cpu[gpus] && alike.memory_max >= demand_.memory[gpus];
}

bool Capacity::can(const PlacedNode& node, std::uint32_t units) const {
  const std::uint32_t gpus = units * demand_.unit;
  return node.room.cpu.value >= demand_.cpu[gpus] && node.room.memory.value >= demand_.memory[gpus];
}

std::uint32_t Capacity::units_on(std::uint32_t position) const {
  const PlacedNode& node = index_.at(position);
  std::uint32_t units = units_of(node.free);
  if (demand_.in_islands && units > 0) {
    std::uint32_t in_islands = 0;
    for (const GpuMask island : index_.layout_at(position).islands()) {
      const auto free = std::popcount(static_cast<GpuMask>(node.room.gpus & island));
      in_islands += static_cast<std::uint32_t>(free) / demand_.unit;
    }
    units = std::min(units, in_islands);
  }
  while (units > 0 && !can(node, units))
    --units;
  return units;
}

// As if there were CPU and memory for all.
std::uint64_t Capacity::units_by_islands(const Stretch& stretch) const {
  std::uint64_t units = 0;
  for (std::uint32_t size = demand_.unit; size <= kSlots; ++size)
    units += std::uint64_t{stretch.islands[size].parts} * (size / demand_.unit);
  return units;
}

// None when the counts cannot tell. A node that could carry the whole gang more than once may count
// for more than that.
std::optional<std::uint64_t> Capacity::units_by_counts(const Stretch& stretch) const {
  std::uint64_t units = 0;
  bool some_cannot = false;
  for (std::uint32_t rest = from(stretch.node_sizes, demand_.unit); rest != 0; rest &= rest - 1) {
    const std::uint32_t free = lowest(rest);
    const Alike& alike = stretch.alike[free];
    if (!some_can(alike, 1)) {
      some_cannot = true;
      continue;
    }
    if (!all_can(alike, units_of(free))) return std::nullopt;
    units += std::uint64_t{alike.nodes} * units_of(free);
  }
  if (units == 0 || !islands_matter(stretch)) return units;
  if (some_cannot) return std::nullopt;
  return units_by_islands(stretch);
}

std::uint64_t Capacity::units_in(StretchNo no, std::uint64_t enough) const {
  if (enough == 0 || !visits_.take()) return 0;
  const Stretch& stretch = index_.stretch(no);
  if (const auto counted = units_by_counts(stretch)) return *counted;
  std::uint64_t units = 0;
  if (stretch.left != kNoStretch) {
    units = units_in(stretch.left, enough);
    return units < enough ? units + units_in(stretch.right, enough - units) : units;
  }
  for (std::uint32_t position = stretch.first; position < stretch.last && units < enough;
       ++position) {
    if (!visits_.take()) break;
    units += units_on(position);
  }
  return units;
}

// None when the counts cannot tell.
std::optional<std::uint32_t> Capacity::nodes_by_counts(const Stretch& stretch,
                                                       std::uint32_t units) const {
  if (islands_matter(stretch) && units_by_islands(stretch) == 0) return 0;
  std::uint32_t nodes = 0;
  for (std::uint32_t rest = from(stretch.node_sizes, units * demand_.unit); rest != 0;
       rest &= rest - 1) {
    const std::uint32_t free = lowest(rest);
    const Alike& alike = stretch.alike[free];
    if (!some_can(alike, units)) continue;
    if (islands_matter(stretch) || !all_can(alike, units_of(free))) return std::nullopt;
    if (units_of(free) == units) nodes += alike.nodes;
  }
  return nodes;
}

std::uint32_t Capacity::nodes_with(StretchNo no, std::uint32_t units) const {
  if (!visits_.take()) return 0;
  const Stretch& stretch = index_.stretch(no);
  if (const auto nodes = nodes_by_counts(stretch, units)) return *nodes;
  if (stretch.left != kNoStretch) {
    return nodes_with(stretch.left, units) + nodes_with(stretch.right, units);
  }
  std::uint32_t nodes = 0;
  for (std::uint32_t position = stretch.first; position < stretch.last; ++position) {
    if (!visits_.take()) break;
    if (units_on(position) == units) ++nodes;
  }
  return nodes;
}

void Capacity::collect(StretchNo no, std::uint32_t units, std::size_t found_max,
                       std::vector<std::uint32_t>& found) const {
  if (found.size() >= found_max || !visits_.take()) return;
  const Stretch& stretch = index_.stretch(no);
  if (nodes_by_counts(stretch, units) == 0U) return;
  if (stretch.left != kNoStretch) {
    collect(stretch.left, units, found_max, found);
    collect(stretch.right, units, found_max, found);
    return;
  }
  for (std::uint32_t position = stretch.first; position < stretch.last; ++position) {
    if (found.size() >= found_max || !visits_.take()) return;
    if (units_on(position) == units) found.push_back(position);
  }
}

// The first node with so many free GPUs, an island with exactly `island_size` of them (0: any), CPU
// and memory for so many units, and that fits.
template <class Fits>
std::optional<std::uint32_t> Capacity::first_node(StretchNo no, std::uint32_t free,
                                                  std::uint32_t units, std::uint32_t island_size,
                                                  const Fits& fits) const {
  const Stretch& stretch = index_.stretch(no);
  if ((stretch.node_sizes >> free & 1) == 0 || !some_can(stretch.alike[free], units)) return {};
  if (island_size > 0 && (stretch.islands[island_size].node_sizes >> free & 1) == 0) return {};
  if (!visits_.take()) return {};
  if (stretch.left != kNoStretch) {
    const auto found = first_node(stretch.left, free, units, island_size, fits);
    return found ? found : first_node(stretch.right, free, units, island_size, fits);
  }
  for (std::uint32_t position = stretch.first; position < stretch.last; ++position) {
    if (!visits_.take()) return {};
    const PlacedNode& node = index_.at(position);
    if (node.free == free && can(node, units) && fits(position)) return position;
  }
  return {};
}

std::optional<std::uint32_t> Capacity::tightest(const std::vector<StretchNo>& stretches,
                                                std::uint32_t units,
                                                const std::vector<std::uint32_t>& excluded) const {
  const auto fits = [&](std::uint32_t position) {
    return !std::binary_search(excluded.begin(), excluded.end(), position) &&
           (!demand_.in_islands || units_on(position) >= units);
  };
  for (std::uint32_t free = units * demand_.unit; free <= kSlots; ++free) {
    for (const StretchNo stretch : stretches) {
      if (const auto found = first_node(stretch, free, units, 0, fits)) return found;
    }
  }
  return {};
}

std::optional<std::uint32_t> Capacity::tightest_island(const std::vector<StretchNo>& stretches,
                                                       std::uint32_t gpus,
                                                       std::uint32_t size_max) const {
  ASSERT(demand_.unit == 1);
  for (std::uint32_t size = gpus; size <= size_max; ++size) {
    const auto has_island = [&](std::uint32_t position) {
      const std::uint32_t sizes =
          index_.layout_at(position).part_sizes(index_.at(position).room.gpus);
      return (sizes >> size & 1) != 0;
    };
    std::uint32_t node_sizes = 0;
    for (const StretchNo stretch : stretches)
      node_sizes |= index_.stretch(stretch).islands[size].node_sizes;
    for (; node_sizes != 0; node_sizes &= node_sizes - 1) {
      const std::uint32_t free = lowest(node_sizes);
      for (const StretchNo stretch : stretches) {
        const auto found = first_node(stretch, free, gpus, size, has_island);
        if (found) return found;
      }
    }
  }
  return {};
}

}  // namespace berth::core
