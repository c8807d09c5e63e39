// Where the real GPUs of a machine sit, as the kernel and nvidia-smi tell it: sockets, PCIe
// switches, NVLink. What they do not tell stays as it was.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "agent/devices.h"

namespace berth::agent {

// Socket and switch, by PCI address, from a /sys. A switch is the nearest bridge that leads to
// another GPU as well; a GPU that shares none has one of its own.
void find_slots(std::vector<GpuDescription>& gpus, const std::filesystem::path& sys);

// Islands from what `nvidia-smi topo -m` prints: GPUs that NVLink joins, directly or through
// others, of one kind and size.
void find_islands(std::vector<GpuDescription>& gpus, std::string_view matrix);

}  // namespace berth::agent
