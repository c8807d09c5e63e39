// FreeIndex: which GPUs, CPUs and memory are free, counted at every level of the tree.
//
// The owner calls set_node whenever what is free on a node changes. Counts go up the tree, so that
// a search goes down it by counts and never scans the nodes. Only wholly free GPUs are known here;
// shares, MIG and who holds what are not.
//
// Nodes that can be compared form a pool: one GPU kind, and either every node in an island of
// several nodes ("joined") or none. Inside a pool nodes stand in the order of rack, island, node;
// a stretch is a run of them. Stretches halve down to a few nodes, and every rack and every joined
// island of a pool is exactly one stretch. A stretch knows, for each number of free GPUs, how many
// of its nodes have it and what CPU and memory those have at least and at most; and how many parts
// of islands it has of each size.
//
// What it answers depends on the tree and on what is free, never on the order of the changes.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/ids.h"
#include "base/ordered_set.h"
#include "base/units.h"
#include "core/model/shape.h"
#include "core/topology/node_layout.h"
#include "core/topology/tree.h"

namespace berth::core {

// What is free on a node. CPU and memory may be promised twice, and then are below zero.
struct Room {
  GpuMask gpus = 0;
  Milli cpu;
  Mib memory;
  bool operator==(const Room&) const = default;
};

// Nodes of a stretch that have the same number of free GPUs.
struct Alike {
  std::uint32_t nodes = 0;
  std::int64_t cpu_min = std::numeric_limits<std::int64_t>::max();
  std::int64_t cpu_max = std::numeric_limits<std::int64_t>::min();
  std::int64_t memory_min = std::numeric_limits<std::int64_t>::max();
  std::int64_t memory_max = std::numeric_limits<std::int64_t>::min();
  bool operator==(const Alike&) const = default;
};

// Islands of nodes in a stretch that have the same number of free GPUs. (Of an island of several
// nodes, what lies on each node counts by itself.)
struct IslandParts {
  std::uint32_t parts = 0;
  std::uint32_t node_sizes = 0;  // bit f: some lie on a node with f free GPUs
  bool operator==(const IslandParts&) const = default;
};

using StretchNo = std::uint32_t;
inline constexpr StretchNo kNoStretch = std::numeric_limits<StretchNo>::max();

struct Stretch {
  std::uint32_t first = 0;  // nodes by position, up to but without `last`
  std::uint32_t last = 0;
  StretchNo left = kNoStretch;  // none: a few nodes, to be looked at one by one
  StretchNo right = kNoStretch;
  StretchNo up = kNoStretch;
  bool islands_are_nodes = true;  // the GPUs of each node are one island, or part of one
  std::uint32_t node_sizes = 0;   // bit f: some node has f free GPUs, f > 0
  std::array<Alike, kSlots + 1> alike;
  std::array<IslandParts, kSlots + 1> islands;
  bool operator==(const Stretch&) const = default;
};

struct PlacedNode {
  NodeId node;
  RackId rack;
  IslandId island;  // the joined island that covers it, or none
  KindId kind;
  std::uint32_t layout = 0;
  StretchNo block = kNoStretch;  // the smallest stretch it is in
  std::uint32_t free = 0;        // GPUs
  Room room;
  bool operator==(const PlacedNode&) const = default;
};

struct Pool {
  KindId kind;
  bool joined = false;
  StretchNo all = kNoStretch;
};

// A rack's or joined island's nodes of one pool.
struct PoolPart {
  std::uint32_t pool = 0;
  StretchNo stretch = kNoStretch;
};

struct JoinedIsland {
  IslandId island;
  RackId rack;
  KindId kind;
  StretchNo stretch = kNoStretch;
};

class FreeIndex {
 public:
  // Nothing is free at first. REQUIRES flaws_in(tree).empty().
  explicit FreeIndex(const HardwareTree& tree);

  // REQUIRES GPUs that exist. A node without GPUs is no part of any search: nothing happens.
  void set_node(NodeId node, const Room& room);
  Room room_on(NodeId node) const;

  std::uint32_t free_gpus() const;
  std::uint32_t free_gpus(KindId kind) const;
  std::uint32_t free_gpus(RackId rack, KindId kind) const;
  // Of an island of several nodes, by its place in joined_islands().
  std::uint32_t free_in_island(std::uint32_t place) const { return island_free_[place]; }

  // For searches, which go down by counts.
  const std::vector<KindId>& kinds() const { return kinds_; }  // those on some node, ascending
  std::uint32_t racks() const { return static_cast<std::uint32_t>(racks_.size()); }
  const std::vector<Pool>& pools() const { return pools_; }
  const std::vector<PoolPart>& parts_of(RackId rack) const { return racks_[rack.value].parts; }
  const std::vector<JoinedIsland>& joined_islands() const { return islands_; }
  // Their places in joined_islands().
  const std::vector<std::uint32_t>& joined_in(RackId rack) const {
    return racks_[rack.value].islands;
  }
  const Stretch& stretch(StretchNo no) const { return stretches_[no]; }
  const PlacedNode& at(std::uint32_t position) const { return nodes_[position]; }
  const NodeLayout& layout_at(std::uint32_t position) const {
    return layouts_[nodes_[position].layout];
  }
  GpuId gpu_at(std::uint32_t position, std::uint32_t slot) const {
    return gpus_[position * kSlots + slot];
  }
  // The island that a GPU is in, inside the node or across nodes; none: no NVLink.
  IslandId island_at(std::uint32_t position, std::uint32_t slot) const {
    return gpu_islands_[position * kSlots + slot];
  }
  // Those with a free GPU of the kind, least free first: free << 32 | rack, or place of the island.
  const OrderedSet& racks_by_free(KindId kind) const { return orders_[slot_of(kind)].racks; }
  const OrderedSet& islands_by_free(KindId kind) const { return orders_[slot_of(kind)].islands; }

  // Same content and same answers; for tests.
  bool operator==(const FreeIndex& other) const;

 private:
  struct Rack {
    std::vector<PoolPart> parts;
    std::vector<std::uint32_t> islands;
  };
  struct Orders {
    std::uint32_t free = 0;
    std::vector<std::uint32_t> free_in_rack;
    OrderedSet racks;
    OrderedSet islands;
  };

  // Building, see free_index_build.cpp.
  void place_nodes(const HardwareTree& tree);
  void place_gpus(const HardwareTree& tree);
  void build_pools();
  void build_pool(std::uint32_t first, std::uint32_t last);
  StretchNo build_rack(std::uint32_t first, std::uint32_t last);
  StretchNo build(std::uint32_t first, std::uint32_t last);
  StretchNo join(const std::vector<StretchNo>& parts, std::size_t first, std::size_t last);

  std::size_t slot_of(KindId kind) const;
  Alike alike_in(const Stretch& stretch, std::uint32_t free) const;
  IslandParts islands_in(const Stretch& stretch, std::uint32_t size) const;
  void refresh(StretchNo block, std::uint32_t node_sizes, std::uint32_t island_sizes);
  void count_free(const PlacedNode& node, std::uint32_t before, std::uint32_t after);

  std::vector<KindId> kinds_;
  std::vector<Orders> orders_;            // by slot of the kind
  std::vector<NodeLayout> layouts_;       // distinct ones
  std::vector<PlacedNode> nodes_;         // by position
  std::vector<GpuId> gpus_;               // by position and index
  std::vector<IslandId> gpu_islands_;     // likewise
  std::vector<std::uint32_t> positions_;  // by NodeId
  std::vector<std::uint32_t> joined_at_;  // by position: place in islands_
  std::vector<Pool> pools_;
  std::vector<Rack> racks_;
  std::vector<JoinedIsland> islands_;  // in the order of their nodes
  std::vector<std::uint32_t> island_free_;
  std::vector<Stretch> stretches_;
};

}  // namespace berth::core
