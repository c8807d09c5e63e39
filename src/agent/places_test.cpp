// Where GPUs sit, from a made-up /sys and from what nvidia-smi prints.
#include "agent/places.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "agent/files.h"
#include "agent/testing/server_side.h"

namespace berth::agent::places_test {
namespace {

using Numbers = std::vector<std::uint32_t>;
using Texts = std::vector<std::string>;

class PlacesTest : public ::testing::Test {
 protected:
  // A GPU whose device is at this place below /sys/devices.
  void add_gpu(const std::string& device, const std::string& numa_node) {
    const std::filesystem::path path = folder_.path() / "devices" / device;
    const std::filesystem::path links = folder_.path() / "bus/pci/devices";
    std::filesystem::create_directories(path);
    std::filesystem::create_directories(links);
    ASSERT_TRUE(write_file(path / "numa_node", numa_node + "\n").ok());
    std::filesystem::create_directory_symlink(path, links / path.filename());
    add(path.filename().string());
  }
  void add(const std::string& pci) {
    GpuDescription& gpu = gpus_.emplace_back();
    gpu.kind = "A100";
    gpu.pci = pci;
    gpu.index = static_cast<std::int64_t>(gpus_.size()) - 1;
  }
  Numbers sockets() const {
    Numbers all;
    for (const GpuDescription& gpu : gpus_)
      all.push_back(gpu.socket);
    return all;
  }
  Numbers switches() const {
    Numbers all;
    for (const GpuDescription& gpu : gpus_)
      all.push_back(gpu.pcie_switch);
    return all;
  }
  Texts islands() const {
    Texts all;
    for (const GpuDescription& gpu : gpus_)
      all.push_back(gpu.island);
    return all;
  }

  testing::TemporaryFolder folder_;
  std::vector<GpuDescription> gpus_;
};

TEST_F(PlacesTest, SocketsAndSwitches) {
  add_gpu("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0", "0");
  add_gpu("pci0000:00/0000:00:01.0/0000:01:00.0/0000:02:04.0/0000:04:00.0", "0");
  add_gpu("pci0000:40/0000:40:01.0/0000:41:00.0", "1");  // each on a port of its own
  add_gpu("pci0000:40/0000:40:02.0/0000:42:00.0", "1");
  find_slots(gpus_, folder_.path());
  EXPECT_EQ(sockets(), (Numbers{0, 0, 1, 1}));
  EXPECT_EQ(switches(), (Numbers{0, 0, 1, 2}));
}

TEST_F(PlacesTest, WhatTheKernelDoesNotKnowIsOneSocket) {
  add_gpu("pci0000:00/0000:00:06.0", "-1");
  add_gpu("pci0000:00/0000:00:07.0", "-1");
  add("0000:99:00.0");
  add("");
  find_slots(gpus_, folder_.path());
  EXPECT_EQ(sockets(), (Numbers{0, 0, 0, 0}));
  EXPECT_EQ(switches(), (Numbers{0, 1, 0, 0}));
}

TEST_F(PlacesTest, NvlinkJoinsIslands) {
  for (int i = 0; i < 5; ++i)
    add("");
  find_islands(gpus_,
               "\t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\tGPU4\tNIC0\tCPU Affinity\x1b[0m\n"
               "GPU0\t X \tNV12\tSYS\tSYS\tSYS\tNV1\t0-15\t0\n"
               "GPU1\tNV12\t X \tSYS\tSYS\tSYS\tPXB\t0-15\t0\n"
               "GPU2\tSYS\tSYS\t X \tNV4\tSYS\tSYS\t16-31\t1\n"
               "GPU3\tSYS\tSYS\tNV4\t X \tSYS\tSYS\t16-31\t1\n"
               "GPU4\tSYS\tSYS\tSYS\tSYS\t X \tSYS\t16-31\t1\n"
               "NIC0\tPXB\tPXB\tSYS\tSYS\tSYS\t X \n\nLegend:\n\n  NV#  = NVLinks\n");
  EXPECT_EQ(islands(), (Texts{"nvlink-0", "nvlink-0", "nvlink-1", "nvlink-1", ""}));
}

TEST_F(PlacesTest, AnIslandIsOfOneKindAndNonsenseJoinsNobody) {
  add("");
  add("");
  gpus_[1].kind = "H100";
  find_islands(gpus_, "GPU0\t X \tNV4\nGPU1\tNV4\t X \n");
  EXPECT_EQ(islands(), (Texts{"", ""}));
  gpus_[1].kind = "A100";
  for (const char* nonsense : {"", "GPU0\n", "GPU\t\t\nGPU0\tNV4", "No devices were found\n"})
    find_islands(gpus_, nonsense);
  EXPECT_EQ(islands(), (Texts{"", ""}));
}

}  // namespace
}  // namespace berth::agent::places_test
