// The simulated executor: how long a batch would take, and what its tasks give back.
//
// Pure functions of a lease; they do no work and read no clock.
#pragma once

#include <string>

#include "base/time.h"
#include "berth/v1/agent.pb.h"

namespace berth::agent {

// What the queue says of its batches, a + b·n; else the longest that a task declares. Both are
// times of a GPU of speed 1000 and are divided by this one's, for the lease's class of work. Else
// what the server expects of the whole batch, which knows the GPU already. `time_scale` multiplies
// the sum.
Duration simulated_duration(const berth::v1::Lease& lease, std::uint32_t speed_milli,
                            double time_scale);

// The same for each task of the batch, in JSON.
std::string simulated_result(const berth::v1::Lease& lease, const std::string& gpu, Duration ran);

}  // namespace berth::agent
