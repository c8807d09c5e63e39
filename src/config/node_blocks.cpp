// See node_blocks.h.
#include "config/node_blocks.h"

#include <algorithm>

#include "config/mig_mode.h"
#include "core/model/ranges.h"
#include "core/packing/node_view.h"

namespace berth::config {
namespace {

constexpr std::int64_t kCoresMax = 1'000'000;
constexpr std::int64_t kGpusPerNodeMax = core::kNodeGpusMax;

// Reads a number that divides another, `whole`, which messages call `noun`. 0: it is not known.
void read_divisor(TableReader& table, std::string_view key, std::int64_t whole,
                  const std::string& noun, std::int64_t& out) {
  std::int64_t value = out;
  if (!table.number(key, value, integers(1, core::kNodesMax))) return;
  if (whole % value == 0) {
    out = value;
    return;
  }
  table.error(key, table.path_of(key) + ": " + std::to_string(value) + " does not divide " + noun +
                       ", " + std::to_string(whole));
}

void read_rack(TableReader& table, NodeBlock& block) {
  table.name("rack", block.rack);
  table.number("nodes_per_rack", block.nodes_per_rack, integers(1, core::kNodesMax));
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

// Asks for all that concerns GPUs, whether there are any or not.
void read_gpus(TableReader& table, NodeBlock& block) {
  table.number("gpus", block.gpus, integers(0, kGpusPerNodeMax));
  const bool has_gpus = block.gpus > 0;
  table.name("kind", block.kind);
  if (has_gpus) {
    table.required_number("vram", block.vram, vram_amounts(1));
  } else {
    table.number("vram", block.vram, vram_amounts(1));
  }
  table.number("speed", block.speed, thousandths(1, core::kSpeedMax));
  read_mig_mode(table, block.kind, block.vram, block.mig);
  block.island = block.gpus_per_socket = std::max<std::int64_t>(block.gpus, 1);
  read_divisor(table, "island", block.gpus, "the GPUs of a node", block.island);
  read_nodes_per_island(table, block);
  read_divisor(table, "gpus_per_socket", block.gpus, "the GPUs of a node", block.gpus_per_socket);
  block.gpus_per_switch = block.gpus_per_socket;
  read_divisor(table, "gpus_per_switch", has_gpus ? block.gpus_per_socket : 0,
               "the GPUs of a socket", block.gpus_per_switch);
  if (has_gpus || table.has("gpus")) return;
  for (const char* key : {"kind", "vram", "speed", "mig", "island", "nodes_per_island",
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
  if (nodes_per_island > 0) return nodes_per_island * gpus > 1 ? count / nodes_per_island : 0;
  return island > 1 ? count * (gpus / island) : 0;
}

std::optional<std::int64_t> NodeBlock::island_of(std::int64_t node, std::int64_t gpu) const {
  if (islands() == 0) return std::nullopt;
  if (nodes_per_island > 0) return node / nodes_per_island;
  return node * (gpus / island) + gpu / island;
}

core::GpuSpec NodeBlock::gpu_spec(std::int64_t gpu) const {
  core::GpuSpec spec;
  spec.vram = vram;
  spec.speed = speed;
  spec.mig = mig;
  spec.socket = static_cast<std::uint8_t>(gpu / gpus_per_socket);
  spec.pcie_switch = static_cast<std::uint8_t>(gpu / gpus_per_switch);
  return spec;
}

bool read_node_block(TableReader& table, NodeBlock& block) {
  const std::size_t errors = table.diagnostics().count();
  table.required_name("name", block.name);
  table.number("count", block.count, integers(1, core::kNodesMax));
  read_rack(table, block);
  table.number("cpu", block.cpu, thousandths(0, kCoresMax * 1000));
  table.number("memory", block.memory, memory_amounts());
  read_gpus(table, block);
  const bool gives_nothing = block.cpu.value == 0 && block.memory.value == 0 && block.gpus == 0;
  const bool means_to = table.has("cpu") || table.has_number("memory") || table.has("gpus");
  if (gives_nothing && !means_to) {
    table.error("name", table.path_of("name") + ": a node needs cpu, memory or gpus");
  }
  return table.diagnostics().count() == errors;
}

}  // namespace berth::config
