// Reads what a task asks of the hardware beside GPUs, share and VRAM, and judges how all of it goes
// together, drawn or not. What is refused here no hardware could give; see core/model/ranges.h.
#pragma once

#include "sim/reading.h"
#include "sim/scenario.h"

namespace berth::sim {

// Asks for groups, within, required, profile and kinds; what is present replaces what `task` had.
void read_shape_fields(TableReader& table, const Scenario& scenario, core::TaskSpec& task);

// Reports what does not go together in a whole task.
void check_shape(TableReader& table, const TaskTemplate& task);

}  // namespace berth::sim
