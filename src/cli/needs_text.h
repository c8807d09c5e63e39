// What a task asks of the hardware, in the words of a person.
#pragma once

#include <string>

#include "berth/v1/task.pb.h"

namespace berth::cli {

// "16 GPUs of kind h100 in 2 groups, each within one island, 32 CPUs, 128GB of memory"; "": one
// whole GPU and nothing else.
std::string needs_text(const v1::TaskSpec& spec);

}  // namespace berth::cli
