// See ranks.h.
#include "core/topology/ranks.h"

namespace berth::core {

Ranks ranks_of(const Gang& gang, const HardwareTree& tree) {
  Ranks all;
  all.ranks.reserve(gang.gpus.size());
  for (std::uint32_t rank = 0; rank < gang.gpus.size(); ++rank) {
    const NodeId node = tree.gpus[gang.gpus[rank].value].node;
    if (all.hosts.empty() || all.hosts.back().node != node) all.hosts.push_back({node, rank, 0});
    Host& host = all.hosts.back();
    all.ranks.push_back({gang.gpus[rank], static_cast<std::uint32_t>(all.hosts.size() - 1),
                         host.ranks++, rank / gang.group_size, rank % gang.group_size});
  }
  return all;
}

}  // namespace berth::core
