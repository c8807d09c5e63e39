// See hwloc.h.
#include "config/hwloc.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <utility>

#include "config/hwloc_document.h"
#include "core/packing/node_view.h"

namespace berth::config {
namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;
constexpr std::uint64_t kLinkedMax = 256;  // GPUs and NVSwitches

// ---- What is a GPU ------------------------------------------------------------------------------

// "0302 [10de:20b0] …": a display controller that NVIDIA made.
bool is_nvidia_display(const HwlocObject& pci) {
  return pci.pci_type.starts_with("03") && pci.pci_type.find("[10de:") != std::string::npos;
}

// What computing libraries call it; "card0" alone is the screen of a console.
bool is_computing_device(const HwlocObject& os) {
  return os.name.starts_with("cuda") || os.name.starts_with("nvml") ||
         os.name.starts_with("rsmi") || os.name.starts_with("ze");
}

std::string info_of(const HwlocObject& object, std::string_view name) {
  for (const HwlocInfo& info : object.infos) {
    if (info.name == name) return info.value;
  }
  return "";
}

class Reading {
 public:
  explicit Reading(const HwlocDocument& document) : document_(document) {}

  Result<HwlocNode> read() {
    count_amounts();
    find_gpus();
    if (gpus_.size() > core::kNodeGpusMax) {
      return Error{"it has " + std::to_string(gpus_.size()) + " GPUs; a node has at most " +
                   std::to_string(core::kNodeGpusMax)};
    }
    for (const std::size_t gpu : gpus_)
      node_.gpus.push_back(describe(gpu));
    number_sockets();
    number_switches();
    if (const Status found = find_islands(); !found) return found.error();
    return std::move(node_);
  }

 private:
  const HwlocObject& object(std::size_t i) const { return document_.objects[i]; }

  void count_amounts() {
    std::uint64_t bytes = 0;
    for (const HwlocObject& each : document_.objects) {
      if (each.type == "PU") node_.cpu += Milli{1000};
      // Memory of a GPU that the processor can address is still the GPU's.
      if (each.type == "NUMANode" && each.subtype != "GPUMemory") bytes += each.local_memory;
    }
    node_.memory = Mib{static_cast<std::int64_t>(bytes / kMiB)};
  }

  void find_gpus() {
    std::vector<bool> is_gpu(document_.objects.size());
    for (std::size_t i = 0; i < is_gpu.size(); ++i) {
      const HwlocObject& each = object(i);
      if (each.type == "PCIDev" && is_nvidia_display(each)) is_gpu[i] = true;
      const bool on_pci = each.parent != kNoParent && object(each.parent).type == "PCIDev";
      if (each.type == "OSDev" && on_pci && is_computing_device(each)) is_gpu[each.parent] = true;
    }
    for (std::size_t i = 0; i < is_gpu.size(); ++i)
      if (is_gpu[i]) gpus_.push_back(i);
    std::ranges::sort(gpus_, {}, [&](std::size_t i) { return std::pair(object(i).pci_busid, i); });
  }

  HwlocGpu describe(std::size_t pci) const {
    HwlocGpu gpu;
    gpu.pci = object(pci).pci_busid;
    for (const HwlocObject& each : document_.objects) {
      if (each.parent == kNoParent || &object(each.parent) != &object(pci)) continue;
      if (const std::string product = info_of(each, "GPUModel"); !product.empty()) {
        gpu.product = product;
      }
      const std::string kib = info_of(each, "CUDAGlobalMemorySize");
      std::int64_t amount = 0;
      std::from_chars(kib.data(), kib.data() + kib.size(), amount);
      if (amount > 0) gpu.vram = Mib{amount / 1024};
    }
    return gpu;
  }

  // ---- Where it sits
  // ------------------------------------------------------------------------------

  // Numbers in the order in which they are first asked for.
  static std::uint8_t number_of(std::map<std::size_t, std::uint8_t>& numbers, std::size_t key) {
    return numbers.emplace(key, static_cast<std::uint8_t>(numbers.size())).first->second;
  }

  // GPUs of which hwloc does not say where they hang are together on one that has no other.
  void number_sockets() {
    std::map<std::size_t, std::uint8_t> sockets;
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      std::size_t at = gpus_[i];
      while (at != kNoParent && object(at).type != "Package")
        at = object(at).parent;
      node_.gpus[i].socket = number_of(sockets, at);
    }
  }

  // The switch of a GPU is the nearest bridge inside PCI that leads to another GPU as well.
  void number_switches() {
    std::map<std::size_t, std::size_t> below;  // GPUs
    for (const std::size_t gpu : gpus_) {
      for (std::size_t at = object(gpu).parent; at != kNoParent; at = object(at).parent)
        ++below[at];
    }
    std::map<std::size_t, std::uint8_t> switches;
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      std::size_t at = object(gpus_[i]).parent;
      while (at != kNoParent && !(object(at).bridge_type == "1-1" && below[at] > 1))
        at = object(at).parent;
      node_.gpus[i].pcie_switch = number_of(switches, at == kNoParent ? gpus_[i] : at);
    }
  }

  // ---- NVLink
  // -------------------------------------------------------------------------------------

  Status find_islands() {
    std::vector<std::size_t> group(document_.objects.size());
    std::iota(group.begin(), group.end(), std::size_t{0});
    for (const HwlocDistances& matrix : document_.distances) {
      if (matrix.name != "NVLinkBandwidth") continue;
      if (const Status joined = join(matrix, group); !joined) return joined;
    }
    std::map<std::size_t, std::vector<std::size_t>> islands;  // places of GPUs
    for (std::size_t i = 0; i < gpus_.size(); ++i)
      islands[root_of(group, gpus_[i])].push_back(i);
    for (const auto& [root, places] : islands) {
      if (places.size() < 2) continue;
      for (const std::size_t place : places)
        node_.gpus[place].island = node_.islands;
      ++node_.islands;
    }
    return Done{};
  }

  static std::size_t root_of(std::vector<std::size_t>& group, std::size_t i) {
    while (group[i] != i)
      i = group[i] = group[group[i]];
    return i;
  }

  // An NVSwitch stands in the matrix as well, and joins those it is linked to. So do processors
  // that speak NVLink, which join nobody.
  Status join(const HwlocDistances& matrix, std::vector<std::size_t>& group) const {
    const auto broken = [&](const std::string& how) {
      return Error{"line " + std::to_string(matrix.line) + ": the distances \"" + matrix.name +
                   "\" " + how};
    };
    if (matrix.objects > kLinkedMax) return broken("are between more objects than a node has");
    const std::vector<std::uint64_t> indexes = numbers_in(matrix.indexes);
    const std::vector<std::uint64_t> values = numbers_in(matrix.values);
    const std::size_t count = indexes.size();
    if (count != matrix.objects || values.size() != count * count) {
      return broken("do not have as many numbers as objects");
    }
    std::vector<std::size_t> devices;
    for (const std::uint64_t index : indexes) {
      devices.push_back(device_of(index));
      if (devices.back() == kNoParent) {
        return broken("name object " + std::to_string(index) + ", which is not there");
      }
    }
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = 0; b < count; ++b) {
        if (a == b || values[a * count + b] == 0) continue;
        if (object(devices[a]).type != "PCIDev" || object(devices[b]).type != "PCIDev") continue;
        group[root_of(group, devices[a])] = root_of(group, devices[b]);
      }
    }
    return Done{};
  }

  // An OS device stands for the PCI device it belongs to.
  std::size_t device_of(std::uint64_t gp_index) const {
    for (std::size_t i = 0; i < document_.objects.size(); ++i) {
      if (object(i).gp_index != gp_index) continue;
      return object(i).type == "OSDev" && object(i).parent != kNoParent ? object(i).parent : i;
    }
    return kNoParent;
  }

  // "OSDev:45 OSDev:52" and "45 52" alike.
  static std::vector<std::uint64_t> numbers_in(std::string_view text) {
    std::vector<std::uint64_t> numbers;
    while (!text.empty()) {
      const std::size_t digits = text.find_first_of("0123456789");
      if (digits == std::string_view::npos) break;
      text.remove_prefix(digits);
      std::uint64_t value = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
      text.remove_prefix(static_cast<std::size_t>(end - text.data()));
      numbers.push_back(error == std::errc{} ? value : UINT64_MAX);
    }
    return numbers;
  }

  const HwlocDocument& document_;
  HwlocNode node_;
  std::vector<std::size_t> gpus_;  // PCI devices
};

}  // namespace

Result<HwlocNode> read_hwloc(std::string_view xml) {
  const Result<HwlocDocument> document = parse_hwloc(xml);
  if (!document) return document.error();
  if (document->objects.empty()) return Error{"it describes no machine"};
  return Reading(*document).read();
}

}  // namespace berth::config
