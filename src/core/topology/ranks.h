// Ranks: what each process of a gang must know of the others, as indexes.
//
// Rank r runs on the r-th GPU of the gang. Hosts are numbered in the order of their first rank, and
// the ranks of one host stand together; the edge turns hosts into names and addresses, rank 0's
// host into the master's.
#pragma once

#include <cstdint>
#include <vector>

#include "core/topology/gang_search.h"
#include "core/topology/tree.h"

namespace berth::core {

struct Rank {
  GpuId gpu;
  std::uint32_t node_rank = 0;   // NODE_RANK: place in the list of hosts
  std::uint32_t local_rank = 0;  // LOCAL_RANK: place among the ranks of its host
  std::uint32_t group = 0;
  std::uint32_t group_rank = 0;  // place in the group
  bool operator==(const Rank&) const = default;
};

struct Host {
  NodeId node;
  std::uint32_t first_rank = 0;
  std::uint32_t ranks = 0;  // LOCAL_WORLD_SIZE
  bool operator==(const Host&) const = default;
};

// WORLD_SIZE is ranks.size().
struct Ranks {
  std::vector<Rank> ranks;  // by RANK
  std::vector<Host> hosts;  // by NODE_RANK
};

// REQUIRES a gang found in this tree.
Ranks ranks_of(const Gang& gang, const HardwareTree& tree);

}  // namespace berth::core
