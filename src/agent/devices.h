// The GPUs of a node: which there are, and how they are.
//
// Real ones are seen through nvidia-smi, which is run with a time limit and never by the loop.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace berth::agent {

struct ClassSpeed {
  std::string work_class;
  std::uint32_t speed_milli = 1000;
  bool operator==(const ClassSpeed&) const = default;
};

struct GpuDescription {
  std::string uuid;
  std::string name;  // for people: "a100-0"
  std::string kind;  // "A100"
  std::int64_t vram_mb = 0;
  std::uint32_t speed_milli = 1000;  // 1000: an A100
  bool simulated = false;
  std::string node = {};          // where it is; empty: on the agent's own
  std::uint32_t socket = 0;       // numbered inside the node
  std::uint32_t pcie_switch = 0;  // likewise
  std::string island = {};  // NVLink joins those that name the same one; empty: joined to none
  std::string pci = {};     // "0000:07:00.0"; empty: not known
  std::int64_t index = -1;  // by nvidia-smi; -1: it has none
  std::string mig = {};     // how it is cut in MIG mode; empty: it is not
  std::vector<ClassSpeed> speed_by_class = {};  // for work of these classes, instead of speed_milli
  bool operator==(const GpuDescription&) const = default;
};

// How a GPU is. -1: not known.
struct GpuReadings {
  std::string uuid;
  std::int64_t used_mb = -1;
  std::int32_t utilisation_percent = -1;
  std::int32_t temperature_c = -1;
  std::int32_t power_w = -1;
  bool operator==(const GpuReadings&) const = default;
};

// Two A100 of 40 GB and one L4 of 24 GB.
std::vector<GpuDescription> simulated_gpus();

// What nvidia-smi lists, at least one, and where each sits (places.h). An error: it is not on the
// PATH, fails or lists none.
Result<std::vector<GpuDescription>> find_gpus();

// Runs nvidia-smi. Takes no longer than `limit`.
Result<std::vector<GpuReadings>> read_gpus(Duration limit);

// The columns asked for, and the readers of what comes back. A line that cannot be read is left
// out: one odd GPU must not hide the others.
std::string_view smi_gpu_columns();
std::vector<GpuDescription> parse_smi_gpus(std::string_view text);
std::string_view smi_reading_columns();
std::vector<GpuReadings> parse_smi_readings(std::string_view text);

}  // namespace berth::agent
