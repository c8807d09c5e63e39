// GangRoom: how many groups of a gang fit in a domain, exactly. For the search; see gang_search.h.
//
// Counts only: it never says which GPUs. A group lies in one domain of the level that is asked for;
// nodes of an island of several nodes count together at level island, other nodes by their islands.
#pragma once

#include <cstdint>
#include <vector>

#include "core/topology/capacity.h"

namespace berth::core {

// The domain in a key of an order by free GPUs.
inline std::uint32_t domain_of(std::uint64_t key) { return static_cast<std::uint32_t>(key); }
inline std::uint32_t free_of(std::uint64_t key) { return static_cast<std::uint32_t>(key >> 32); }

// The gang in numbers.
struct GangNumbers {
  std::uint32_t gpus = 1;
  std::uint32_t groups = 1;
  std::uint32_t group_size = 1;
  GangDemand demand;  // in units of single GPUs
};
GangNumbers numbers_of(const Shape& shape);

// The nodes of one rack in one pool.
struct RackRun {
  RackId rack;
  StretchNo stretch = kNoStretch;
};

// A part of the cluster, seen for some GPU kinds.
class GangRoom {
 public:
  GangRoom(const FreeIndex& index, const GangNumbers& gang, Visits& visits)
      : index_(index), gang_(gang), visits_(visits) {}

  // Groups that fit at once, counted as far as `enough`.
  std::uint64_t groups_in_cluster(KindMask kinds, Level level, std::uint64_t enough) const;
  // At levels rack and cluster the groups only have to be in this rack.
  std::uint64_t groups_in_rack(RackId rack, KindMask kinds, Level level,
                               std::uint64_t enough) const;
  std::uint64_t groups_in_island(std::uint32_t place, Level level, std::uint64_t enough) const;

  // GPUs that fit at once, wherever in the domain, counted as far as `enough`.
  std::uint64_t gpus_in(const std::vector<StretchNo>& stretches, std::uint64_t enough) const;
  std::uint64_t gpus_in_rack(RackId rack, KindMask kinds, std::uint64_t enough) const;

  // The stretches of a domain. Loose: without the nodes of islands of several nodes.
  std::vector<StretchNo> cluster(KindMask kinds, bool loose = false) const;
  std::vector<RackRun> rack(RackId rack, KindMask kinds, bool loose = false) const;
  void append_rack(RackId rack, KindMask kinds, bool loose, std::vector<RackRun>& runs) const;
  // Racks with at least so many free GPUs of the kinds, least free first: free << 32 | rack.
  std::vector<std::uint64_t> racks_with(KindMask kinds, std::uint32_t free_min) const;
  // Likewise islands of several nodes, by their place; everywhere, or in one rack.
  std::vector<std::uint64_t> islands_with(KindMask kinds, std::uint32_t free_min) const;
  std::vector<std::uint64_t> islands_with(RackId rack, KindMask kinds,
                                          std::uint32_t free_min) const;

  // Units of whole groups on one node, or in one island of it.
  GangDemand by_group(bool in_islands) const;

 private:
  bool wanted(const Pool& pool, KindMask kinds, bool loose) const {
    return allows(kinds, pool.kind) && !(loose && pool.joined);
  }
  std::uint64_t sum(const GangDemand& demand, const std::vector<StretchNo>& stretches,
                    std::uint64_t enough) const;
  std::uint64_t groups_in_islands(const std::vector<std::uint64_t>& islands,
                                  std::uint64_t enough) const;

  const FreeIndex& index_;
  const GangNumbers& gang_;
  Visits& visits_;
};

std::vector<StretchNo> stretches_of(const std::vector<RackRun>& runs);

}  // namespace berth::core
