// Capacity: how much of a gang the nodes of a stretch could carry, exactly.
//
// A gang is counted in units that must stay together on a node: single GPUs, or whole groups, or
// groups that must each lie in one island of the node. The answers come from the counts of a
// stretch where those decide; where CPU or memory might run short, from its halves, down to the
// nodes. Each stretch and node looked at is a visit, and visits have a budget: when it is spent,
// `visits.spent` says so and the answers are no longer to be trusted.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/model/shape.h"
#include "core/topology/free_index.h"

namespace berth::core {

struct Visits {
  std::uint64_t left = 0;
  bool spent = false;

  bool take() {
    if (left == 0) return spent = true, false;
    return --left, true;
  }
};

// What one unit is, and what m GPUs of the gang need of their node.
struct GangDemand {
  std::uint32_t unit = 1;      // GPUs
  bool in_islands = false;     // a unit lies in one island of its node
  std::uint32_t gpus_max = 1;  // of the whole gang: no node need carry more
  // By GPUs on the node; the least number there is where nothing is asked for.
  std::array<std::int64_t, kSlots + 1> cpu{};
  std::array<std::int64_t, kSlots + 1> memory{};
};

// Units of single GPUs. REQUIRES a gang: shape.gpus > 0.
GangDemand demand_of(const Shape& shape);

class Capacity {
 public:
  // The index and the visits outlive it.
  Capacity(const FreeIndex& index, const GangDemand& demand, Visits& visits)
      : index_(index), demand_(demand), visits_(visits) {}

  std::uint32_t units_on(std::uint32_t position) const;
  // Counted as far as `enough`: a larger sum may be cut off.
  std::uint64_t units_in(StretchNo stretch, std::uint64_t enough) const;

  // Nodes that can carry exactly so many units.
  std::uint32_t nodes_with(StretchNo stretch, std::uint32_t units) const;
  // Appends the first of them, until `found` has so many.
  void collect(StretchNo stretch, std::uint32_t units, std::size_t found_max,
               std::vector<std::uint32_t>& found) const;

  // The node with fewest free GPUs that can carry so many units and is not excluded (sorted
  // positions); the first such in the order of the stretches.
  std::optional<std::uint32_t> tightest(const std::vector<StretchNo>& stretches,
                                        std::uint32_t units,
                                        const std::vector<std::uint32_t>& excluded) const;

  // The node that can carry so many GPUs in one island of at least that many free GPUs (and at most
  // `size_max`): the smallest island, there the node with fewest free GPUs.
  std::optional<std::uint32_t> tightest_island(const std::vector<StretchNo>& stretches,
                                               std::uint32_t gpus, std::uint32_t size_max) const;

 private:
  // Units that a node with so many free GPUs carries if CPU, memory and islands allow.
  std::uint32_t units_of(std::uint32_t free) const {
    return std::min(free, demand_.gpus_max) / demand_.unit;
  }
  bool all_can(const Alike& alike, std::uint32_t units) const;
  bool some_can(const Alike& alike, std::uint32_t units) const;
  bool can(const PlacedNode& node, std::uint32_t units) const;
  bool islands_matter(const Stretch& stretch) const {
    return demand_.in_islands && !stretch.islands_are_nodes;
  }
  std::uint64_t units_by_islands(const Stretch& stretch) const;
  std::optional<std::uint64_t> units_by_counts(const Stretch& stretch) const;
  std::optional<std::uint32_t> nodes_by_counts(const Stretch& stretch, std::uint32_t units) const;
  template <class Fits>
  std::optional<std::uint32_t> first_node(StretchNo stretch, std::uint32_t free,
                                          std::uint32_t units, std::uint32_t island_size,
                                          const Fits& fits) const;

  const FreeIndex& index_;
  GangDemand demand_;
  Visits& visits_;
};

}  // namespace berth::core
