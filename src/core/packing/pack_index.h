// PackIndex: names the node, and the GPUs on it, where a shape costs least future room.
//
// Nodes of equal state share scores, so the cost of an answer follows the number of states, never
// that of nodes. Scores are kept by class of shape; a change of a node has only the states it made
// scored again, when their class is next asked for. These caches are bounded and invisible: the
// answer depends on the nodes, the mix and the table alone.
//
// The answer: of all nodes where the shape fits exactly, one of least cost (Worth); equal costs go
// to the first in a fixed pseudo-random order of the ids. A shape that fits somewhere is always
// answered.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/packing/node_set.h"
#include "core/packing/node_state.h"
#include "core/packing/node_view.h"
#include "core/packing/worth.h"

namespace berth::core {

class PackIndex {
 public:
  // What a node is now; new or changed. REQUIRES a KindId below kMaxKinds if the node has GPUs.
  void put(NodeId node, const NodeView& view);
  // REQUIRES that the node is here.
  void erase(NodeId node);
  const NodeView* find(NodeId node) const;

  void set_mix(TypicalMix mix);
  void set_table(std::optional<ValueTable> table);
  const Worth& worth() const { return worth_; }

  struct Choice {
    NodeId node;
    GpuSet gpus = 0;
    bool operator==(const Choice&) const = default;
  };
  std::optional<Choice> best(const Shape& shape);

  // Calls visit(node, view) for each node, by id.
  template <class Visit>
  void visit(Visit visit) const {
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].here) visit(NodeId{i}, nodes_[i].view);
    }
  }
  std::size_t states() const { return state_slots_.size(); }

 private:
  static constexpr std::size_t kCachesMax = 192;
  static constexpr std::int32_t kCannot = INT32_MAX;

  struct Node {
    NodeView view;
    std::uint32_t state = 0;  // slot
    bool here = false;
  };
  struct State {
    NodeState state;
    std::int64_t phi = 0;
    NodeSet members;            // none: the slot is free
    std::uint64_t changed = 0;  // the number of its last entry in changes_
  };
  // What a class of shapes costs on each state.
  struct Cache {
    struct Place {
      std::int32_t cost = kCannot;
      std::uint32_t index = 0;  // in its level
    };
    std::map<std::int32_t, std::vector<std::uint32_t>> levels;  // slots by cost, in no order
    std::vector<Place> places;                                  // by slot
    std::uint64_t seen = 0;                                     // changes up to here are counted in
    std::uint64_t used = 0;                                     // the number of the last question

    void set(std::uint32_t slot, std::int32_t cost);
  };
  struct CacheKey {
    ShapeClass shape;
    bool one_island = false;
    auto operator<=>(const CacheKey&) const = default;
  };

  std::uint32_t join(NodeId node, const NodeView& view);
  void leave(NodeId node);
  void note_change(std::uint32_t slot);
  void count_gpus(const NodeView& view, std::int64_t sign);
  void forget_scores();
  Cache& cache_for(const Shape& shape);
  void bring_up_to_date(Cache& cache, const Shape& shape);
  std::int32_t score(const State& state, const Shape& shape) const;
  std::optional<NodeId> first_of(const std::vector<std::uint32_t>& slots, const Shape& shape) const;
  GpuSet gpus_on(const Node& node, const Shape& shape) const;

  Worth worth_;
  std::vector<Node> nodes_;  // by id
  std::map<NodeState, std::uint32_t> state_slots_;
  std::vector<State> slots_;
  std::vector<NodeSet::Summary> summaries_;  // by slot: what first_of looks at, close together
  std::vector<std::uint32_t> free_slots_;
  std::vector<std::int64_t> gpus_by_kind_ = std::vector<std::int64_t>(kMaxKinds, 0);
  bool gpus_changed_ = false;

  std::vector<std::uint32_t> changes_;  // slots that came to be or ceased, in order
  std::uint64_t changes_dropped_ = 0;   // how many came before changes_[0]
  std::map<CacheKey, Cache> caches_;
  std::uint64_t questions_ = 0;
};

}  // namespace berth::core
