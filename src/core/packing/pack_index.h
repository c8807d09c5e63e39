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

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/packing/cost_levels.h"
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
  std::optional<Choice> best(const Shape& shape) const;

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
  static constexpr std::size_t kRecent = 256;

  struct Node {
    NodeView view;
    std::uint32_t state = 0;  // slot
    bool here = false;
  };
  struct State {
    NodeState state;
    std::int64_t phi = 0;
    NodeSet members;  // none: the slot is free
  };
  // What a class of shapes costs on each state.
  struct Cache {
    CostLevels levels;       // of slots
    std::uint64_t seen = 0;  // changes up to here are counted in
    std::uint64_t used = 0;  // the number of the last question
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
  Cache& cache_for(const Shape& shape) const;
  void bring_up_to_date(Cache& cache, const Shape& shape) const;
  std::optional<NodeId> first_of(const CostLevels& levels, std::uint32_t slot,
                                 const Shape& shape) const;
  GpuSet gpus_on(const Node& node, const Shape& shape) const;

  mutable Worth worth_;      // its prices of kinds follow the GPUs when next asked
  std::vector<Node> nodes_;  // by id
  std::map<NodeState, std::uint32_t> state_slots_;
  std::vector<State> slots_;
  std::vector<NodeSet::Summary> summaries_;  // by slot: what first_of looks at, close together
  std::vector<std::uint32_t> free_slots_;
  std::vector<std::int64_t> gpus_by_kind_ = std::vector<std::int64_t>(kMaxKinds, 0);
  mutable bool gpus_changed_ = false;

  // A slot changes when its state comes to be or ceases; changes are numbered from 1.
  std::uint64_t changes_ = 0;
  std::vector<std::uint64_t> changed_;           // by slot: its last change
  std::array<std::uint32_t, kRecent> recent_{};  // the slot of change i at i % kRecent

  mutable std::map<CacheKey, Cache> caches_;
  mutable std::uint64_t questions_ = 0;
};

}  // namespace berth::core
