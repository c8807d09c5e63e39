// find_gang: which GPUs a gang gets, or exactly what is missing.
//
// A gang is n GPUs in g groups of n / g; each group lies in one domain of the level its shape asks
// for. All or nothing: an answer holds every GPU, or none. Only wholly free GPUs are given.
//
// Where. The narrowest domain that holds the whole gang: an island on one node, an island of
// several nodes, a node, a rack, the cluster; of several, the one with least free. Inside it: full
// nodes first, so that the nodes are fewest; the last node best fit; where that leaves a choice,
// the racks are fewest. On a node the layout's table chooses (node_layout.h). One GPU kind if one
// alone fits, else several, if the shape allows them. A gang that only prefers its level gets the
// next wider one, one at a time; before kinds are mixed.
//
// Exact: if any placement exists at the level, one is found, with CPU and memory counted node by
// node: m of n GPUs need m / n of both, rounded up. Only a spent budget of visits leaves it open,
// and then the answer says so.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "core/model/shape.h"
#include "core/topology/free_index.h"

namespace berth::core {

// What a gang takes of one node.
struct NodeTake {
  NodeId node;
  GpuMask gpus = 0;
  Milli cpu;
  Mib memory;
  bool operator==(const NodeTake&) const = default;
};

struct Gang {
  Level within = Level::cluster;  // each group lies in one domain of this level
  std::uint32_t group_size = 1;
  std::vector<GpuId> gpus;      // by rank: group after group, those of one node together
  std::vector<NodeTake> nodes;  // in the order of their first rank

  std::span<const GpuId> group(std::size_t i) const {
    return std::span(gpus).subspan(i * group_size, group_size);
  }
  bool operator==(const Gang&) const = default;
};

// What would have to be more for the gang to fit.
enum class Lacking : std::uint8_t {
  gpus,    // wholly free ones, together in a domain of the level
  kind,    // the GPUs are there, but not of a kind that the shape allows
  island,  // they are there on single nodes, but not joined
  cpu,     // the GPUs are there, but not CPU beside them (nor, perhaps, memory)
  memory,
};

struct Lack {
  Lacking what = Lacking::gpus;
  Level level = Level::cluster;
  std::uint32_t groups = 1;        // needed
  std::uint32_t groups_found = 0;  // that would fit at once
  std::uint32_t group_size = 1;    // GPUs that a domain of the level must give to one group
  // The domain closest to carrying one more group, among those that carry none, and the GPUs it
  // could give. Cluster: all GPUs that fit, against those of the whole gang.
  std::uint32_t gpus_found = 0;
  std::uint32_t closest = kNoStretch;  // rack, node or island; none: GPUs that no NVLink joins
  bool operator==(const Lack&) const = default;
};

// The budget is spent; nothing is known about the gang.
struct OutOfVisits {
  bool operator==(const OutOfVisits&) const = default;
};

using GangAnswer = std::variant<Gang, Lack, OutOfVisits>;

// Stretches and nodes that one search looks at, at most. What a search of 5,000 nodes needs is some
// hundreds; when CPU is short in many places, some thousands.
inline constexpr std::uint64_t kGangVisitsMax = 200'000;

// REQUIRES a gang: gpus > 0, groups > 0 that divide them; shares and profiles are not looked at.
GangAnswer find_gang(const FreeIndex& index, const Shape& shape,
                     std::uint64_t visits_max = kGangVisitsMax);

// Whether it would be found; cheaper, for plans that ask again and again.
enum class GangFits : std::uint8_t { no, yes, out_of_visits };
GangFits gang_fits(const FreeIndex& index, const Shape& shape,
                   std::uint64_t visits_max = kGangVisitsMax);

}  // namespace berth::core
