// Self-play: learns the value table of packing from an inventory and a mix of shapes alone.
//
// Episodes draw shapes from the mix onto the empty nodes, placed by PackIndex, the code that
// decides in the core, until the demand passes what the GPUs can hold. Each GPU's residual after a
// placement is marked, and in the end every mark learns how much of its GPU stayed idle. The table
// of the next round comes of these marks; the best one is kept, unless packing without any table
// does better.
//
// Chance comes from a fixed seed: equal nodes and an equal mix give an equal table, byte for byte.
// Work is bounded by counts: where there are more nodes than an episode can fill, a part of them
// plays for all.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/units.h"
#include "core/packing/mix.h"
#include "core/packing/node_view.h"
#include "core/packing/value_table.h"

namespace berth::learn {

struct SelfPlaySettings {
  std::uint32_t rounds = 12;
  std::int64_t episodes = 4;             // in each round, and more of them where they are short:
  std::int64_t arrivals_least = 8'192;   // in a round; a few GPUs prove little in one episode
  std::int64_t arrivals_most = 65'536;   // in an episode
  std::uint32_t horizon_percent = 130;   // of the GPUs, in demand that arrives
  Milli gpu_load_threshold = kWholeGpu;  // the policy's: a GPU in use takes more up to this load
  std::uint64_t seed = 1;
};

// Asked every few arrivals; false ends the play, and no table comes of it.
using KeepPlaying = std::function<bool()>;

// Nothing: there is no GPU, or no shape that wants one and lies on one node, or every table is
// worse than none, or the play was ended.
std::optional<core::ValueTable> train_value_table(const std::vector<core::NodeView>& empty_nodes,
                                                  const core::TypicalMix& mix,
                                                  const SelfPlaySettings& settings = {},
                                                  const KeepPlaying& keep_playing = {});

}  // namespace berth::learn
