// NodeLayout: how the GPUs of one node are joined, and which of them to take.
//
// Answers "which m of the free GPUs" from a table, made once for each distinct layout. The choice,
// in this order: touches the fewest islands; breaks the fewest islands that are wholly free; leaves
// least free in the islands it touches (best fit); touches the fewest PCIe switches, then sockets;
// leaves least free under the switches it touches; takes the lowest indexes. A GPU without an
// island (switch, socket) counts as one of its own.
//
// GPUs that are joined alike are interchangeable, so the table counts them by cell: by island,
// switch and socket at once. A layout so crossed that the table would be too large forgets its
// switches, then its sockets; only nodes with more than 8 GPUs can be so.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "core/topology/tree.h"

namespace berth::core {

// One GPU of a node; islands are numbered from 0 inside the node.
struct Slot {
  std::uint8_t index = 0;
  std::uint16_t island = kUnknownPart;
  std::uint16_t pcie_switch = kUnknownPart;
  std::uint16_t socket = kUnknownPart;
  auto operator<=>(const Slot&) const = default;
};

class NodeLayout {
 public:
  // REQUIRES distinct indexes below kSlots.
  explicit NodeLayout(const std::vector<Slot>& slots);

  // REQUIRES count <= GPUs in `free`, which all exist.
  GpuMask choose(GpuMask free, std::uint32_t count) const;

  // The islands of the node, as masks; a GPU without an island is one alone.
  const std::vector<GpuMask>& islands() const { return islands_; }
  // Bit s is set when some island has exactly s of the free GPUs.
  std::uint32_t part_sizes(GpuMask free) const;

 private:
  struct Cell {
    GpuMask gpus = 0;
    std::uint32_t radix = 1;  // of this cell's count in the number of a state
  };

  void fill_table(const std::vector<Slot>& slots);

  std::vector<GpuMask> islands_;
  std::vector<Cell> cells_;
  // By (state, count): how many GPUs of each cell to take, as the number of a state. A state is how
  // many GPUs of each cell are free.
  std::vector<std::uint16_t> table_;
};

}  // namespace berth::core
