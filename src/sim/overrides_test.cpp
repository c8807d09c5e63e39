// `--set`: one key, every block, one block by name or place; whatever unit the file used.
#include "sim/overrides.h"

#include <gtest/gtest.h>

#include "sim/scenario_reader.h"

namespace berth::sim {
namespace {

constexpr std::string_view kScenario = R"(
[[cluster.gpus]]
kind = "A100"
vram = "40GB"
[[queues]]
name = "chat"
batch_base = "50ms"
max_batch_wait = "120ms"
[[queues]]
name = "qwen2.5"
batch_base = "50ms"
[[workload]]
kind = "fixed_gap"
gap = "1s"
count = 3
queue = "chat"
)";

std::optional<Scenario> with(const std::vector<std::string>& settings) {
  Diagnostics diagnostics;
  const ReadFile read_file = [](const std::string&, std::string&) {
    return std::optional<std::string>(kScenario);
  };
  std::optional<Scenario> scenario = load_scenario("s.toml", settings, diagnostics, read_file);
  EXPECT_TRUE(scenario) << diagnostics.text();
  return scenario;
}

TEST(Overrides, StringsNeedNoQuotes) {
  EXPECT_EQ(with({"policy.order=fifo"})->policy.order, core::Order::fifo);
  EXPECT_EQ(with({"policy.order=\"fifo\""})->policy.order, core::Order::fifo);
  EXPECT_EQ(with({"name=a = b"})->name, "a = b");
  EXPECT_EQ(with({"seed=9"})->seed, 9U);
  EXPECT_TRUE(with({"flush_at_end=true"})->flush_at_end);
}

TEST(Overrides, AnArrayOfTablesIsReachedAsAWholeByNameOrByPlace) {
  const auto sizes = [](const std::optional<Scenario>& scenario) {
    return std::pair(scenario->queues.specs[0].spec.max_batch_size,
                     scenario->queues.specs[1].spec.max_batch_size);
  };
  EXPECT_EQ(sizes(with({"queues.max_batch_size=7"})), std::pair(7U, 7U));
  EXPECT_EQ(sizes(with({"queues.chat.max_batch_size=7"})), std::pair(7U, 1U));
  EXPECT_EQ(sizes(with({"queues.\"qwen2.5\".max_batch_size=7"})), std::pair(1U, 7U));
  EXPECT_EQ(sizes(with({"queues[1].max_batch_size=7"})), std::pair(1U, 7U));
  EXPECT_EQ(with({"cluster.gpus.count=5"})->gpus.size(), 5U);
}

TEST(Overrides, TheLastOneHoldsAndReplacesAnyUnit) {
  EXPECT_EQ(with({"queues.max_batch_wait_ms=5"})->queues.specs[0].spec.max_batch_wait,
            milliseconds(5));
  EXPECT_EQ(with({"queues.max_batch_wait=1s", "queues.max_batch_wait_ms=7"})
                ->queues.specs[1]
                .spec.max_batch_wait,
            milliseconds(7));
}

TEST(Overrides, AbsentTablesAreMade) {
  EXPECT_DOUBLE_EQ(with({"agents.jitter=0.5"})->agents.jitter, 0.5);
  EXPECT_EQ(with({"workload.retry.attempts=3"})->rules[0].steps[0].task.spec.retry.max_attempts, 3);
}

}  // namespace
}  // namespace berth::sim
