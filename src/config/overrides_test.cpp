// `--set`: one key, every block, one block by name or place; whatever unit the file used.
#include "config/overrides.h"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace berth::config::overrides_test {
namespace {

constexpr std::string_view kDocument = R"(
seed = 1
[[cluster.gpus]]
vram = "40GB"
[[queues]]
name = "chat"
max_batch_size = 1
max_batch_wait = "120ms"
[[queues]]
name = "qwen2.5"
max_batch_size = 1
[[workload]]
count = 3
)";
const std::vector<std::string> kKeys = {"queues.max_batch_size", "workload.retry"};

Node with(const std::vector<std::string>& settings) {
  Diagnostics diagnostics;
  const std::uint32_t source = diagnostics.add_source("s.toml");
  std::optional<Node> document = parse_document(kDocument, source, diagnostics);
  for (const std::string& setting : settings)
    apply_override(*document, setting, kKeys, diagnostics);
  EXPECT_TRUE(diagnostics.empty()) << diagnostics.text();
  return *std::move(document);
}

const Node& below(const Node& table, std::initializer_list<const char*> path) {
  const Node* node = &table;
  for (const char* key : path) {
    static const Node kNone = Node::of_text({}, "absent");
    node = node->find(key);
    if (node == nullptr) return kNone;
  }
  return *node;
}

std::vector<std::int64_t> batch_sizes(const Node& document) {
  std::vector<std::int64_t> sizes;
  for (const Node& queue : below(document, {"queues"}).items)
    sizes.push_back(below(queue, {"max_batch_size"}).integer);
  return sizes;
}

TEST(Overrides, StringsNeedNoQuotes) {
  EXPECT_EQ(below(with({"policy.order=fifo"}), {"policy", "order"}).text, "fifo");
  EXPECT_EQ(below(with({"policy.order=\"fifo\""}), {"policy", "order"}).text, "fifo");
  EXPECT_EQ(below(with({"name=a = b"}), {"name"}).text, "a = b");
  EXPECT_EQ(below(with({"seed=9"}), {"seed"}).integer, 9);
  EXPECT_TRUE(below(with({"flush_at_end=true"}), {"flush_at_end"}).boolean);
}

TEST(Overrides, AnArrayOfTablesIsReachedAsAWholeByNameOrByPlace) {
  using Sizes = std::vector<std::int64_t>;
  EXPECT_EQ(batch_sizes(with({"queues.max_batch_size=7"})), (Sizes{7, 7}));
  EXPECT_EQ(batch_sizes(with({"queues.chat.max_batch_size=7"})), (Sizes{7, 1}));
  EXPECT_EQ(batch_sizes(with({"queues.\"qwen2.5\".max_batch_size=7"})), (Sizes{1, 7}));
  EXPECT_EQ(batch_sizes(with({"queues[1].max_batch_size=7"})), (Sizes{1, 7}));
  const Node gpus = below(with({"cluster.gpus.count=5"}), {"cluster", "gpus"});
  EXPECT_EQ(below(gpus.items[0], {"count"}).integer, 5);
}

TEST(Overrides, TheLastOneHoldsAndReplacesAnyUnit) {
  const Node document = with({"queues.max_batch_wait=1s", "queues.max_batch_wait_ms=7"});
  for (const Node& queue : below(document, {"queues"}).items) {
    EXPECT_EQ(queue.find("max_batch_wait"), nullptr);
    EXPECT_EQ(below(queue, {"max_batch_wait_ms"}).integer, 7);
  }
}

TEST(Overrides, AbsentTablesAreMade) {
  EXPECT_EQ(below(with({"agents.jitter=0.5"}), {"agents", "jitter"}).real, 0.5);
  const Node workload = below(with({"workload.retry.attempts=3"}), {"workload"});
  EXPECT_EQ(below(workload.items[0], {"retry", "attempts"}).integer, 3);
}

TEST(Overrides, WhatIsSetKnowsItsSource) {
  Diagnostics diagnostics;
  Node document;
  apply_override(document, "policy.order=fifo", kKeys, diagnostics);
  EXPECT_EQ(diagnostics.place(below(document, {"policy", "order"}).at), "--set policy.order=fifo");
}

}  // namespace
}  // namespace berth::config::overrides_test
