// `--set` on a scenario: the value is read like one of the file. See config/overrides_test.cpp.
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/scenario_reader.h"

namespace berth::sim::scenario_settings_test {
namespace {

constexpr std::string_view kScenario = R"(
[[cluster.gpus]]
kind = "A100"
vram = "40GB"
[[queues]]
name = "chat"
batch_base = "50ms"
max_batch_wait = "120ms"
[[workload]]
kind = "fixed_gap"
gap = "1s"
count = 3
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

TEST(ScenarioSettings, ReplaceWhatTheFileSays) {
  EXPECT_EQ(with({"policy.order=fifo"})->policy.order, core::Order::fifo);
  EXPECT_EQ(with({"cluster.gpus.count=5"})->gpus.size(), 5U);
  EXPECT_EQ(with({"queues.chat.max_batch_wait_ms=5"})->queues.specs[0].spec.max_batch_wait,
            milliseconds(5));
  EXPECT_DOUBLE_EQ(with({"agents.jitter=0.5"})->agents.jitter, 0.5);
}

TEST(ScenarioSettings, ATableInsideABlockIsMade) {
  EXPECT_EQ(with({"workload.retry.attempts=3"})->rules[0].steps[0].task.spec.retry.max_attempts, 3);
}

}  // namespace
}  // namespace berth::sim::scenario_settings_test
