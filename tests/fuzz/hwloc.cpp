// Fuzz: any text as the XML of hwloc. It is refused with a sentence, or read to a node that
// placement can use: few GPUs, in the order of their addresses, islands of at least two, numbered
// without gaps.
#include "config/hwloc.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

#include "base/assert.h"
#include "tests/fuzz/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  set_assert_handler(fuzz::print_assert);
  const Result<config::HwlocNode> node =
      config::read_hwloc(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!node) {
    fuzz::check(!node.error().message.empty(), "a refusal says why");
    return 0;
  }
  fuzz::check(node->gpus.size() <= 16, "a node has at most 16 GPUs");
  std::map<std::uint32_t, int> islands;
  for (std::size_t i = 0; i < node->gpus.size(); ++i) {
    const config::HwlocGpu& gpu = node->gpus[i];
    fuzz::check(i == 0 || node->gpus[i - 1].pci <= gpu.pci, "GPUs stand in order");
    fuzz::check(gpu.socket <= i && gpu.pcie_switch <= i, "parts are numbered as they come");
    if (gpu.island) ++islands[*gpu.island];
  }
  fuzz::check(islands.size() == node->islands, "islands are numbered without gaps");
  for (const auto& [island, gpus] : islands)
    fuzz::check(island < node->islands && gpus >= 2, "an island joins at least two");
  return 0;
}
