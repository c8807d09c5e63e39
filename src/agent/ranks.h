// The ranks of a gang: the processes that run its command here, and what each is told of the
// others.
//
// One process for each GPU, or one for each node that sees all of the gang's GPUs there. The names
// are those that PyTorch, DeepSpeed and others read. Of CUDA_VISIBLE_DEVICES, which lists the
// gang's GPUs on the rank's node, LOCAL_RANK is the rank's own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "agent/intent.h"
#include "berth/v1/agent.pb.h"

namespace berth::agent {

enum class RankRule : std::uint8_t { by_gpu, by_node };

// `device_of` gives a GPU as CUDA_VISIBLE_DEVICES takes it, by its UUID.
std::vector<RankIntent> ranks_of(const berth::v1::Gang& gang, RankRule rule, std::uint32_t port,
                                 const std::function<std::string(const std::string&)>& device_of);

// A TCP port that nobody listens on now. 0: there is none.
std::uint32_t find_free_port();

}  // namespace berth::agent
