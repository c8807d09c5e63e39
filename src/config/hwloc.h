// A node as hwloc describes it: the XML that `lstopo node.xml` writes, version 2 of its format.
//
// Of a large format only what placement needs is read: processing units, memory, packages, PCI
// bridges, GPUs, and the NVLink bandwidths between them where hwloc has measured any. What does not
// concern that is passed over, so that other versions of hwloc 2 are read alike. No file is opened
// here and no entity is followed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace berth::config {

struct HwlocGpu {
  std::string pci;      // "0000:07:00.0"
  std::string product;  // "NVIDIA A100-SXM4-40GB"; "": hwloc was built without CUDA and NVML
  Mib vram{0};          // 0: likewise
  std::uint8_t socket = 0;
  std::uint8_t pcie_switch = 0;         // GPUs that share one have the same
  std::optional<std::uint32_t> island;  // joined by NVLink; none: to no other
  bool operator==(const HwlocGpu&) const = default;
};

struct HwlocNode {
  Milli cpu{0};
  Mib memory{0};
  std::vector<HwlocGpu> gpus;  // by PCI address, as CUDA and nvidia-smi number them
  std::uint32_t islands = 0;
  bool operator==(const HwlocNode&) const = default;
};

// An error names the line: "line 12: mismatched tag".
Result<HwlocNode> read_hwloc(std::string_view xml);

}  // namespace berth::config
