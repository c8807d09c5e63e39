// What a berth.v1.TaskSpec asks of the hardware, into the core's TaskSpec: GPUs, parts of them,
// CPUs, memory, and how they lie together. What is refused here no hardware could give.
//
// Pure: knows no cluster. Whether there are such GPUs is the core's to say, and whether a kind has
// that name the sequencer's, so gpu_kinds are only looked at, not resolved.
#pragma once

#include <vector>

#include "api/problem.h"
#include "berth/v1/task.pb.h"
#include "core/model/specs.h"

namespace berth::api {

// Fills in the fields of core/model/shape.h, but for kinds. Returns every flaw, under the field's
// own name; empty: there is none.
std::vector<FieldFlaw> read_task_shape(const v1::TaskSpec& spec, core::TaskSpec& task);

}  // namespace berth::api
