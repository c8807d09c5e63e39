// See hello_check.h.
#include "service/hello_check.h"

#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "config/mig_mode.h"
#include "config/node_blocks.h"
#include "core/mig/profiles.h"
#include "core/model/ranges.h"
#include "core/topology/tree.h"

namespace berth::service {
namespace {

constexpr std::uint32_t kPartMax = 255;  // sockets and switches are counted in a byte

// Names in the order in which they come.
class Numbers {
 public:
  std::uint32_t of(const std::string& name) {
    return numbers_.emplace(name, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }
  std::string name(std::uint32_t number) const {
    for (const auto& [name, its] : numbers_)
      if (its == number) return name;
    return "?";
  }
  std::uint32_t count() const { return static_cast<std::uint32_t>(numbers_.size()); }

 private:
  std::map<std::string, std::uint32_t> numbers_;
};

std::string quoted(const std::string& name) { return "\"" + name + "\""; }

std::string flaw_in_protocol(const v1::Hello& hello) {
  if (hello.protocol_low() <= kAgentProtocol && hello.protocol_high() >= kAgentProtocol) return "";
  return "this server speaks version " + std::to_string(kAgentProtocol) +
         " of the agents' protocol, the agent " + std::to_string(hello.protocol_low()) + " to " +
         std::to_string(hello.protocol_high()) + "; upgrade the older of the two";
}

std::string flaw_in_nodes(const v1::Hello& hello) {
  std::set<std::string> named;
  for (const v1::Node& node : nodes_of(hello)) {
    if (node.name().empty()) return "the agent speaks for a node without a name";
    if (!named.insert(node.name()).second)
      return "the agent names node " + quoted(node.name()) + " twice";
    if (const char* expected = core::flaw_in(spec_of(node))) {
      return "the agent names node " + quoted(node.name()) + " with " +
             std::to_string(node.cpu_milli()) + "/1000 CPUs and " +
             std::to_string(node.memory_mb()) + " MiB of memory; expected " + expected;
    }
  }
  return "";
}

std::string flaw_in_speeds(const v1::Gpu& gpu) {
  std::set<std::string> named;
  for (const v1::ClassSpeed& its : gpu.speed_by_class()) {
    const std::string what =
        "the agent names GPU " + quoted(gpu.uuid()) + " with a speed for work of class ";
    if (its.work_class().empty()) return what + "\"\"; expected a name";
    if (!named.insert(its.work_class()).second) return what + quoted(its.work_class()) + " twice";
    if (its.speed_milli() < 1 || its.speed_milli() > core::kSpeedMax) {
      return what + quoted(its.work_class()) + " of " + std::to_string(its.speed_milli()) +
             "/1000; expected a speed in range";
    }
  }
  return "";
}

std::string flaw_in_gpus(const v1::Hello& hello) {
  std::set<std::string> nodes;
  for (const v1::Node& node : nodes_of(hello))
    nodes.insert(node.name());
  std::set<std::string> named;
  for (const v1::Gpu& gpu : hello.gpus()) {
    if (!named.insert(gpu.uuid()).second) {
      return "the agent names GPU " + quoted(gpu.uuid()) + " twice";
    }
    const core::GpuSpec spec = spec_of(gpu);
    if (const char* expected = core::flaw_in(spec)) {
      return "the agent names GPU " + quoted(gpu.uuid()) + " with " +
             std::to_string(gpu.vram_mb()) + " MiB and a speed of " +
             std::to_string(gpu.speed_milli()) + "/1000; expected " + expected;
    }
    if (std::string flaw = flaw_in_speeds(gpu); !flaw.empty()) return flaw;
    if (!gpu.mig().empty() && spec.mig == core::mig::Geometry::none) {
      return "the agent names GPU " + quoted(gpu.uuid()) + " as cut by " + quoted(gpu.mig()) +
             "; expected one of " + core::mig::names_of_geometries(~std::uint64_t{0});
    }
    if (const std::string flaw = config::flaw_in_mig(gpu.kind(), spec.vram, spec.mig);
        !flaw.empty()) {
      return "the agent names GPU " + quoted(gpu.uuid()) + " in MIG mode: " + flaw;
    }
    if (gpu.socket() > kPartMax || gpu.pcie_switch() > kPartMax) {
      return "the agent names GPU " + quoted(gpu.uuid()) + " on socket " +
             std::to_string(gpu.socket()) + " and PCIe switch " +
             std::to_string(gpu.pcie_switch()) + "; they are numbered from 0 to " +
             std::to_string(kPartMax) + " inside a node";
    }
    if (!nodes.contains(node_of(hello, gpu))) {
      return "the agent names GPU " + quoted(gpu.uuid()) + " on node " +
             quoted(node_of(hello, gpu)) + ", for which it does not speak";
    }
  }
  return "";
}

// The classes that queues and GPUs name now.
std::set<std::string> named_work_classes(const Names& names) {
  std::set<std::string> classes;
  for (std::size_t i = 0; i < names.work_classes().size(); ++i) {
    if ((names.named_work_classes() >> i & 1) != 0) classes.insert(names.work_classes()[i]);
  }
  return classes;
}

std::string flaw_in_counts(const Names& names, const v1::Hello& hello) {
  std::set<std::string> kinds, racks, islands, nodes, gpus;
  std::set<std::string> classes = named_work_classes(names);
  for (const v1::Gpu& gpu : hello.gpus()) {
    for (const v1::ClassSpeed& its : gpu.speed_by_class())
      classes.insert(its.work_class());
    if (!names.gpu(gpu.uuid())) gpus.insert(gpu.uuid());
    if (!names.kind(gpu.kind())) kinds.insert(gpu.kind());
    if (!gpu.island().empty() && !names.island(gpu.island())) islands.insert(gpu.island());
  }
  for (const v1::Node& node : nodes_of(hello)) {
    if (!names.node(node.name())) nodes.insert(node.name());
    if (!names.rack(node.rack())) racks.insert(node.rack());
  }
  const auto flaw = [](std::size_t known, std::size_t fresh, std::int64_t most, const char* noun) {
    if (known + fresh <= static_cast<std::size_t>(most)) return std::string();
    return "with this agent the cluster would have " + std::to_string(known + fresh) + " " + noun +
           "; at most " + std::to_string(most) + " are told apart";
  };
  for (std::string found :
       {flaw(names.next_kind().value, kinds.size(), core::kMaxKinds, "kinds of GPU"),
        flaw(0, classes.size(), core::kMaxWorkClasses, "classes of work"),
        flaw(names.next_node().value, nodes.size(), core::kNodesMax, "nodes"),
        flaw(names.gpus().size(), gpus.size(), core::kGpusMax, "GPUs"),
        flaw(names.next_rack().value, racks.size(), core::kNodesMax, "racks"),
        flaw(names.next_island().value, islands.size(), core::kGpusMax, "islands")}) {
    if (!found.empty()) return found;
  }
  return "";
}

// GPUs of one kind and size on a node: to the core a node of their own, in parts of at most kSlots.
using Cell = std::tuple<std::string, std::string, std::int64_t>;

core::HardwareTree tree_of(const v1::Hello& hello, Numbers& islands) {
  core::HardwareTree tree;
  Numbers racks;
  std::map<std::string, RackId> rack_of;
  for (const v1::Node& node : nodes_of(hello))
    rack_of[node.name()] = RackId{racks.of(node.rack())};
  tree.racks = racks.count();
  Numbers kinds;
  std::map<Cell, std::pair<std::uint32_t, NodeId>> cells;  // GPUs so far, the last part
  for (const v1::Gpu& gpu : hello.gpus()) {
    const std::string& node = node_of(hello, gpu);
    auto& [count, part] = cells[{node, gpu.kind(), gpu.vram_mb()}];
    const std::uint32_t place = count++ % core::kSlots;
    if (place == 0) {
      part = NodeId{static_cast<std::uint32_t>(tree.nodes.size())};
      tree.nodes.push_back({rack_of.at(node), {}, {}});
    }
    core::TreeGpu& leaf = tree.gpus.emplace_back();
    leaf.node = part;
    leaf.index = static_cast<std::uint8_t>(place);
    leaf.kind = KindId{kinds.of(gpu.kind() + "/" + std::to_string(gpu.vram_mb()))};
    leaf.socket = static_cast<std::uint16_t>(gpu.socket());
    leaf.pcie_switch = static_cast<std::uint16_t>(gpu.pcie_switch());
    if (!gpu.island().empty()) leaf.island = IslandId{islands.of(gpu.island())};
  }
  return tree;
}

// Links that contradict one another would be none to the core: better said at once.
std::string flaw_in_links(const v1::Hello& hello) {
  Numbers islands;
  const std::vector<core::Flaw> flaws = core::flaws_in(tree_of(hello, islands));
  if (flaws.empty()) return "";
  const core::Flaw& flaw = flaws.front();
  switch (flaw.code) {
    case core::FlawCode::mixed_kinds_in_island:
      return "NVLink joins GPUs of one kind and size, and island " +
             quoted(islands.name(flaw.island.value)) + " has others";
    case core::FlawCode::island_across_racks:
    case core::FlawCode::island_covers_part_of_node:
      return "an island lies inside one node or covers whole nodes of one rack, and island " +
             quoted(islands.name(flaw.island.value)) + " does neither";
    case core::FlawCode::switch_under_two_sockets: {
      const v1::Gpu& gpu = hello.gpus(static_cast<int>(flaw.gpu.value));
      return "PCIe switch " + std::to_string(flaw.number) + " of node " +
             quoted(node_of(hello, gpu)) + " hangs under two sockets";
    }
    default:
      return core::sentence(flaw);
  }
}

}  // namespace

std::vector<v1::Node> nodes_of(const v1::Hello& hello) {
  std::vector<v1::Node> nodes(hello.nodes().begin(), hello.nodes().end());
  if (nodes.empty()) nodes.emplace_back().set_name(hello.node());
  for (v1::Node& node : nodes) {
    if (node.rack().empty()) node.set_rack(config::kDefaultRack);
  }
  return nodes;
}

const std::string& node_of(const v1::Hello& hello, const v1::Gpu& gpu) {
  return gpu.node().empty() ? hello.node() : gpu.node();
}

core::GpuSpec spec_of(const v1::Gpu& gpu) {
  core::GpuSpec spec;
  spec.vram = Mib{gpu.vram_mb()};
  spec.speed = Milli{gpu.speed_milli() == 0 ? 1000 : gpu.speed_milli()};
  spec.socket = static_cast<std::uint8_t>(gpu.socket());
  spec.pcie_switch = static_cast<std::uint8_t>(gpu.pcie_switch());
  spec.mig = core::mig::geometry_named(gpu.mig());
  return spec;
}

core::NodeSpec spec_of(const v1::Node& node) {
  core::NodeSpec spec;
  spec.cpu = Milli{node.cpu_milli()};
  spec.memory = Mib{node.memory_mb()};
  return spec;
}

std::string flaw_in_hello(const Names& names, const v1::Hello& hello) {
  std::string flaw = flaw_in_protocol(hello);
  if (flaw.empty()) flaw = flaw_in_nodes(hello);
  if (flaw.empty()) flaw = flaw_in_gpus(hello);
  if (flaw.empty()) flaw = flaw_in_counts(names, hello);
  if (flaw.empty()) flaw = flaw_in_links(hello);
  return flaw;
}

}  // namespace berth::service
