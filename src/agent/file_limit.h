// How many files this process may have open. The agent needs one for each command that runs, which
// is more than the usual soft limit allows; commands are given back the limit that was.
#pragma once

#include <cstdint>

namespace berth::agent {

// Raises the soft limit to the hard one. Returns what it was; 0 if it cannot be read.
std::uint64_t raise_file_limit();

}  // namespace berth::agent
