// See node_blocks.h.
#include "config/node_blocks.h"

#include <algorithm>

#include "base/gpu_kind.h"
#include "config/mig_mode.h"
#include "core/model/ranges.h"
#include "core/packing/node_view.h"

namespace berth::config {
namespace {

constexpr std::int64_t kCoresMax = 1'000'000;
constexpr std::int64_t kGpusPerNodeMax = core::kNodeGpusMax;

// Reads a number that divides another, `whole`, which messages call `noun`. Not given: as it was.
void read_divisor(TableReader& table, std::string_view key, std::int64_t whole,
                  const std::string& noun, std::int64_t& out) {
  std::optional<std::int64_t> value;
  if (!table.number(key, value, integers(1, core::kNodesMax))) return;
  if (whole % *value == 0) {
    out = *value;
    return;
  }
  table.error(key, table.path_of(key) + ": " + std::to_string(*value) + " does not divide " + noun +
                       ", " + std::to_string(whole));
}

void read_rack(TableReader& table, NodeBlock& block) {
  std::string rack;
  if (table.name("rack", rack)) block.rack = rack;
  std::optional<std::int64_t> nodes_per_rack;
  table.number("nodes_per_rack", nodes_per_rack, integers(1, core::kNodesMax));
  block.nodes_per_rack = nodes_per_rack.value_or(0);
  if (table.has("rack") && table.has("nodes_per_rack")) {
    table.error("nodes_per_rack", table.path_of("nodes_per_rack") + ": already given as rack");
  }
}

// Islands of whole nodes lie in one rack, and all are of one size.
void read_nodes_per_island(TableReader& table, NodeBlock& block) {
  read_divisor(table, "nodes_per_island", block.count, "the count of nodes",
               block.nodes_per_island);
  if (block.nodes_per_island == 0) return;
  if (table.has("island")) {
    table.error("nodes_per_island",
                table.path_of("nodes_per_island") + ": already given as island");
  }
  if (block.nodes_per_rack > 0 && block.nodes_per_rack % block.nodes_per_island != 0) {
    table.error("nodes_per_island",
                table.path_of("nodes_per_island") + ": an island lies in one rack, and " +
                    std::to_string(block.nodes_per_island) + " does not divide nodes_per_rack, " +
                    std::to_string(block.nodes_per_rack));
  }
}

// What a topology says already.
constexpr const char* kGivenByTopology[] = {"gpus", "island", "nodes_per_island", "gpus_per_socket",
                                            "gpus_per_switch"};

// The kind that all GPUs of a topology have; "" if it does not say.
std::string kind_in(TableReader& table, const HwlocNode& hardware) {
  std::string kind;
  for (const HwlocGpu& gpu : hardware.gpus) {
    const std::string its = gpu.product.empty() ? "" : gpu_kind(gpu.product);
    if (&gpu != &hardware.gpus.front() && its != kind) {
      table.error("topology", table.path_of("topology") + ": GPU " + gpu.pci + " is of kind " +
                                  quoted(its) + ", the first of kind " + quoted(kind) +
                                  "; the GPUs of a block are of one kind, so give it as kind");
      return "";
    }
    kind = its;
  }
  return kind;
}

// The amount that all GPUs of a topology have at least; 0 if it does not say.
Mib vram_in(const HwlocNode& hardware) {
  Mib least = hardware.gpus.empty() ? Mib{0} : hardware.gpus.front().vram;
  for (const HwlocGpu& gpu : hardware.gpus)
    least = std::min(least, gpu.vram);
  return least;
}

void take_topology(TableReader& table, const HwlocNode& hardware, NodeBlock& block) {
  for (const char* key : kGivenByTopology) {
    if (table.has(key)) table.error(key, table.path_of(key) + ": already given by topology");
  }
  block.hardware = hardware;
  block.cpu = hardware.cpu;
  block.memory = hardware.memory;
  block.gpus = static_cast<std::int64_t>(hardware.gpus.size());
  block.vram = vram_in(hardware);
  if (!table.has("kind")) {
    if (const std::string kind = kind_in(table, hardware); !kind.empty()) block.kind = kind;
  }
}

// What a block says of its GPUs beside their number.
void read_kind(TableReader& table, NodeBlock& block) {
  std::string kind;
  if (table.name("kind", kind)) block.kind = kind;
  std::optional<Mib> vram;
  if (block.gpus > 0 && block.vram.value == 0) {
    table.required_number("vram", vram, vram_amounts(1));
  } else {
    table.number("vram", vram, vram_amounts(1));
  }
  if (vram) block.vram = *vram;
  std::optional<Milli> speed;
  table.number("speed", speed, thousandths(1, core::kSpeedMax));
  if (speed) block.speed = *speed;
  read_speed_by_class(table, block.speed_by_class);
}

// Asks for all that concerns GPUs, whether there are any or not.
void read_gpus(TableReader& table, NodeBlock& block) {
  std::optional<std::int64_t> gpus;
  table.number("gpus", gpus, integers(0, kGpusPerNodeMax));
  if (gpus && !block.hardware) block.gpus = *gpus;
  read_kind(table, block);
  block.island = block.gpus_per_socket = std::max<std::int64_t>(block.gpus, 1);
  read_divisor(table, "island", block.gpus, "the GPUs of a node", block.island);
  read_nodes_per_island(table, block);
  read_divisor(table, "gpus_per_socket", block.gpus, "the GPUs of a node", block.gpus_per_socket);
  block.gpus_per_switch = block.gpus_per_socket;
  read_divisor(table, "gpus_per_switch", block.gpus > 0 ? block.gpus_per_socket : 0,
               "the GPUs of a socket", block.gpus_per_switch);
  if (block.gpus > 0 || table.has("gpus")) return;
  for (const char* key : {"kind", "vram", "speed", "speed_by_class", "island", "nodes_per_island",
                          "gpus_per_socket", "gpus_per_switch"}) {
    if (table.has_number(key)) table.error(key, table.path_of(key) + ": needs gpus");
  }
}

}  // namespace

std::string NodeBlock::name_of(std::int64_t node) const {
  return count == 1 ? name : name + "-" + std::to_string(node);
}

std::string NodeBlock::rack_of(std::int64_t node) const {
  if (nodes_per_rack == 0) return rack;
  return name + "-rack-" + std::to_string(node / nodes_per_rack);
}

std::int64_t NodeBlock::islands() const {
  if (hardware) return count * hardware->islands;
  if (nodes_per_island > 0) return nodes_per_island * gpus > 1 ? count / nodes_per_island : 0;
  return island > 1 ? count * (gpus / island) : 0;
}

std::optional<std::int64_t> NodeBlock::island_of(std::int64_t node, std::int64_t gpu) const {
  if (islands() == 0) return std::nullopt;
  if (hardware) {
    const auto its = hardware->gpus[static_cast<std::size_t>(gpu)].island;
    if (!its) return std::nullopt;
    return node * hardware->islands + *its;
  }
  if (nodes_per_island > 0) return node / nodes_per_island;
  return node * (gpus / island) + gpu / island;
}

core::GpuSpec NodeBlock::gpu_spec(std::int64_t gpu) const {
  core::GpuSpec spec;
  spec.vram = vram;
  spec.speed = speed;
  spec.mig = mig;
  if (hardware) {
    spec.socket = hardware->gpus[static_cast<std::size_t>(gpu)].socket;
    spec.pcie_switch = hardware->gpus[static_cast<std::size_t>(gpu)].pcie_switch;
    return spec;
  }
  spec.socket = static_cast<std::uint8_t>(gpu / gpus_per_socket);
  spec.pcie_switch = static_cast<std::uint8_t>(gpu / gpus_per_switch);
  return spec;
}

std::optional<HwlocNode> read_topology(TableReader& table, const FileSource& files) {
  std::string file;
  if (!table.name("topology", file)) return std::nullopt;
  const std::string path = file.starts_with('/') ? file : files.folder + file;
  const auto error = [&](const std::string& why) {
    table.error("topology", table.path_of("topology") + ": " + why);
  };
  std::string problem;
  const std::optional<std::string> xml = files.read(path, problem);
  if (!xml) {
    error("cannot read " + quoted(path) + ": " + problem);
    return std::nullopt;
  }
  Result<HwlocNode> hardware = read_hwloc(*xml);
  if (!hardware) {
    error(quoted(path) + " is no topology of hwloc: " + hardware.error().message);
    return std::nullopt;
  }
  return std::move(*hardware);
}

bool read_node_block(TableReader& table, const FileSource& files, NodeBlock& block) {
  const std::size_t errors = table.diagnostics().count();
  table.required_name("name", block.name);
  table.number("count", block.count, integers(1, core::kNodesMax));
  read_rack(table, block);
  const std::optional<HwlocNode> hardware = read_topology(table, files);
  if (hardware) take_topology(table, *hardware, block);
  std::optional<Milli> cpu;
  table.number("cpu", cpu, thousandths(0, kCoresMax * 1000));
  if (cpu) block.cpu = *cpu;
  std::optional<Mib> memory;
  table.number("memory", memory, memory_amounts());
  if (memory) block.memory = *memory;
  read_gpus(table, block);
  read_mig_mode(table, block.kind, block.vram, block.mig);
  if (block.mig != core::mig::Geometry::none && block.gpus == 0) {
    table.error("mig", table.path_of("mig") + ": needs gpus");
  }
  const bool gives_nothing = block.cpu.value == 0 && block.memory.value == 0 && block.gpus == 0;
  const bool means_to =
      table.has("cpu") || table.has_number("memory") || table.has("gpus") || table.has("topology");
  if (gives_nothing && !means_to) {
    table.error("name", table.path_of("name") + ": a node needs cpu, memory or gpus");
  }
  return table.diagnostics().count() == errors;
}

}  // namespace berth::config
