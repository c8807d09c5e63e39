// Why tasks were left when a run ended: the engine's own explanation of each, counted by the
// obstacle nearest to its start. Reads the engine; changes nothing.
//
// To explain a task means to walk its flow, so of very many only as many are asked as a fixed
// amount of walking allows, taken evenly over all of them.
#pragma once

#include <span>

#include "core/engine.h"
#include "sim/report.h"

namespace berth::sim {

Unfinished explain_unfinished(const core::Engine& engine, std::span<const TaskNo> live);

}  // namespace berth::sim
