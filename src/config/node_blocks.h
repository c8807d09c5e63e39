// Blocks that describe nodes: [[cluster.nodes]] of a scenario, or of whoever describes hardware.
//
// A block stands for one or several equal nodes, described by numbers or by the XML of hwloc. Here
// is how it is written and where each GPU sits in it; ids belong to the caller, who interns the
// names of nodes, racks, kinds and classes of work.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/units.h"
#include "config/fields.h"
#include "config/files.h"
#include "config/hwloc.h"
#include "config/work_class.h"
#include "core/model/specs.h"

namespace berth::config {

// The rack of nodes that name none.
inline constexpr const char* kDefaultRack = "rack";

struct NodeBlock {
  std::string name;
  std::int64_t count = 1;
  std::string rack = kDefaultRack;
  std::int64_t nodes_per_rack = 0;  // 0: all of them in `rack`
  Milli cpu{0};
  Mib memory{0};
  std::int64_t gpus = 0;  // of each node
  std::string kind = "gpu";
  Mib vram{0};
  Milli speed{1000};
  SpeedByClass speed_by_class;
  core::mig::Geometry mig = core::mig::Geometry::none;
  std::int64_t island = 1;            // GPUs of a node that NVLink joins; 1: none
  std::int64_t nodes_per_island = 0;  // above 0: whole nodes are joined instead
  std::int64_t gpus_per_socket = 1;
  std::int64_t gpus_per_switch = 1;
  std::optional<HwlocNode> hardware;  // given: where its GPUs sit, instead of the five above

  // `name`, or `name-i` if there are several.
  std::string name_of(std::int64_t node) const;
  // `rack`, or `name-rack-r`.
  std::string rack_of(std::int64_t node) const;
  // Islands of the block, and the one that a GPU of a node is in; none: it is joined to no other.
  std::int64_t islands() const;
  std::optional<std::int64_t> island_of(std::int64_t node, std::int64_t gpu) const;
  // What does not depend on the ids of its node, kind, island and classes of work.
  core::GpuSpec gpu_spec(std::int64_t gpu) const;

  bool operator==(const NodeBlock&) const = default;
};

// Where files that a description names are looked for.
struct FileSource {
  ReadFile read = read_whole_file;
  std::string folder = {};  // before names that do not begin with a slash
};

// The key `topology`: the XML of hwloc that it names. None: it is not given, or there is an error.
std::optional<HwlocNode> read_topology(TableReader& table, const FileSource& files);

// Asks for every key of a block; the caller may ask for keys of its own, and then calls `finish`.
// False: something is wrong, and the block must not be used.
bool read_node_block(TableReader& table, const FileSource& files, NodeBlock& block);

}  // namespace berth::config
