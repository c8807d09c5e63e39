// See gang_fill.h.
#include "core/topology/gang_fill.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <limits>
#include <tuple>

#include "base/assert.h"

namespace berth::core {
namespace {

struct RackCount {
  RackId rack;
  std::uint32_t nodes = 0;
};

// Nodes of each rack that carry exactly so many units. REQUIRES runs in order of racks.
std::vector<RackCount> count_by_rack(const Capacity& capacity, const std::vector<RackRun>& runs,
                                     std::uint32_t units_each) {
  std::vector<RackCount> counts;
  for (const RackRun& run : runs) {
    const std::uint32_t nodes = capacity.nodes_with(run.stretch, units_each);
    if (nodes == 0) continue;
    if (counts.empty() || counts.back().rack != run.rack) counts.push_back({run.rack, 0});
    counts.back().nodes += nodes;
  }
  return counts;
}

using RackCounts = std::vector<RackCount>::iterator;

// REQUIRES falling counts, the first of which suffices.
RackCounts tightest(RackCounts first, RackCounts last, std::uint64_t nodes) {
  const auto too_few =
      std::find_if(first, last, [&](const RackCount& c) { return c.nodes < nodes; });
  const std::uint32_t least = std::prev(too_few)->nodes;
  return std::find_if(first, last, [&](const RackCount& c) { return c.nodes == least; });
}

// Fewest racks: those in use, then the largest; as soon as one suffices, the smallest that does.
std::vector<RackCount> choose_racks(std::vector<RackCount> counts,
                                    const std::vector<RackId>& in_use, std::uint64_t nodes) {
  const auto used = [&](const RackCount& count) {
    return std::binary_search(in_use.begin(), in_use.end(), count.rack);
  };
  std::sort(counts.begin(), counts.end(), [&](const RackCount& a, const RackCount& b) {
    return std::tuple(!used(a), b.nodes, a.rack) < std::tuple(!used(b), a.nodes, b.rack);
  });
  std::vector<RackCount> chosen;
  for (auto next = counts.begin(); next != counts.end() && nodes > 0; ++next) {
    if (next->nodes >= nodes && !used(*next)) next = tightest(next, counts.end(), nodes);
    const auto taken = static_cast<std::uint32_t>(std::min<std::uint64_t>(next->nodes, nodes));
    chosen.push_back({next->rack, taken});
    nodes -= taken;
  }
  return chosen;
}

}  // namespace

void GangFill::take_node(std::uint32_t position, std::uint32_t gpus, bool in_islands) {
  pieces_.push_back({position, gpus, in_islands});
}

void GangFill::take(const GangDemand& demand, const std::vector<StretchNo>& stretches,
                    const std::vector<RackRun>& runs, std::uint64_t units) {
  const Capacity capacity(index_, demand, visits_);
  const std::uint32_t units_max = std::min(kSlots, demand.gpus_max) / demand.unit;
  for (std::uint32_t each = units_max; each > 0 && units > 0; --each) {
    std::uint64_t nodes = 0;
    for (const StretchNo stretch : stretches)
      nodes += capacity.nodes_with(stretch, each);
    const std::uint64_t filled = std::min(units / each, nodes);
    if (filled == nodes) {
      take_all(demand, stretches, each);
    } else if (filled > 0) {
      take_some(demand, runs, each, filled);
    }
    units -= filled * each;
    if (filled < nodes && units > 0) {
      take_last(demand, stretches, runs, static_cast<std::uint32_t>(units));
      units = 0;
    }
  }
  ASSERT(units == 0 || visits_.spent);
}

void GangFill::take_all(const GangDemand& demand, const std::vector<StretchNo>& stretches,
                        std::uint32_t units_each) {
  const Capacity capacity(index_, demand, visits_);
  std::vector<std::uint32_t> positions;
  for (const StretchNo stretch : stretches)
    capacity.collect(stretch, units_each, std::numeric_limits<std::size_t>::max(), positions);
  for (const std::uint32_t position : positions)
    take_node(position, units_each * demand.unit, demand.in_islands);
}

void GangFill::take_some(const GangDemand& demand, const std::vector<RackRun>& runs,
                         std::uint32_t units_each, std::uint64_t nodes) {
  const Capacity capacity(index_, demand, visits_);
  const auto racks = choose_racks(count_by_rack(capacity, runs, units_each), racks_in_use(), nodes);
  for (const RackCount& rack : racks) {
    std::vector<std::uint32_t> positions;
    const auto first =
        std::lower_bound(runs.begin(), runs.end(), rack.rack,
                         [](const RackRun& run, RackId id) { return run.rack < id; });
    for (auto run = first; run != runs.end() && run->rack == rack.rack; ++run)
      capacity.collect(run->stretch, units_each, rack.nodes, positions);
    for (const std::uint32_t position : positions)
      take_node(position, units_each * demand.unit, demand.in_islands);
  }
}

void GangFill::take_last(const GangDemand& demand, const std::vector<StretchNo>& stretches,
                         const std::vector<RackRun>& runs, std::uint32_t units) {
  const Capacity capacity(index_, demand, visits_);
  std::vector<std::uint32_t> taken;
  for (const Piece& piece : pieces_)
    taken.push_back(piece.position);
  std::sort(taken.begin(), taken.end());
  const std::vector<RackId> in_use = racks_in_use();
  std::vector<StretchNo> near;
  for (const RackRun& run : runs) {
    if (std::binary_search(in_use.begin(), in_use.end(), run.rack)) near.push_back(run.stretch);
  }
  auto position = capacity.tightest(near, units, taken);
  if (!position) position = capacity.tightest(stretches, units, taken);
  ASSERT(position || visits_.spent);
  if (position) take_node(*position, units * demand.unit, demand.in_islands);
}

std::vector<RackId> GangFill::racks_in_use() const {
  std::vector<RackId> racks;
  for (const Piece& piece : pieces_)
    racks.push_back(index_.at(piece.position).rack);
  std::sort(racks.begin(), racks.end());
  racks.erase(std::unique(racks.begin(), racks.end()), racks.end());
  return racks;
}

Gang GangFill::finish(Level within) {
  const auto rank = [&](const Piece& piece) {
    const PlacedNode& node = index_.at(piece.position);
    return std::tuple(node.rack, node.island, kSlots - piece.gpus, piece.position);
  };
  std::sort(pieces_.begin(), pieces_.end(),
            [&](const Piece& a, const Piece& b) { return rank(a) < rank(b); });
  Gang gang{.within = within, .group_size = gang_.group_size};
  gang.gpus.reserve(gang_.gpus);
  gang.nodes.reserve(pieces_.size());
  for (const Piece& piece : pieces_)
    place(piece, gang);
  return gang;
}

// Group by group, each from what joins it best.
void GangFill::place(const Piece& piece, Gang& gang) const {
  const PlacedNode& node = index_.at(piece.position);
  const NodeLayout& layout = index_.layout_at(piece.position);
  GpuMask rest = piece.in_islands ? node.room.gpus : layout.choose(node.room.gpus, piece.gpus);
  GpuMask taken = 0;
  for (std::uint32_t left = piece.gpus; left > 0;) {
    const auto behind = static_cast<std::uint32_t>(gang.gpus.size() % gang.group_size);
    const std::uint32_t count = std::min(left, gang.group_size - behind);
    const GpuMask chosen = layout.choose(rest, count);
    for (std::uint32_t bits = chosen; bits != 0; bits &= bits - 1)
      gang.gpus.push_back(
          index_.gpu_at(piece.position, static_cast<std::uint32_t>(std::countr_zero(bits))));
    rest = static_cast<GpuMask>(rest & ~chosen);
    taken = static_cast<GpuMask>(taken | chosen);
    left -= count;
  }
  const auto amount = [](std::int64_t need) { return std::max<std::int64_t>(need, 0); };
  gang.nodes.push_back({node.node, taken, Milli{amount(gang_.demand.cpu[piece.gpus])},
                        Mib{amount(gang_.demand.memory[piece.gpus])}});
}

}  // namespace berth::core
