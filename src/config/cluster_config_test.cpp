// What a server is told of hardware: [node], [[cluster.nodes]], topologies; what contradicts
// itself.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "config/changes.h"
#include "config/load_config.h"

namespace berth::config::cluster_config_test {
namespace {

using Texts = std::vector<std::string>;
using Files = std::map<std::string, std::string>;

struct Read {
  std::optional<LoadedConfig> loaded;
  Texts errors;  // "place: message"
};

std::string example(const std::string& name) {
  std::string problem;
  return read_whole_file(std::string(BERTH_SOURCE_DIR) + "/examples/hwloc/" + name, problem)
      .value_or("");
}

Read read(const std::string& text, const Files& files = {}, const Texts& settings = {}) {
  Diagnostics diagnostics;
  const ReadFile read_file = [&](const std::string& path,
                                 std::string& problem) -> std::optional<std::string> {
    if (path == "b.toml") return text;
    const auto found = files.find(path);
    if (found != files.end()) return found->second;
    problem = "No such file or directory";
    return std::nullopt;
  };
  ConfigSources sources{.path = "b.toml"};
  for (const std::string& setting : settings)
    sources.settings.push_back({setting});
  Read result{load_config(sources, diagnostics, read_file), {}};
  for (const Diagnostic& error : diagnostics.sorted())
    result.errors.push_back(diagnostics.place(error.at) + ": " + error.message);
  return result;
}

// What `config show` prints loads to the same, with nothing changed.
void expect_shown_is_the_same(const LoadedConfig& loaded, const Files& files = {}) {
  const std::string shown = config_toml(loaded.values);
  const Read again = read(shown, files);
  ASSERT_EQ(again.errors, Texts{}) << shown;
  EXPECT_EQ(again.loaded->config, loaded.config) << shown;
  EXPECT_TRUE(changes(loaded, *again.loaded).empty());
}

constexpr const char* kTwoNodes = R"([[cluster.nodes]]
name = "n"
count = 2
nodes_per_rack = 1
cpu = 32
memory = "256GB"
gpus = 4
kind = "A100"
vram = "40GB"
speed_by_class = { decode = 1.4 }
island = 2
gpus_per_socket = 2

[[cluster.nodes]]
name = "c"
cpu = 64
memory = "512GB"
)";

TEST(ClusterConfig, NodesAreDescribedAsInScenarios) {
  const Read two = read(kTwoNodes);
  ASSERT_EQ(two.errors, Texts{});
  const ServerConfig& config = two.loaded->config;
  ASSERT_EQ(config.nodes.size(), 2U);
  EXPECT_EQ(config.nodes[0].name_of(1), "n-1");
  EXPECT_EQ(config.nodes[0].rack_of(1), "n-rack-1");
  EXPECT_EQ(config.nodes[0].islands(), 4);
  EXPECT_EQ(config.nodes[0].gpu_spec(3).socket, 1);
  EXPECT_EQ(config.nodes[1].gpus, 0);
  EXPECT_TRUE(config.gpus.simulated.empty());  // those that are built in are not meant
  expect_shown_is_the_same(*two.loaded);
}

TEST(ClusterConfig, OneKeyOfANodeCanBeSet) {
  const Read two = read(kTwoNodes, {}, {"cluster.nodes.c.cpu=8"});
  ASSERT_EQ(two.errors, Texts{});
  EXPECT_EQ(two.loaded->config.nodes[1].cpu, Milli{8000});
}

TEST(ClusterConfig, OtherNodesHoldAfterARestart) {
  const Read two = read(kTwoNodes);
  const Read other = read(kTwoNodes, {}, {"cluster.nodes.n.count=4", "node.rack=\"r\""});
  EXPECT_EQ(other.errors.size(), 1U);  // this machine is none of them
  const ConfigChanges found =
      changes(*two.loaded, *read(kTwoNodes, {}, {"cluster.nodes.n.count=4"}).loaded);
  EXPECT_EQ(found.sentences, Texts{"cluster.nodes: others after a restart"});
  EXPECT_EQ(found.restart, Texts{"cluster.nodes"});
}

TEST(ClusterConfig, ATopologySaysWhereGpusSitAndWhatTheyAre) {
  const Files files = {{"node.xml", example("eight-a100.xml")}};
  const Read read_node =
      read("[[cluster.nodes]]\nname = \"dgx\"\ncount = 2\ntopology = \"node.xml\"\n", files);
  ASSERT_EQ(read_node.errors, Texts{});
  const NodeBlock& block = read_node.loaded->config.nodes[0];
  EXPECT_EQ(block.gpus, 8);
  EXPECT_EQ(block.kind, "A100");
  EXPECT_EQ(block.vram, Mib{40'548});
  EXPECT_EQ(block.cpu, Milli{16'000});
  EXPECT_EQ(block.memory, Mib{2 * 540'960'702'464 / 1024 / 1024});
  EXPECT_EQ(block.islands(), 2);
  EXPECT_EQ(block.island_of(1, 7), 1);
  EXPECT_EQ(block.gpu_spec(5).socket, 1);
  EXPECT_EQ(block.gpu_spec(5).pcie_switch, 2);
  expect_shown_is_the_same(*read_node.loaded, files);
}

TEST(ClusterConfig, ATopologyThatDoesNotKnowItsGpusIsCompleted) {
  const Files files = {{"node.xml", example("one-l4.xml")}};
  const std::string block = "[[cluster.nodes]]\nname = \"l4\"\ntopology = \"node.xml\"\n";
  EXPECT_EQ(read(block, files).errors,
            (Texts{"b.toml:1:1: missing cluster.nodes.vram: expected an amount of VRAM such as "
                   "\"8GB\", from 1MB to 1048576GB"}));
  const Read whole = read(block + "kind = \"L4\"\nvram = \"24GB\"\ncpu = 6\n", files);
  ASSERT_EQ(whole.errors, Texts{});
  EXPECT_EQ(whole.loaded->config.nodes[0].kind, "L4");
  EXPECT_EQ(whole.loaded->config.nodes[0].cpu, Milli{6000});
  expect_shown_is_the_same(*whole.loaded, files);
}

TEST(ClusterConfig, TheNodeOfTheServerItself) {
  const Files files = {{"node.xml", example("eight-a100.xml")}};
  const Read node =
      read("[node]\ncpu = 3.5\nmemory = \"12GB\"\nrack = \"r1\"\ntopology = \"node.xml\"\n", files);
  ASSERT_EQ(node.errors, Texts{});
  EXPECT_EQ(node.loaded->config.node.cpu, Milli{3500});
  EXPECT_EQ(node.loaded->config.node.memory, Mib{12 * 1024});
  EXPECT_EQ(node.loaded->config.node.rack, "r1");
  ASSERT_TRUE(node.loaded->config.node.hardware);
  EXPECT_EQ(node.loaded->config.node.hardware->gpus.size(), 8U);
  expect_shown_is_the_same(*node.loaded, files);
}

TEST(ClusterConfig, QueuesSayWhatAGangRunsOnceFor) {
  const Read loaded = read("[[queues]]\nname = \"train\"\nranks = \"node\"\n");
  ASSERT_EQ(loaded.errors, Texts{});
  EXPECT_EQ(loaded.loaded->config.queues.specs[0].ranks, RanksBy::gpu);
  EXPECT_EQ(loaded.loaded->config.queues.specs.back().ranks, RanksBy::node);
  EXPECT_EQ(read("[[queues]]\nname = \"t\"\nranks = \"rack\"\n").errors,
            (Texts{"b.toml:3:9: queues.ranks: expected one of \"gpu\", \"node\", found the "
                   "string \"rack\""}));
}

// ---- Malformed trees, each with its place
// --------------------------------------------------------

TEST(ClusterConfig, ErrorsOfNodesAppearTogether) {
  EXPECT_EQ(read("[[cluster.nodes]]\nname = \"a\"\n\n"
                 "[[cluster.nodes]]\nname = \"b\"\ngpus = 8\nvram_gb = 40\nisland = 3\n\n"
                 "[[cluster.nodes]]\nname = \"c\"\ngpus = 17\nvram_gb = 40\n\n"
                 "[[cluster.nodes]]\nname = \"d\"\ncpu = 1\n\n"
                 "[[cluster.nodes]]\nname = \"d\"\ncpu = 1\ncount = 1\n")
                .errors,
            (Texts{"b.toml:2:8: cluster.nodes.name: a node needs cpu, memory or gpus",
                   "b.toml:8:10: cluster.nodes.island: 3 does not divide the GPUs of a node, 8",
                   "b.toml:12:8: cluster.nodes.gpus: expected an integer from 0 to 16, found the "
                   "integer 17",
                   "b.toml:20:8: cluster.nodes.name: \"d\" is already the name of a node, at "
                   "b.toml:16:8"}));
}

TEST(ClusterConfig, TooManyNodesOrKindsAreRefused) {
  EXPECT_EQ(read("[[cluster.nodes]]\nname = \"a\"\ncount = 100000\ncpu = 1\n"
                 "[[cluster.nodes]]\nname = \"b\"\ncount = 1\ncpu = 1\n")
                .errors,
            (Texts{"b.toml:7:9: cluster.nodes.count: a cluster has at most 100000 nodes"}));
  EXPECT_EQ(read("[[cluster.nodes]]\nname = \"a\"\ncount = 6251\ngpus = 16\nvram_gb = 1\n").errors,
            (Texts{"b.toml:3:9: cluster.nodes.count: a cluster has at most 100000 GPUs"}));
  std::string kinds;
  for (int i = 0; i < 65; ++i) {
    kinds += "[[cluster.nodes]]\nname = \"n" + std::to_string(i) + "\"\nkind = \"k" +
             std::to_string(i) + "\"\ngpus = 1\nvram_gb = 1\n";
  }
  EXPECT_EQ(read(kinds).errors,
            (Texts{"b.toml:323:8: cluster.nodes.kind: a cluster has at most 64 kinds of GPU"}));
}

TEST(ClusterConfig, TheSameHardwareIsNotDescribedTwice) {
  EXPECT_EQ(read("[node]\ncpu = 4\nmemory_gb = 8\n"
                 "[[cluster.nodes]]\nname = \"a\"\ncpu = 1\n"
                 "[gpus]\nsource = \"nvidia-smi\"\n[[gpus.simulated]]\nvram_gb = 4\n")
                .errors,
            (Texts{"b.toml:1:1: node.memory: this machine is no node where cluster.nodes says "
                   "which nodes there are",
                   "b.toml:2:7: node.cpu: this machine is no node where cluster.nodes says which "
                   "nodes there are",
                   "b.toml:8:10: gpus.source: the nodes of cluster.nodes are simulated, and "
                   "\"nvidia-smi\" finds real GPUs; leave out one of the two",
                   "b.toml:9:1: gpus.simulated: the GPUs are already given as cluster.nodes"}));
}

TEST(ClusterConfig, TopologiesThatAreNone) {
  const std::string block = "[[cluster.nodes]]\nname = \"a\"\ntopology = \"x.xml\"\n";
  EXPECT_EQ(read(block).errors,
            (Texts{"b.toml:3:12: cluster.nodes.topology: cannot read \"x.xml\": No such file or "
                   "directory"}));
  EXPECT_EQ(read(block, {{"x.xml", "<topology version=\"2.0\">\n<object>\n"}}).errors,
            (Texts{"b.toml:3:12: cluster.nodes.topology: \"x.xml\" is no topology of hwloc: line "
                   "3: no element found"}));
  EXPECT_EQ(read("[node]\ntopology = \"x.xml\"\n", {{"x.xml", "<topology/>"}}).errors,
            (Texts{"b.toml:2:12: node.topology: \"x.xml\" is no topology of hwloc: line 1: this is "
                   "the XML of hwloc 1; write it anew with lstopo of hwloc 2"}));
}

TEST(ClusterConfig, WhatATopologySaysIsNotSaidAgain) {
  EXPECT_EQ(read("[[cluster.nodes]]\nname = \"a\"\ntopology = \"x.xml\"\ngpus = 8\nisland = 4\n",
                 {{"x.xml", example("eight-a100.xml")}})
                .errors,
            (Texts{"b.toml:4:8: cluster.nodes.gpus: already given by topology",
                   "b.toml:5:10: cluster.nodes.island: already given by topology"}));
}

TEST(ClusterConfig, ATopologyWithGpusOfDifferentKindsNeedsOne) {
  std::string mixed = example("eight-a100.xml");
  const std::string product = "NVIDIA A100-SXM4-40GB";
  for (int i = 0; i < 2; ++i)
    mixed.replace(mixed.rfind(product), product.size(), "NVIDIA H100 80GB HBM3");
  const std::string block = "[[cluster.nodes]]\nname = \"a\"\ntopology = \"x.xml\"\n";
  EXPECT_EQ(read(block, {{"x.xml", mixed}}).errors,
            (Texts{"b.toml:3:12: cluster.nodes.topology: GPU 0000:74:00.0 is of kind \"H100\", the "
                   "first of kind \"A100\"; the GPUs of a block are of one kind, so give it as "
                   "kind"}));
  EXPECT_EQ(read(block + "kind = \"mixed\"\n", {{"x.xml", mixed}}).errors, Texts{});
}

}  // namespace
}  // namespace berth::config::cluster_config_test
