// Packing lessons: how a simulation teaches packing what comes.
//
// A table is learned by self-play from a mix of shapes and the empty nodes, and enters as PutTable:
// before the run, from a mix that the scenario gives, or during it, from the mix that the engine
// itself has learned from what arrived. A lesson takes no virtual time. Who trains can be replaced,
// so that runs with the same mix share one table; equal questions have equal answers.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/event.h"
#include "core/packing/mix.h"
#include "core/packing/node_view.h"
#include "core/packing/value_table.h"
#include "sim/scenario.h"

namespace berth::sim {

using Trainer = std::function<std::optional<core::ValueTable>(
    const std::vector<core::NodeView>& empty_nodes, const core::TypicalMix& mix)>;

// Where self-play begins (learn/empty_nodes.h).
std::vector<core::NodeView> empty_nodes(const Scenario& scenario);

// What is typical of the shapes that the scenario gives for its lessons.
core::TypicalMix given_mix(const Scenario& scenario);

// Whether learning from arrivals is due after so many of them.
bool is_lesson_due(std::uint64_t arrivals);

// Nothing: no table comes of this mix.
std::optional<core::PutTable> lesson(const std::vector<core::NodeView>& empty_nodes,
                                     const core::TypicalMix& mix, std::uint64_t version,
                                     const Trainer& trainer);

}  // namespace berth::sim
