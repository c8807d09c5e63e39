// Reads the fields of a task: from a [[workload]] block, one of its tasks or steps, or a CSV row.
//
// A block's fields are defaults for its tasks, so a template is read on top of another. Arrival
// times, ids and dependencies are not fields of this kind; the workload's reader knows them.
#pragma once

#include "sim/reading.h"
#include "sim/scenario.h"

namespace berth::sim {

// Asks for every field of a task; what is present replaces what `task` had.
void read_task_fields(TableReader& table, Scenario& scenario, TaskTemplate& task);

// Fills in the only queue and tenant, and reports a task that lacks one, has no run time or asks
// for what does not go together.
void complete_task(TableReader& table, const Scenario& scenario, TaskTemplate& task);

// A number that may be drawn: a value, a list, {min, max, step}, {values, weights} or {mean}.
bool read_draw(TableReader& table, std::string_view key, const NumberType& type, Draw& draw);

}  // namespace berth::sim
