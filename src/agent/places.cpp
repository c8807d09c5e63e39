// See places.h.
#include "agent/places.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "agent/files.h"
#include "agent/records.h"

namespace berth::agent {
namespace {

using std::filesystem::path;

// Numbers in the order in which they are first asked for.
template <class Key>
std::uint32_t number_of(std::map<Key, std::uint32_t>& numbers, const Key& key) {
  return numbers.emplace(key, static_cast<std::uint32_t>(numbers.size())).first->second;
}

// -1 where the kernel does not know, as on machines with one.
std::int64_t numa_node_of(const path& device) {
  const Result<std::optional<std::string>> text = read_file_if_there(device / "numa_node");
  if (!text || !*text) return -1;
  std::string_view number = **text;
  while (number.ends_with('\n'))
    number.remove_suffix(1);
  return parse_number(number).value_or(-1);
}

// "/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0": the bridges above it are its parents, up to
// the first that is no address.
std::vector<path> bridges_above(const path& device) {
  std::vector<path> bridges;
  const auto is_address = [](const path& name) {
    const std::string text = name.filename().string();
    return text.size() == 12 && text[4] == ':' && text[7] == ':' && text[10] == '.';
  };
  for (path at = device.parent_path(); is_address(at); at = at.parent_path())
    bridges.push_back(at);
  return bridges;
}

std::vector<std::string_view> split_at_tabs(std::string_view line) {
  std::vector<std::string_view> cells;
  while (true) {
    const std::size_t end = line.find('\t');
    std::string_view cell = line.substr(0, end);
    while (cell.starts_with(' '))
      cell.remove_prefix(1);
    while (cell.ends_with(' '))
      cell.remove_suffix(1);
    cells.push_back(cell);
    if (end == std::string_view::npos) return cells;
    line.remove_prefix(end + 1);
  }
}

// Rows such as "GPU0\t X \tNV12\tPXB\t…": one for each GPU, and as many columns before all others.
std::map<std::int64_t, std::vector<std::string_view>> rows_of(std::string_view matrix) {
  std::map<std::int64_t, std::vector<std::string_view>> rows;
  while (!matrix.empty()) {
    const std::size_t end = matrix.find('\n');
    const std::string_view line = matrix.substr(0, end);
    matrix.remove_prefix(end == std::string_view::npos ? matrix.size() : end + 1);
    std::vector<std::string_view> cells = split_at_tabs(line);
    if (!cells.front().starts_with("GPU")) continue;
    const std::optional<std::int64_t> number = parse_number(cells.front().substr(3));
    if (number) rows[*number] = std::move(cells);
  }
  return rows;
}

std::size_t root_of(const std::vector<std::size_t>& group, std::size_t i) {
  while (group[i] != i)
    i = group[i];
  return i;
}

}  // namespace

void find_slots(std::vector<GpuDescription>& gpus, const path& sys) {
  std::vector<path> devices;
  std::map<path, int> below;  // GPUs of a bridge
  for (const GpuDescription& gpu : gpus) {
    std::error_code error;
    const path device = std::filesystem::canonical(sys / "bus/pci/devices" / gpu.pci, error);
    devices.push_back(error || gpu.pci.empty() ? path() : device);
    for (const path& bridge : bridges_above(devices.back()))
      ++below[bridge];
  }
  std::map<std::int64_t, std::uint32_t> sockets;
  std::map<std::pair<std::uint32_t, path>, std::uint32_t> switches;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (devices[i].empty()) continue;
    path its = devices[i];
    for (const path& bridge : bridges_above(devices[i])) {
      if (below[bridge] < 2) continue;
      its = bridge;
      break;
    }
    gpus[i].socket = number_of(sockets, numa_node_of(devices[i]));
    gpus[i].pcie_switch = number_of(switches, {gpus[i].socket, its});
  }
}

void find_islands(std::vector<GpuDescription>& gpus, std::string_view matrix) {
  const auto rows = rows_of(matrix);
  std::vector<std::size_t> group(gpus.size());
  std::iota(group.begin(), group.end(), std::size_t{0});
  const auto are_joined = [&](const GpuDescription& a, const GpuDescription& b) {
    const auto row = rows.find(a.index);
    const auto column = static_cast<std::size_t>(b.index) + 1;
    if (row == rows.end() || !rows.contains(b.index) || row->second.size() <= column) return false;
    return a.kind == b.kind && a.vram_mb == b.vram_mb && row->second[column].starts_with("NV");
  };
  for (std::size_t a = 0; a < gpus.size(); ++a) {
    for (std::size_t b = 0; b < gpus.size(); ++b) {
      if (are_joined(gpus[a], gpus[b])) group[root_of(group, a)] = root_of(group, b);
    }
  }
  std::map<std::size_t, std::uint32_t> numbers;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const std::size_t root = root_of(group, i);
    const auto members = std::ranges::count_if(
        group, [&](std::size_t each) { return root_of(group, each) == root; });
    if (members > 1) gpus[i].island = "nvlink-" + std::to_string(number_of(numbers, root));
  }
}

}  // namespace berth::agent
