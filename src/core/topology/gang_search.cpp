// See gang_search.h.
#include "core/topology/gang_search.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "core/topology/gang_fill.h"
#include "core/topology/gang_lack.h"
#include "core/topology/gang_room.h"

namespace berth::core {
namespace {

KindMask only(KindId kind) { return KindMask{1} << kind.value; }
Level wider(Level level) { return static_cast<Level>(static_cast<std::uint8_t>(level) + 1); }

// A domain that takes several groups of a gang.
struct Cell {
  std::uint32_t domain = 0;
  std::uint64_t groups = 0;
};

// The same nodes, as few stretches and by rack.
struct Nodes {
  std::vector<StretchNo> stretches;
  std::vector<RackRun> runs;
};

Nodes by_itself(std::vector<RackRun> runs) {
  std::vector<StretchNo> stretches = stretches_of(runs);
  return {std::move(stretches), std::move(runs)};
}

class Search {
 public:
  Search(const FreeIndex& index, const Shape& shape, Visits& visits)
      : index_(index),
        shape_(shape),
        gang_(numbers_of(shape)),
        visits_(visits),
        room_(index, gang_, visits),
        fill_(index, gang_, visits) {}

  // One kind alone at any level before several, each level before the next wider one.
  std::optional<Gang> find() {
    const std::vector<KindMask> kinds = kinds_apart();
    for (const bool mixed : {false, true}) {
      if (mixed && kinds.size() < 2) break;
      for (Level level = narrowest();; level = wider(level)) {
        const auto fitting =
            those_that_fit(mixed ? std::vector<KindMask>{shape_.kinds} : kinds, level);
        if (visits_.spent) return {};
        if (!fitting.empty()) {
          place(fitting, level);
          if (visits_.spent) return {};
          return fill_.finish(level);
        }
        if (shape_.required || level == Level::cluster) break;
      }
    }
    return {};
  }

  bool fits() {
    const Level level = shape_.required ? narrowest() : Level::cluster;
    const auto kinds = kinds_apart();
    if (!those_that_fit(kinds, level).empty()) return true;
    return kinds.size() > 1 && !those_that_fit({shape_.kinds}, level).empty();
  }

 private:
  // One GPU is a domain of level gpu, and any island holds one.
  Level narrowest() const { return std::max(shape_.within, Level::island); }

  std::vector<KindMask> kinds_apart() const {
    std::vector<KindMask> kinds;
    for (const KindId kind : index_.kinds()) {
      if (allows(shape_.kinds, kind)) kinds.push_back(only(kind));
    }
    return kinds;
  }

  std::vector<KindMask> those_that_fit(const std::vector<KindMask>& choices, Level level) const {
    std::vector<KindMask> fitting;
    for (const KindMask kinds : choices) {
      if (room_.groups_in_cluster(kinds, level, gang_.groups) >= gang_.groups) {
        fitting.push_back(kinds);
      }
    }
    return fitting;
  }

  // Into the narrowest domain that holds the whole gang. REQUIRES that each of the kinds fits.
  void place(const std::vector<KindMask>& fitting, Level level) {
    if (place_in_node_island(fitting) || place_in_joined_island(fitting, level) ||
        place_in_node(fitting, level) || place_in_rack(fitting, level))
      return;
    place_in_cluster(fitting, level);
  }

  // A node has one kind, so the kinds need not be asked one by one.
  std::vector<StretchNo> all_of(const std::vector<KindMask>& fitting) const {
    if (fitting.size() == 1) return room_.cluster(fitting.front());
    KindMask kinds = 0;
    for (const KindMask mask : fitting)
      kinds |= mask;
    return room_.cluster(kinds);
  }

  bool place_in_node_island(const std::vector<KindMask>& fitting) {
    if (gang_.gpus > kSlots) return false;
    const Capacity capacity(index_, gang_.demand, visits_);
    const auto node = capacity.tightest_island(all_of(fitting), gang_.gpus, kSlots);
    if (node) fill_.take_node(*node, gang_.gpus, false);
    return node.has_value();
  }

  bool place_in_node(const std::vector<KindMask>& fitting, Level level) {
    if (gang_.gpus > kSlots) return false;
    const bool in_islands = level == Level::island;
    const GangDemand demand = in_islands ? room_.by_group(true) : gang_.demand;
    const auto node =
        Capacity(index_, demand, visits_).tightest(all_of(fitting), gang_.gpus / demand.unit, {});
    if (node) fill_.take_node(*node, gang_.gpus, in_islands);
    return node.has_value();
  }

  bool place_in_joined_island(const std::vector<KindMask>& fitting, Level level) {
    std::optional<std::uint64_t> best;
    for (const KindMask kinds : fitting) {
      for (const std::uint64_t key : room_.islands_with(kinds, gang_.gpus)) {
        if (best && key >= *best) break;
        if (room_.groups_in_island(domain_of(key), level, gang_.groups) < gang_.groups) continue;
        best = key;
        break;
      }
    }
    if (!best) return false;
    const JoinedIsland& island = index_.joined_islands()[domain_of(*best)];
    take_anywhere(by_itself({{island.rack, island.stretch}}), level == Level::node);
    return true;
  }

  bool place_in_rack(const std::vector<KindMask>& fitting, Level level) {
    std::optional<std::uint64_t> best;
    KindMask best_kinds = 0;
    for (const KindMask kinds : fitting) {
      for (const std::uint64_t key : room_.racks_with(kinds, gang_.gpus)) {
        if (best && key >= *best) break;
        const RackId rack{domain_of(key)};
        if (room_.groups_in_rack(rack, kinds, level, gang_.groups) < gang_.groups) continue;
        best = key;
        best_kinds = kinds;
        break;
      }
    }
    if (!best) return false;
    const RackId rack{domain_of(*best)};
    if (level == Level::island) {
      take_islands(room_.islands_with(rack, best_kinds, gang_.group_size),
                   by_itself(room_.rack(rack, best_kinds, true)));
    } else {
      take_anywhere(by_itself(room_.rack(rack, best_kinds)), level == Level::node);
    }
    return true;
  }

  void place_in_cluster(const std::vector<KindMask>& fitting, Level level) {
    const KindMask kinds = scarcest(fitting);
    if (level == Level::island) {
      take_islands(room_.islands_with(kinds, gang_.group_size),
                   {room_.cluster(kinds, true), runs_by_rack(kinds, true)});
    } else if (level == Level::rack) {
      take_racks(kinds);
    } else {
      take_anywhere({room_.cluster(kinds), runs_by_rack(kinds, false)}, level == Level::node);
    }
  }

  // Of the kinds that fit, the one with fewest free GPUs.
  KindMask scarcest(const std::vector<KindMask>& fitting) const {
    const auto free = [&](KindMask kinds) {
      std::uint32_t sum = 0;
      for (const KindId kind : index_.kinds())
        sum += allows(kinds, kind) ? index_.free_gpus(kind) : 0;
      return sum;
    };
    return *std::min_element(fitting.begin(), fitting.end(),
                             [&](KindMask a, KindMask b) { return free(a) < free(b); });
  }

  std::vector<RackRun> runs_by_rack(KindMask kinds, bool loose) const {
    std::vector<RackRun> runs;
    for (std::uint32_t rack = 0; rack < index_.racks(); ++rack)
      room_.append_rack({rack}, kinds, loose, runs);
    return runs;
  }

  void take(const GangDemand& demand, const Nodes& nodes, std::uint64_t units) {
    fill_.take(demand, nodes.stretches, nodes.runs, units);
  }

  void take_anywhere(const Nodes& nodes, bool groups_on_nodes) {
    if (groups_on_nodes) {
      take(room_.by_group(false), nodes, gang_.groups);
    } else {
      take(gang_.demand, nodes, gang_.gpus);
    }
  }

  // Islands of several nodes first, then the islands of single nodes.
  void take_islands(const std::vector<std::uint64_t>& joined, const Nodes& loose) {
    const auto groups_in = [&](std::uint32_t place, std::uint64_t enough) {
      return room_.groups_in_island(place, Level::island, enough);
    };
    std::uint64_t left = gang_.groups;
    for (const Cell& cell : choose_cells(joined, left, groups_in)) {
      const JoinedIsland& island = index_.joined_islands()[cell.domain];
      take(gang_.demand, by_itself({{island.rack, island.stretch}}),
           cell.groups * gang_.group_size);
      left -= cell.groups;
    }
    if (left > 0) take(room_.by_group(true), loose, left);
  }

  void take_racks(KindMask kinds) {
    const auto groups_in = [&](std::uint32_t rack, std::uint64_t enough) {
      return room_.groups_in_rack(RackId{rack}, kinds, Level::rack, enough);
    };
    const auto racks = room_.racks_with(kinds, gang_.group_size);
    for (const Cell& cell : choose_cells(racks, gang_.groups, groups_in))
      take(gang_.demand, by_itself(room_.rack(RackId{cell.domain}, kinds)),
           cell.groups * gang_.group_size);
  }

  // The freest domains first; what is left goes to the least free one that holds it. Keys are in
  // rising order of free GPUs.
  template <class GroupsIn>
  std::vector<Cell> choose_cells(const std::vector<std::uint64_t>& keys, std::uint64_t groups,
                                 const GroupsIn& groups_in) const {
    std::vector<Cell> cells;
    for (std::size_t i = keys.size(); i-- > 0 && groups > 0;) {
      const std::uint64_t found = groups_in(domain_of(keys[i]), groups);
      if (found == 0) continue;
      if (found < groups) {
        cells.push_back({domain_of(keys[i]), found});
        groups -= found;
        continue;
      }
      std::size_t last = 0;
      while (last < i && (free_of(keys[last]) < groups * gang_.group_size ||
                          groups_in(domain_of(keys[last]), groups) < groups))
        ++last;
      cells.push_back({domain_of(keys[last]), groups});
      groups = 0;
    }
    return cells;
  }

  const FreeIndex& index_;
  const Shape& shape_;
  GangNumbers gang_;
  Visits& visits_;
  GangRoom room_;
  GangFill fill_;
};

// No group of several lies on one GPU; who must have that gets nothing.
bool is_impossible(const Shape& shape) {
  return shape.within == Level::gpu && shape.required && shape.gpus != shape.groups;
}

}  // namespace

GangAnswer find_gang(const FreeIndex& index, const Shape& shape, std::uint64_t visits_max) {
  Visits visits{visits_max};
  if (!is_impossible(shape)) {
    if (auto gang = Search(index, shape, visits).find()) return *std::move(gang);
  }
  if (visits.spent) return OutOfVisits{};
  const Lack lack = lack_of(index, shape, visits);
  if (visits.spent) return OutOfVisits{};
  return lack;
}

GangFits gang_fits(const FreeIndex& index, const Shape& shape, std::uint64_t visits_max) {
  if (is_impossible(shape)) return GangFits::no;
  Visits visits{visits_max};
  const bool fits = Search(index, shape, visits).fits();
  if (visits.spent) return GangFits::out_of_visits;
  return fits ? GangFits::yes : GangFits::no;
}

}  // namespace berth::core
