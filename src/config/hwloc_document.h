// The objects of an hwloc XML as a list, each with its parent; and its matrices of distances.
//
// Only how the file is written; what the objects mean is in hwloc.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::config {

inline constexpr std::size_t kNoParent = SIZE_MAX;

struct HwlocInfo {
  std::string name;
  std::string value;
};

struct HwlocObject {
  std::size_t parent = kNoParent;  // before it in the list
  std::string type;
  std::string name;  // of an OS device
  std::string subtype;
  std::string pci_busid;
  std::string pci_type;            // "0302 [10de:20b0] …": class, maker, product
  std::string bridge_type;         // "0-1": to the processor; "1-1": inside PCI
  std::uint64_t gp_index = 0;      // by which distances name it
  std::uint64_t local_memory = 0;  // bytes
  std::vector<HwlocInfo> infos;
};

struct HwlocDistances {
  std::string name;  // "NVLinkBandwidth"
  std::uint32_t line = 0;
  std::uint64_t objects = 0;
  std::string indexes;  // numbers, each perhaps with "OSDev:" before it
  std::string values;   // objects × objects numbers
};

struct HwlocDocument {
  std::vector<HwlocObject> objects;
  std::vector<HwlocDistances> distances;
};

// An error names the line.
Result<HwlocDocument> parse_hwloc(std::string_view xml);

}  // namespace berth::config
