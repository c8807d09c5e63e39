// The sections of a server's configuration that describe hardware: [gpus], [node], [cluster].
#include <cstdint>
#include <set>
#include <string>

#include "config/server_sections.h"
#include "core/model/ranges.h"

namespace berth::config {
namespace {

// Whether so many more of something still fit into a cluster; says so if not.
bool has_room(TableReader& table, std::int64_t have, std::int64_t more, std::int64_t most,
              const std::string& noun) {
  if (have + more <= most) return true;
  table.error("count", table.path_of("count") + ": a cluster has at most " + std::to_string(most) +
                           " " + noun);
  return false;
}

}  // namespace

void read_gpus(TableReader& table, GpuSection& gpus) {
  table.choice("source", gpu_source_names(), gpus.source);
  NameBook kinds("kind of GPU");
  for (TableReader& inner : table.blocks("kinds")) {
    KindSpeed& kind = gpus.kinds.emplace_back();
    inner.required_name("name", kind.name);
    inner.number("speed", kind.speed, thousandths(1, core::kSpeedMax));
    read_speed_by_class(inner, kind.speed_by_class);
    inner.finish();
    kinds.claim(kind.name, inner.origin_of("name"), "gpus.kinds.name", table.diagnostics());
  }
  NameBook names("GPU");
  std::int64_t total = 0;
  for (TableReader& inner : table.blocks("simulated")) {
    GpuBlock& block = gpus.simulated.emplace_back();
    read_gpu_block(inner, block);
    inner.finish();
    total += block.count;
    if (total > core::kGpusMax) {
      inner.error("count", "gpus.simulated.count: a cluster has at most " +
                               std::to_string(core::kGpusMax) + " GPUs");
      break;
    }
    const Origin at = inner.has("name") ? inner.origin_of("name") : inner.at();
    for (std::int64_t i = 0; i < block.count; ++i)
      names.claim(block.name_of(i), at, "gpus.simulated.name", table.diagnostics());
  }
  table.finish();
}

void read_node(TableReader& table, const FileSource& files, NodeSection& node) {
  table.number("cpu", node.cpu, thousandths(0, core::kCpuMax));
  table.number("memory", node.memory, memory_amounts());
  table.name("rack", node.rack);
  node.hardware = read_topology(table, files);
  table.finish();
}

void read_cluster(TableReader& table, const FileSource& files, std::vector<NodeBlock>& nodes) {
  NameBook names("node");
  std::set<std::string> kinds;
  std::int64_t count = 0;
  std::int64_t gpus = 0;
  for (TableReader& inner : table.blocks("nodes")) {
    NodeBlock block;
    const bool good = read_node_block(inner, files, block);
    inner.finish();
    if (!good) continue;
    if (!has_room(inner, count, block.count, core::kNodesMax, "nodes")) break;
    if (!has_room(inner, gpus, block.count * block.gpus, core::kGpusMax, "GPUs")) break;
    count += block.count;
    gpus += block.count * block.gpus;
    if (block.gpus > 0 && kinds.insert(block.kind).second && kinds.size() > core::kMaxKinds) {
      inner.error("kind", inner.path_of("kind") + ": a cluster has at most " +
                              std::to_string(core::kMaxKinds) + " kinds of GPU");
      break;
    }
    for (std::int64_t i = 0; i < block.count; ++i)
      names.claim(block.name_of(i), inner.origin_of("name"), "cluster.nodes.name",
                  table.diagnostics());
    nodes.push_back(std::move(block));
  }
  table.finish();
}

void check_hardware(TableReader& root, const ServerConfig& config) {
  TableReader gpus = root.table("gpus");
  const bool describes_nodes = root.table("cluster").has("nodes");
  if (gpus.has("kinds") && (describes_nodes || config.gpus.source == GpuSource::simulated)) {
    gpus.error("kinds", std::string("gpus.kinds: speeds of simulated GPUs stand in ") +
                            (describes_nodes ? "cluster.nodes" : "gpus.simulated"));
  }
  if (!describes_nodes) return;
  if (gpus.has("simulated")) {
    gpus.error("simulated", "gpus.simulated: the GPUs are already given as cluster.nodes");
  }
  if (config.gpus.source == GpuSource::nvidia_smi) {
    gpus.error("source",
               "gpus.source: the nodes of cluster.nodes are simulated, and \"nvidia-smi\" "
               "finds real GPUs; leave out one of the two");
  }
  TableReader node = root.table("node");
  for (const char* key : {"cpu", "memory", "rack", "topology"}) {
    if (!node.has_number(key)) continue;
    node.error(key, node.path_of(key) +
                        ": this machine is no node where cluster.nodes says which "
                        "nodes there are");
  }
}

}  // namespace berth::config
