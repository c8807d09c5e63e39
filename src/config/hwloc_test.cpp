// Reading hwloc's XML: made-up machines as lstopo writes them, and files that are none.
#include "config/hwloc.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "config/files.h"

namespace berth::config::hwloc_test {
namespace {

std::string example(const std::string& name) {
  std::string problem;
  const std::string path = std::string(BERTH_SOURCE_DIR) + "/examples/hwloc/" + name;
  const std::optional<std::string> text = read_whole_file(path, problem);
  EXPECT_TRUE(text) << path << ": " << problem;
  return text.value_or("");
}

std::string error_of(const std::string& xml) {
  const Result<HwlocNode> read = read_hwloc(xml);
  return read.ok() ? "" : read.error().message;
}

// A whole topology around these objects and what follows them.
std::string topology(const std::string& objects, const std::string& behind = "") {
  return "<topology version=\"2.0\">\n<object type=\"Machine\" gp_index=\"1\">\n" + objects +
         "</object>\n" + behind + "</topology>\n";
}

std::string gpu(const std::string& bus, int index) {
  return "<object type=\"PCIDev\" pci_busid=\"" + bus +
         "\" pci_type=\"0302 [10de:20b0] [0:0] a1 00\" gp_index=\"" + std::to_string(index) +
         "\">\n<object type=\"OSDev\" name=\"nvml0\" gp_index=\"" + std::to_string(index + 1) +
         "\"/>\n</object>\n";
}

std::string links(int count, const std::string& indexes, const std::string& values) {
  return "<distances2 type=\"OSDev\" nbobjs=\"" + std::to_string(count) +
         "\" name=\"NVLinkBandwidth\" indexing=\"gp\"><indexes>" + indexes +
         "</indexes><u64values>" + values + "</u64values></distances2>\n";
}

TEST(Hwloc, TwoSocketsWithTwoSwitchesEachAndNvSwitches) {
  const Result<HwlocNode> node = read_hwloc(example("eight-a100.xml"));
  ASSERT_TRUE(node.ok()) << node.error().message;
  EXPECT_EQ(node->cpu, Milli{16'000});
  EXPECT_EQ(node->memory, Mib{2 * 540'960'702'464 / 1024 / 1024});
  ASSERT_EQ(node->gpus.size(), 8U);  // not the screen of the console, nor the NVSwitches
  EXPECT_EQ(node->islands, 1U);
  for (std::size_t i = 0; i < 8; ++i) {
    const HwlocGpu& each = node->gpus[i];
    EXPECT_EQ(each.socket, i / 4) << i;
    EXPECT_EQ(each.pcie_switch, i / 2) << i;
    EXPECT_EQ(each.island, 0U) << i;
    EXPECT_EQ(each.product, "NVIDIA A100-SXM4-40GB");
    EXPECT_EQ(each.vram, Mib{41'521'152 / 1024});
  }
  EXPECT_EQ(node->gpus[0].pci, "0000:13:00.0");
}

// As hwloc writes it without CUDA and NVML: it knows the device, but not what it is.
TEST(Hwloc, OneGpuThatHangsOnNoPackage) {
  const Result<HwlocNode> node = read_hwloc(example("one-l4.xml"));
  ASSERT_TRUE(node.ok()) << node.error().message;
  EXPECT_EQ(node->cpu, Milli{8000});
  ASSERT_EQ(node->gpus.size(), 1U);
  EXPECT_EQ(node->gpus[0], (HwlocGpu{.pci = "0000:01:00.0"}));
  EXPECT_EQ(node->islands, 0U);
}

TEST(Hwloc, IslandsAreWhatNvlinkJoinsDirectlyOrNot) {
  std::string objects;
  for (int i = 0; i < 5; ++i)
    objects += gpu("0000:0" + std::to_string(i) + ":00.0", 10 + 10 * i);
  // 0 and 1, 2 with 1, 4 with nobody; what a GPU has with itself says nothing.
  const Result<HwlocNode> node =
      read_hwloc(topology(objects, links(5, "11 21 31 41 51",
                                         "9 5 0 0 0  5 9 7 0 0  0 7 9 0 0  0 0 0 9 0  0 0 0 0 9")));
  ASSERT_TRUE(node.ok()) << node.error().message;
  EXPECT_EQ(node->islands, 1U);
  std::vector<std::optional<std::uint32_t>> islands;
  for (const HwlocGpu& each : node->gpus)
    islands.push_back(each.island);
  EXPECT_EQ(islands,
            (std::vector<std::optional<std::uint32_t>>{0, 0, 0, std::nullopt, std::nullopt}));
}

// On some machines processors speak NVLink; two GPUs on one processor are no island by that.
TEST(Hwloc, AProcessorJoinsNobody) {
  const std::string objects = gpu("0000:01:00.0", 10) + gpu("0000:02:00.0", 20) +
                              "<object type=\"Package\" gp_index=\"3\"/>\n";
  const Result<HwlocNode> node =
      read_hwloc(topology(objects, links(3, "OSDev:11 OSDev:21 Package:3", "0 0 4 0 0 4 4 4 0")));
  ASSERT_TRUE(node.ok()) << node.error().message;
  EXPECT_EQ(node->islands, 0U);
}

TEST(Hwloc, OtherMatricesAreNotLinks) {
  std::string other = links(2, "11 21", "0 5 5 0");
  other.replace(other.find("NVLinkBandwidth"), 15, "NUMALatency");
  const Result<HwlocNode> node =
      read_hwloc(topology(gpu("0000:01:00.0", 10) + gpu("0000:02:00.0", 20), other));
  ASSERT_TRUE(node.ok()) << node.error().message;
  EXPECT_EQ(node->islands, 0U);
}

TEST(Hwloc, WhatIsNoTopologyIsRefusedWithItsLine) {
  EXPECT_EQ(error_of(""), "line 1: no element found");
  EXPECT_EQ(error_of("{}"), "line 1: not well-formed (invalid token)");
  EXPECT_EQ(error_of("<html>\n</html>"),
            "line 1: expected the XML of hwloc, which begins with <topology>, found <html>");
  EXPECT_EQ(error_of("<topology version=\"2.0\">\n<object type=\"Machine\">\n</topology>\n"),
            "line 3: mismatched tag");
  EXPECT_EQ(error_of("<topology version=\"2.0\"/>"), "it describes no machine");
}

TEST(Hwloc, AFileThatWasCutOffIsRefusedWhereverItEnds) {
  const std::string whole = example("one-l4.xml");
  for (std::size_t size = 0; size + 1 < whole.size(); ++size)
    ASSERT_NE(error_of(whole.substr(0, size)), "") << size;
  EXPECT_EQ(error_of(whole), "");
}

TEST(Hwloc, OtherVersionsAreRefused) {
  EXPECT_EQ(error_of("<topology>\n</topology>"),
            "line 1: this is the XML of hwloc 1; write it anew with lstopo of hwloc 2");
  EXPECT_EQ(error_of("<topology version=\"3.0\"/>"),
            "line 1: expected version 2 of hwloc's XML, found 3.0; write it anew with lstopo of "
            "hwloc 2");
}

TEST(Hwloc, WhatWouldGrowIsRefused) {
  EXPECT_EQ(error_of("<!DOCTYPE topology [\n<!ENTITY a \"aaaa\">\n]>\n<topology version=\"2.0\"/>"),
            "line 2: it declares entities, which hwloc never does");
  std::string deep = "<topology version=\"2.0\">";
  for (int i = 0; i < 300; ++i)
    deep += "<object type=\"Group\">";
  EXPECT_EQ(error_of(deep), "line 1: it is nested deeper than any machine");
  EXPECT_EQ(error_of(std::string((std::size_t{64} << 20U) + 1, ' ')), "it is larger than 64 MiB");
  std::string many;
  for (int i = 0; i < 17; ++i)
    many += gpu("0000:" + std::to_string(10 + i) + ":00.0", 100 + 10 * i);
  EXPECT_EQ(error_of(topology(many)), "it has 17 GPUs; a node has at most 16");
}

TEST(Hwloc, DistancesThatDoNotAddUpAreRefused) {
  const std::string objects = gpu("0000:01:00.0", 10) + gpu("0000:02:00.0", 20);
  const auto error = [&](const std::string& behind) { return error_of(topology(objects, behind)); };
  const std::string begin = "line 10: the distances \"NVLinkBandwidth\" ";
  EXPECT_EQ(error(links(2, "11 21", "0 5 5")), begin + "do not have as many numbers as objects");
  EXPECT_EQ(error(links(3, "11 21", "0 5 5 0")), begin + "do not have as many numbers as objects");
  EXPECT_EQ(error(links(2, "11 77", "0 5 5 0")), begin + "name object 77, which is not there");
  EXPECT_EQ(error(links(1000, "11", "0")), begin + "are between more objects than a node has");
}

}  // namespace
}  // namespace berth::config::hwloc_test
