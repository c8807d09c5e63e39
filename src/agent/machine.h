// What this machine has for tasks: its CPUs and memory, as far as this process may use them.
//
// The kernel's affinity and the limits of control groups, version 1 and 2, count: in a container it
// is the container's part. Files that cannot be read limit nothing.
#pragma once

#include <cstdint>
#include <filesystem>

namespace berth::agent {

struct Machine {
  std::int64_t cpu_milli = 0;  // thousandths of a core
  std::int64_t memory_mb = 0;
  bool operator==(const Machine&) const = default;
};

Machine read_machine();

// The same for `whole`, with /proc and /sys elsewhere.
Machine within_limits(Machine whole, const std::filesystem::path& proc,
                      const std::filesystem::path& sys);

// MemTotal of a /proc/meminfo, in MiB; 0 if it says none.
std::int64_t total_memory_mb(const std::filesystem::path& proc);

}  // namespace berth::agent
