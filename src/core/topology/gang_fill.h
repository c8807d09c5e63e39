// GangFill: takes nodes of chosen domains for a gang, then says which GPUs. For the search; see
// gang_search.h.
//
// Fewest nodes: those that carry most come first; the last is the one with fewest free GPUs that
// carries what is left. Where several nodes would do, fewest racks: those in use already, then the
// racks with most such nodes, the last one best fit. Callers know that what they ask for fits; only
// a spent budget can prove them wrong.
#pragma once

#include <cstdint>
#include <vector>

#include "core/topology/gang_room.h"
#include "core/topology/gang_search.h"

namespace berth::core {

class GangFill {
 public:
  GangFill(const FreeIndex& index, const GangNumbers& gang, Visits& visits)
      : index_(index), gang_(gang), visits_(visits) {}

  // Takes units of the demand from these nodes. `runs` are the same nodes by rack.
  void take(const GangDemand& demand, const std::vector<StretchNo>& stretches,
            const std::vector<RackRun>& runs, std::uint64_t units);
  // Takes so many GPUs of one node; chosen together, or group by group, each in one island.
  void take_node(std::uint32_t position, std::uint32_t gpus, bool in_islands);

  // The GPUs by rank: racks, islands and nodes in order, the fullest nodes of each first.
  Gang finish(Level within);

 private:
  struct Piece {
    std::uint32_t position = 0;
    std::uint32_t gpus = 0;
    bool in_islands = false;
  };

  void take_all(const GangDemand& demand, const std::vector<StretchNo>& stretches,
                std::uint32_t units_each);
  void take_some(const GangDemand& demand, const std::vector<RackRun>& runs,
                 std::uint32_t units_each, std::uint64_t nodes);
  void take_last(const GangDemand& demand, const std::vector<StretchNo>& stretches,
                 const std::vector<RackRun>& runs, std::uint32_t units);
  std::vector<RackId> racks_in_use() const;
  void place(const Piece& piece, Gang& gang) const;

  const FreeIndex& index_;
  const GangNumbers& gang_;
  Visits& visits_;
  std::vector<Piece> pieces_;
};

}  // namespace berth::core
