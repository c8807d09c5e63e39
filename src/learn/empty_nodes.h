// The nodes as packing sees them when nothing runs: where self-play begins. Knows specs alone; the
// simulator has them from a scenario, the service from its agents.
#pragma once

#include <span>
#include <vector>

#include "core/model/specs.h"
#include "core/packing/node_view.h"

namespace berth::learn {

// For each node its GPUs of one kind and size, as the core cuts nodes into cells. `nodes` by
// number; one that a GPU names and that is not among them has no CPUs and no memory. A GPU that is
// cut for MIG takes nothing here.
std::vector<core::NodeView> empty_nodes(std::span<const core::NodeSpec> nodes,
                                        std::span<const core::GpuSpec> gpus, Milli vram_usable);

}  // namespace berth::learn
