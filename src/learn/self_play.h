// Self-play: learns the value table of packing from an inventory and a mix of shapes alone.
//
// Episodes draw shapes from the mix onto the empty nodes, placed by PackIndex, the code that
// decides in the core, until the demand passes what the GPUs can hold. Each GPU's residual after a
// placement is marked, and in the end every mark learns how much of its GPU stayed idle. The table
// of the next round comes of these marks; the best table by its own episodes is kept. Chance comes
// from a fixed seed: equal nodes and an equal mix give an equal table, byte for byte.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/packing/mix.h"
#include "core/packing/node_view.h"
#include "core/packing/value_table.h"

namespace berth::learn {

struct SelfPlaySettings {
  std::uint32_t rounds = 12;
  std::uint32_t episodes = 4;           // in each round
  std::uint32_t horizon_percent = 130;  // of the GPUs, in demand that arrives
  std::uint64_t seed = 1;
};

struct SelfPlayProgress {
  std::uint32_t round = 0;  // that has ended, from 0
  std::uint32_t rounds = 0;
  std::int64_t score = 0;  // of its table: millionths of the GPUs in use, mean of its episodes
};

// Returns false to stop early; the best table so far is then returned.
using SelfPlayReport = std::function<bool(const SelfPlayProgress&)>;

// Nothing: there is no GPU, or no shape that wants one, or it was stopped before a table came to
// be.
std::optional<core::ValueTable> train_value_table(const std::vector<core::NodeView>& empty_nodes,
                                                  const core::TypicalMix& mix,
                                                  const SelfPlaySettings& settings = {},
                                                  const SelfPlayReport& report = {});

}  // namespace berth::learn
