// Fragments: how much of a node's idle GPUs the typical mix cannot use.
//
// F, the fragment of FGD (Weng et al., ATC'23): for each typical shape the idle parts it cannot run
// on, weighted. M asks not whether one could run but how many: idle - sum of weight x copies x
// size, where copies are bounded by the residuals and, as a fraction, by the free CPUs. All in
// millionths of a GPU, integers, computed from rows that are made once for a mix: 16-bit lanes, one
// for each typical shape with GPUs.
#pragma once

#include <cstdint>
#include <vector>

#include "core/packing/mix.h"
#include "core/packing/node_state.h"

namespace berth::core {

class FragmentRows {
 public:
  FragmentRows() = default;
  explicit FragmentRows(const TypicalMix& mix);

  // F. REQUIRES idle == idle_of(state), here and below.
  std::int64_t fragment(const NodeState& state, std::uint32_t idle) const;
  // M.
  std::int64_t copies_fragment(const NodeState& state, std::uint32_t idle) const;

 private:
  using Lane = std::int16_t;
  static constexpr std::size_t kLanesMax = kTypicalMax;

  void count_runs(const NodeState& state, Lane* runs) const;
  void count_by_island(const NodeState& state, Lane* runs) const;

  std::size_t lanes_ = 0;      // padded to a multiple of a block
  std::vector<Lane> gpus_;     // [lane]: GPUs of the shape
  std::vector<Lane> copies_;   // [residual][lane]: copies of a shape of one GPU, in kCopy-ths
  std::vector<Lane> wholes_;   // [free whole GPUs][lane]: the same for shapes of several
  std::vector<Lane> cpu_;      // [CPU step][lane]: copies that the CPUs allow; 0 for less than one
  std::vector<Lane> room_;     // [residual][lane]: the residual where it suffices, else 0
  std::vector<Lane> run_;      // [kind][lane]: weight of the shape; 0: it may not use the kind
  std::vector<Lane> size_;     // [kind][lane]: weight x size of the shape; the same
  std::int64_t run_unit_ = 1;  // one GPU of weight 1, in run_
  std::int64_t size_unit_ = 1;
};

// The mix with what is frequent made more so (weight to the power 1.25): the rule without a table
// does better by it.
TypicalMix sharpened(const TypicalMix& mix);

// How scarce each kind is: demand of the typical shapes that may use it over the GPUs they may use,
// relative to all demand over all GPUs; in thousandths, 1000 everywhere when no shape is choosy.
// `gpus_by_kind` counts the GPUs of each kind.
std::vector<std::int64_t> scarcity(const TypicalMix& mix,
                                   const std::vector<std::int64_t>& gpus_by_kind);

}  // namespace berth::core
