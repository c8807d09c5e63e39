// Worth: what a shape costs in future room, for every state it could start from.
//
// Phi(state) is what the state's idle GPUs are expected to lose. With a value table: its sum + 0.05
// M. Without one: 0.7 F + 0.3 M, of a sharpened mix, less a little for GPUs that are still whole. A
// start costs Phi after - Phi before; without a table, which knows the kinds, a price for taking a
// scarce kind is added. Costs are rounded to steps of 0.04 GPU, because what differs by less is
// better left to a fixed order of the nodes (measured: docs/benchmarks.md).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/packing/fragment.h"
#include "core/packing/mix.h"
#include "core/packing/value_table.h"

namespace berth::core {

class Worth {
 public:
  void set_mix(TypicalMix mix);
  void set_table(std::optional<ValueTable> table);
  // GPUs in the cluster, by kind. Returns whether any price changed.
  bool set_gpus(const std::vector<std::int64_t>& gpus_by_kind);

  const TypicalMix& mix() const { return mix_; }
  const std::optional<ValueTable>& table() const { return table_; }

  // In millionths of a GPU.
  std::int64_t phi(const NodeState& state) const;

  struct Start {
    std::int32_t cost = 0;  // in steps, -kCostMost .. kCostMost (cost_levels.h)
    GpuSet gpus = 0;        // by their index in the state
  };
  // The cheapest way to start the shape on the state, on GPUs out of `usable` (asked only when the
  // shape has GPUs). Nothing: too few of them. Equal costs go to the emptier GPU, then the lowest
  // index. `phi_before` is phi(state).
  std::optional<Start> best_start(const NodeState& state, std::int64_t phi_before,
                                  const Shape& shape, GpuSet usable) const;

  // What the shape costs at the least on the nodes of a canonical state, kCostNone where none of
  // them can take it. Buckets hide small differences: a node of the state may fit, or may not;
  // where it fits, this is its cost.
  std::int32_t cheapest(const NodeState& state, std::int64_t phi_before, const Shape& shape) const;

 private:
  std::int32_t cost(const NodeState& after, std::int64_t phi_before, const Shape& shape) const;
  void renew_rows();

  TypicalMix mix_;
  std::optional<ValueTable> table_;
  FragmentRows rows_;
  std::vector<std::int64_t> kind_price_;  // millionths for each GPU taken
  std::vector<std::int64_t> gpus_by_kind_;
};

}  // namespace berth::core
