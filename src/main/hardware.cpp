// See hardware.h.
#include "main/hardware.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "config/model_room.h"
#include "core/mig/profiles.h"

namespace berth::main {
namespace {

constexpr const char* kOwnNode = "local";

std::string lower(std::string text) {
  for (char& c : text)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

std::vector<agent::ClassSpeed> speeds_of(const config::SpeedByClass& speeds) {
  std::vector<agent::ClassSpeed> result;
  for (const config::NamedSpeed& its : speeds)
    result.push_back({its.work_class, static_cast<std::uint32_t>(its.speed.value)});
  return result;
}

void take_speeds(const std::vector<config::KindSpeed>& kinds,
                 std::vector<agent::GpuDescription>& gpus) {
  for (agent::GpuDescription& gpu : gpus) {
    const auto kind = std::ranges::find(kinds, gpu.kind, &config::KindSpeed::name);
    if (kind == kinds.end()) continue;
    if (kind->speed) gpu.speed_milli = static_cast<std::uint32_t>(kind->speed->value);
    gpu.speed_by_class = speeds_of(kind->speed_by_class);
  }
}

std::vector<agent::GpuDescription> simulated_gpus(const config::GpuSection& section) {
  std::vector<agent::GpuDescription> gpus;
  for (const config::GpuBlock& block : section.simulated) {
    for (std::int64_t i = 0; i < block.count; ++i) {
      agent::GpuDescription gpu;
      gpu.name = block.name_of(i);
      gpu.uuid = "SIM-" + lower(gpu.name);
      gpu.kind = block.kind;
      gpu.vram_mb = block.vram.value;
      gpu.speed_milli = static_cast<std::uint32_t>(block.speed.value);
      gpu.speed_by_class = speeds_of(block.speed_by_class);
      gpu.simulated = true;
      gpus.push_back(std::move(gpu));
    }
  }
  return gpus;
}

// Real ones that were asked for are never replaced by simulated ones.
Result<std::vector<agent::GpuDescription>> gpus_for(const config::GpuSection& section,
                                                    std::string& why_simulated) {
  if (section.source == config::GpuSource::simulated) return simulated_gpus(section);
  Result<std::vector<agent::GpuDescription>> found = agent::find_gpus();
  if (found) {
    take_speeds(section.kinds, *found);
    return found;
  }
  if (section.source == config::GpuSource::nvidia_smi) {
    return Error{"gpus.source is \"nvidia-smi\", and it shows no GPU here. " +
                 found.error().message +
                 " Mend the driver or the PATH, or set gpus.source to \"simulated\"."};
  }
  why_simulated = found.error().message;
  return simulated_gpus(section);
}

void add_gpus(const config::NodeBlock& block, std::int64_t node, Hardware& hardware) {
  for (std::int64_t i = 0; i < block.gpus; ++i) {
    const core::GpuSpec spec = block.gpu_spec(i);
    agent::GpuDescription gpu;
    gpu.node = block.name_of(node);
    gpu.name = gpu.node + "/" + std::to_string(i);
    gpu.uuid = "SIM-" + gpu.name;
    gpu.kind = block.kind;
    gpu.vram_mb = spec.vram.value;
    gpu.speed_milli = static_cast<std::uint32_t>(spec.speed.value);
    gpu.speed_by_class = speeds_of(block.speed_by_class);
    gpu.simulated = true;
    gpu.socket = spec.socket;
    gpu.pcie_switch = spec.pcie_switch;
    if (const auto island = block.island_of(node, i))
      gpu.island = block.name + "/island-" + std::to_string(*island);
    if (spec.mig != core::mig::Geometry::none) gpu.mig = core::mig::name_of(spec.mig);
    hardware.gpus.push_back(std::move(gpu));
  }
}

// A GPU has the place that the topology gives its PCI address.
void take_places(const config::HwlocNode& topology, Hardware& hardware) {
  for (agent::GpuDescription& gpu : hardware.gpus) {
    const auto found = std::ranges::find(topology.gpus, gpu.pci, &config::HwlocGpu::pci);
    if (gpu.pci.empty() || found == topology.gpus.end()) {
      hardware.remarks.push_back("node.topology does not have GPU " + gpu.name +
                                 (gpu.pci.empty() ? "" : " at " + gpu.pci) +
                                 "; where it sits is not known");
      continue;
    }
    gpu.socket = found->socket;
    gpu.pcie_switch = found->pcie_switch;
    gpu.island = found->island ? "island-" + std::to_string(*found->island) : "";
  }
}

// Where GPUs were found: a kind that none of them is of may be misspelt.
void remark_on_kinds(const std::vector<config::KindSpeed>& kinds, Hardware& hardware) {
  std::vector<std::string> found;
  for (const agent::GpuDescription& gpu : hardware.gpus)
    found.push_back(gpu.kind);
  for (const config::KindSpeed& kind : kinds) {
    if (hardware.is_simulated() || std::ranges::find(found, kind.name) != found.end()) continue;
    hardware.remarks.push_back("gpus.kinds has speeds of the kind " + config::quoted(kind.name) +
                               ", and no GPU is of it" + config::suggestion(kind.name, found));
  }
}

void remark_on_classes(const config::Catalog<config::Queue>& queues, Hardware& hardware) {
  std::vector<std::string> known;
  for (const agent::GpuDescription& gpu : hardware.gpus)
    for (const agent::ClassSpeed& its : gpu.speed_by_class)
      known.push_back(its.work_class);
  std::ranges::sort(known);
  known.erase(std::ranges::unique(known).begin(), known.end());
  for (std::size_t i = 0; i < queues.size(); ++i) {
    std::string remark =
        config::remark_on_class(queues.names[i], queues.specs[i].work_class, known);
    if (!remark.empty()) hardware.remarks.push_back(std::move(remark));
  }
}

// Its tasks are refused until a larger GPU joins; more likely a unit is wrong.
void remark_on_models(const config::ServerConfig& config, Hardware& hardware) {
  config::LargestGpu largest;
  for (const agent::GpuDescription& gpu : hardware.gpus) {
    if (gpu.mig.empty()) largest.consider(gpu.name, Mib{gpu.vram_mb}, config.policy.vram_usable);
  }
  for (std::size_t i = 0; !hardware.gpus.empty() && i < config.models.size(); ++i) {
    std::string flaw =
        config::flaw_in_size(config.models.names[i], config.models.specs[i], largest);
    if (!flaw.empty()) hardware.remarks.push_back(std::move(flaw));
  }
}

std::string cores(std::int64_t milli) {
  return std::to_string(milli / 1000) +
         (milli % 1000 == 0 ? "" : "." + std::to_string(milli % 1000 / 100)) + " CPUs";
}

std::string gigabytes(std::int64_t mib) { return std::to_string(mib / 1024) + " GB"; }

std::string block_line(const config::NodeBlock& block) {
  std::string line = block.name_of(0);
  if (block.count > 1) line += " to " + block.name_of(block.count - 1);
  line += ": " + cores(block.cpu.value) + ", " + gigabytes(block.memory.value);
  if (block.gpus > 0) {
    line += ", " + std::to_string(block.gpus) + " × " + block.kind + " (" +
            gigabytes(block.vram.value) + (block.mig == core::mig::Geometry::none ? ")" : ", MIG)");
  }
  return line + (block.count > 1 ? " each" : "");
}

}  // namespace

Hardware described_nodes(const std::vector<config::NodeBlock>& blocks) {
  Hardware hardware;
  for (const config::NodeBlock& block : blocks) {
    for (std::int64_t i = 0; i < block.count; ++i) {
      agent::NodeDescription& node = hardware.nodes.emplace_back();
      node.name = block.name_of(i);
      node.rack = block.rack_of(i);
      node.cpu_milli = block.cpu.value;
      node.memory_mb = block.memory.value;
      add_gpus(block, i, hardware);
    }
  }
  return hardware;
}

// A tenth of the memory is left to the server and the system, as of VRAM.
Hardware own_node(const config::NodeSection& section, const agent::Machine& machine,
                  std::vector<agent::GpuDescription> gpus) {
  Hardware hardware;
  hardware.gpus = std::move(gpus);
  agent::NodeDescription& node = hardware.nodes.emplace_back();
  node.name = kOwnNode;
  node.rack = section.rack;
  node.cpu_milli = section.cpu ? section.cpu->value : machine.cpu_milli;
  node.memory_mb = section.memory ? section.memory->value : machine.memory_mb / 10 * 9;
  if (section.hardware) take_places(*section.hardware, hardware);
  for (agent::GpuDescription& gpu : hardware.gpus) {
    // Names of islands are the cluster's; two GPUs that differ are not one, whatever a file says.
    if (!gpu.island.empty())
      gpu.island =
          kOwnNode + ("/" + gpu.island) + "/" + gpu.kind + "-" + std::to_string(gpu.vram_mb);
  }
  return hardware;
}

Result<Hardware> hardware_for(const config::ServerConfig& config) {
  Hardware hardware;
  if (!config.nodes.empty()) {
    hardware = described_nodes(config.nodes);
  } else {
    std::string why_simulated;
    Result<std::vector<agent::GpuDescription>> gpus = gpus_for(config.gpus, why_simulated);
    if (!gpus) return gpus.error();
    hardware = own_node(config.node, agent::read_machine(), std::move(*gpus));
    hardware.why_simulated = std::move(why_simulated);
  }
  remark_on_kinds(config.gpus.kinds, hardware);
  remark_on_classes(config.queues, hardware);
  remark_on_models(config, hardware);
  return hardware;
}

std::string listing(const Hardware& hardware, const config::ServerConfig& config) {
  std::string text;
  for (const config::NodeBlock& block : config.nodes)
    text += (text.empty() ? "  nodes " : "        ") + block_line(block) + "\n";
  if (!config.nodes.empty()) {
    return text + "  GPUs  " + std::to_string(hardware.gpus.size()) +
           ", all simulated, as configured\n";
  }
  text = "  node  " + cores(hardware.nodes.front().cpu_milli) + ", " +
         gigabytes(hardware.nodes.front().memory_mb) + " of memory\n  GPUs  ";
  for (const agent::GpuDescription& gpu : hardware.gpus) {
    text += (&gpu == &hardware.gpus.front() ? "" : ", ") + gpu.name + " (" + gpu.kind + ", " +
            gigabytes(gpu.vram_mb) + ")";
  }
  if (!hardware.is_simulated()) return text + "\n";
  return text + ", all simulated" +
         (hardware.why_simulated.empty()
              ? ", as configured\n"
              : ": no real one was found. " + hardware.why_simulated + "\n");
}

}  // namespace berth::main
