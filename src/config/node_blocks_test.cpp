// Blocks of nodes: where each GPU sits, and what is refused, with its place.
#include "config/node_blocks.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "config/document.h"

namespace berth::config::node_blocks_test {
namespace {

using Texts = std::vector<std::string>;

struct Read {
  NodeBlock block;
  bool good = false;
  Texts errors;  // "line:column: message"
};

// The block's lines; the first stands in line 2. `xml` is what every file holds; "": there is none.
Read read(const std::string& lines, const std::string& xml = "") {
  Diagnostics diagnostics;
  const std::string text = "[[nodes]]\n" + lines;
  const std::uint32_t source = diagnostics.add_source("f", text);
  const std::optional<Node> document = parse_document(text, source, diagnostics);
  Read result;
  FileSource files;
  files.folder = "dir/";
  files.read = [&](const std::string& path, std::string& problem) {
    if (xml.empty()) problem = "there is no " + path;
    return xml.empty() ? std::nullopt : std::optional<std::string>(xml);
  };
  if (document) {
    TableReader root(*document, "", diagnostics);
    for (TableReader& table : root.blocks("nodes")) {
      result.good = read_node_block(table, files, result.block);
      table.finish();
    }
  }
  for (const Diagnostic& error : diagnostics.sorted()) {
    result.errors.push_back(diagnostics.place(error.at).substr(2) + ": " + error.message);
  }
  return result;
}

TEST(NodeBlocks, ANodeOfCpusAlone) {
  const Read plain = read("name = \"c\"\ncpu = 64\nmemory = \"256GB\"\n");
  EXPECT_EQ(plain.errors, Texts{});
  EXPECT_TRUE(plain.good);
  EXPECT_EQ(plain.block.name_of(0), "c");
  EXPECT_EQ(plain.block.rack_of(0), "rack");
  EXPECT_EQ(plain.block.cpu, Milli{64'000});
  EXPECT_EQ(plain.block.memory, Mib{256 * 1024});
  EXPECT_EQ(plain.block.gpus, 0);
  EXPECT_EQ(plain.block.islands(), 0);
}

TEST(NodeBlocks, ByDefaultTheGpusOfANodeAreOneIsland) {
  const Read block = read("name = \"n\"\ncount = 3\ngpus = 8\nvram_gb = 80\nspeed = 2\n");
  EXPECT_EQ(block.errors, Texts{});
  EXPECT_EQ(block.block.name_of(2), "n-2");
  EXPECT_EQ(block.block.islands(), 3);
  EXPECT_EQ(block.block.island_of(2, 0), 2);
  EXPECT_EQ(block.block.island_of(2, 7), 2);
  const core::GpuSpec spec = block.block.gpu_spec(7);
  EXPECT_EQ(spec.vram, Mib{80 * 1024});
  EXPECT_EQ(spec.speed, Milli{2000});
  EXPECT_EQ(spec.socket, 0);
  EXPECT_EQ(spec.pcie_switch, 0);
}

TEST(NodeBlocks, IslandsSocketsAndSwitchesInsideANode) {
  const Read block = read(
      "name = \"n\"\ncount = 2\ngpus = 8\nvram = \"24GB\"\nisland = 2\ngpus_per_socket = 4\n"
      "gpus_per_switch = 2\n");
  EXPECT_EQ(block.errors, Texts{});
  EXPECT_EQ(block.block.islands(), 8);
  EXPECT_EQ(block.block.island_of(0, 1), 0);
  EXPECT_EQ(block.block.island_of(0, 2), 1);
  EXPECT_EQ(block.block.island_of(1, 0), 4);
  EXPECT_EQ(block.block.gpu_spec(3).socket, 0);
  EXPECT_EQ(block.block.gpu_spec(4).socket, 1);
  EXPECT_EQ(block.block.gpu_spec(5).pcie_switch, 2);
  EXPECT_EQ(read("name = \"n\"\ngpus = 8\nvram_gb = 1\nisland = 1\n").block.islands(), 0);
}

TEST(NodeBlocks, IslandsOfWholeNodesLieInOneRack) {
  const Read block = read(
      "name = \"n\"\ncount = 12\nnodes_per_rack = 6\ngpus = 4\nvram = \"96GB\"\n"
      "nodes_per_island = 3\n");
  EXPECT_EQ(block.errors, Texts{});
  EXPECT_EQ(block.block.rack_of(5), "n-rack-0");
  EXPECT_EQ(block.block.rack_of(6), "n-rack-1");
  EXPECT_EQ(block.block.islands(), 4);
  EXPECT_EQ(block.block.island_of(2, 3), 0);
  EXPECT_EQ(block.block.island_of(3, 0), 1);
  // One GPU is joined to nothing.
  EXPECT_EQ(read("name = \"n\"\ngpus = 1\nvram_gb = 1\nnodes_per_island = 1\n").block.islands(), 0);
}

TEST(NodeBlocks, MigModeByTheKindOrByName) {
  using core::mig::Geometry;
  const auto mode = [](const std::string& keys) {
    const Read block = read("name = \"n\"\ngpus = 1\n" + keys);
    EXPECT_EQ(block.errors, Texts{}) << keys;
    return block.block.gpu_spec(0).mig;
  };
  EXPECT_EQ(mode("vram_gb = 80\n"), Geometry::none);
  EXPECT_EQ(mode("vram_gb = 80\nmig = false\n"), Geometry::none);
  EXPECT_EQ(mode("vram_gb = 80\nkind = \"A100-SXM4\"\nmig = true\n"), Geometry::a100_80);
  EXPECT_EQ(mode("vram_gb = 40\nkind = \"a100\"\nmig = true\n"), Geometry::a100_40);
  EXPECT_EQ(mode("vram_gb = 141\nkind = \"H200\"\nmig = true\n"), Geometry::h200_141);
  EXPECT_EQ(mode("vram_gb = 80\nmig = \"h100_80\"\n"), Geometry::h100_80);
  const std::string list = "\"a100_40\", \"a100_80\", \"h100_80\", \"h200_141\", \"b200_180\"";
  const std::string gpus = "name = \"n\"\ngpus = 1\nvram_gb = 24\nkind = \"L4\"\n";
  EXPECT_EQ(
      read(gpus + "mig = true\n").errors,
      (Texts{"6:7: nodes.mig: the kind \"L4\" is not known to have MIG; expected one of " + list}));
  EXPECT_EQ(read(gpus + "mig = \"a30\"\n").errors,
            (Texts{"6:7: nodes.mig: expected true, false, or one of " + list}));
}

TEST(NodeBlocks, MigModeIsRefusedWhereTheGpuCannotBeCutSo) {
  const auto errors = [](const std::string& keys) {
    return read("name = \"n\"\ngpus = 1\n" + keys).errors;
  };
  EXPECT_EQ(errors("vram_gb = 24\nmig = \"a100_40\"\n"),
            (Texts{"5:7: nodes.mig: \"a100_40\" is how GPUs with 40192 to 50240 MiB are cut; this "
                   "one has 24576"}));
  EXPECT_EQ(errors("vram_gb = 80\nmig = \"a100_40\"\n"),
            (Texts{"5:7: nodes.mig: \"a100_40\" is how GPUs with 40192 to 50240 MiB are cut; this "
                   "one has 81920"}));
  EXPECT_EQ(errors("vram_gb = 24\nkind = \"H100\"\nmig = true\n"),
            (Texts{"6:7: nodes.mig: \"h100_80\" is how GPUs with 80384 to 100480 MiB are cut; this "
                   "one has 24576"}));
  EXPECT_EQ(errors("vram_gb = 80\nkind = \"A100\"\nmig = \"h100_80\"\n"),
            (Texts{"6:7: nodes.mig: a GPU of kind \"A100\" is cut as \"a100_80\", never as "
                   "\"h100_80\""}));
  EXPECT_EQ(errors("vram_gb = 94\nkind = \"H100 NVL\"\nmig = true\n"), Texts{});
}

TEST(NodeBlocks, ErrorsAreReportedTogetherEachInItsPlace) {
  EXPECT_EQ(read("count = 0\ncpu = -1\nmemory = 64\ngpus = 17\nislnd = 4\n").errors,
            (Texts{"1:1: missing nodes.name: expected a name",
                   "2:9: nodes.count: expected an integer from 1 to 100000, found the integer 0",
                   "3:7: nodes.cpu: expected a number from 0 to 1000000, found the integer -1",
                   "4:10: nodes.memory: expected an amount of memory such as \"64GB\", from 0MB to "
                   "1048576GB, found the integer 64; write the unit as in \"1GB\" or in the key as "
                   "in memory_gb",
                   "5:8: nodes.gpus: expected an integer from 0 to 16, found the integer 17",
                   "6:1: unknown key \"islnd\" in nodes; did you mean \"island\"?"}));
  EXPECT_EQ(read("name = \"n\"\ngpus = 8\n").errors,
            (Texts{"1:1: missing nodes.vram: expected an amount of VRAM such as \"8GB\", from 1MB "
                   "to 1048576GB"}));
  EXPECT_EQ(read("name = \"n\"\n").errors,
            (Texts{"2:8: nodes.name: a node needs cpu, memory or gpus"}));
  EXPECT_FALSE(read("name = \"n\"\n").good);
}

TEST(NodeBlocks, WhatDoesNotDivideIsRefused) {
  const std::string gpus = "name = \"n\"\ngpus = 8\nvram_gb = 80\n";
  EXPECT_EQ(read(gpus + "island = 3\ngpus_per_socket = 5\n").errors,
            (Texts{"5:10: nodes.island: 3 does not divide the GPUs of a node, 8",
                   "6:19: nodes.gpus_per_socket: 5 does not divide the GPUs of a node, 8"}));
  EXPECT_EQ(read(gpus + "gpus_per_socket = 4\ngpus_per_switch = 8\n").errors,
            (Texts{"6:19: nodes.gpus_per_switch: 8 does not divide the GPUs of a socket, 4"}));
  EXPECT_EQ(read(gpus + "count = 6\nnodes_per_island = 4\n").errors,
            (Texts{"6:20: nodes.nodes_per_island: 4 does not divide the count of nodes, 6"}));
  EXPECT_EQ(read(gpus + "count = 6\nnodes_per_rack = 2\nnodes_per_island = 3\n").errors,
            (Texts{"7:20: nodes.nodes_per_island: an island lies in one rack, and 3 does not "
                   "divide nodes_per_rack, 2"}));
}

TEST(NodeBlocks, TheSameIsNotSaidTwice) {
  const std::string gpus = "name = \"n\"\ngpus = 8\nvram_gb = 80\n";
  EXPECT_EQ(read(gpus + "rack = \"r\"\nnodes_per_rack = 1\n").errors,
            (Texts{"6:18: nodes.nodes_per_rack: already given as rack"}));
  EXPECT_EQ(read(gpus + "island = 4\nnodes_per_island = 1\n").errors,
            (Texts{"6:20: nodes.nodes_per_island: already given as island"}));
  EXPECT_EQ(read("name = \"n\"\ncpu = 4\nvram_gb = 80\nisland = 4\n").errors,
            (Texts{"1:1: nodes.vram: needs gpus", "5:10: nodes.island: needs gpus"}));
}

}  // namespace
}  // namespace berth::config::node_blocks_test
