// Keys laid over a block, and a block as keys.
#include "config/block_values.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace berth::config::block_values_test {
namespace {

std::string value_of(const std::vector<KeyValue>& values, std::string_view key) {
  const auto found = std::ranges::find(values, key, &KeyValue::key);
  return found == values.end() ? "no such key" : found->value;
}

TEST(BlockValues, OnlyTheKeysThatAreGivenChange) {
  QueueBlock queue{.name = "llm", .model = "big"};
  queue.queue.spec.max_batch_size = 8;
  const std::vector<KeyValue> over = {{"max_batch_wait_ms", "20"}, {"executor", "\"process\""}};
  EXPECT_EQ(lay_over(queue, over), "");
  EXPECT_EQ(queue.queue.spec.max_batch_wait, milliseconds(20));
  EXPECT_EQ(queue.queue.spec.max_batch_size, 8U);
  EXPECT_EQ(queue.queue.executor, Executor::process);
  EXPECT_EQ(queue.model, "big");
}

TEST(BlockValues, NamesOfOthersCanBeTakenAway) {
  QueueBlock queue{.name = "llm", .model = "big"};
  queue.queue.work_class = "decode";
  const std::vector<KeyValue> over = {{"model", ""}, {"work_class", ""}};
  EXPECT_EQ(lay_over(queue, over), "");
  EXPECT_EQ(queue.model, "");
  EXPECT_EQ(queue.queue.work_class, "");
  TenantBlock tenant{.name = "a", .parent = "p"};
  EXPECT_EQ(lay_over(tenant, std::vector<KeyValue>{{"parent", "\"q\""}}), "");
  EXPECT_EQ(tenant.parent, "q");
  EXPECT_EQ(lay_over(tenant, std::vector<KeyValue>{{"parent", ""}}), "");
  EXPECT_EQ(tenant.parent, "");
}

TEST(BlockValues, AFlawLeavesTheBlockAsItWas) {
  TenantBlock tenant{.name = "gold"};
  tenant.tenant.spec.guaranteed_gpus = Milli{2000};
  const std::vector<KeyValue> over = {{"weight", "5"}, {"max_gpus", "1"}};
  EXPECT_EQ(lay_over(tenant, over),
            "tenants.max_gpus: expected at least guaranteed_gpus, 2, found 1");
  QueueBlock queue{.name = "q"};
  const std::vector<KeyValue> amounts = {{"min_gpus", "9"}, {"max_gpus", "1"}};
  EXPECT_EQ(lay_over(queue, amounts), "queues.max_gpus: expected at least min_gpus, 9, found 1");
  EXPECT_EQ(
      lay_over(tenant, std::vector<KeyValue>{{"token_bucket_size", "0"}}),
      "tenants.token_bucket_size: expected an integer from 1 to 9000000000, found the integer "
      "0");
  EXPECT_EQ(tenant.tenant.spec.weight, Milli{1000});
  EXPECT_NE(lay_over(tenant, std::vector<KeyValue>{{"wieght", "5"}}).find("weight"),
            std::string::npos);
  EXPECT_NE(lay_over(tenant, std::vector<KeyValue>{{"tier", "9"}}), "");
}

TEST(BlockValues, ABlockGivesEveryKeyAsAFileWouldHaveIt) {
  TenantBlock tenant{.name = "gold", .parent = "all"};
  tenant.tenant.spec.weight = Milli{2500};
  const std::vector<KeyValue> values = values_of(tenant);
  EXPECT_EQ(value_of(values, "name"), "\"gold\"");
  EXPECT_EQ(value_of(values, "weight"), "2.5");
  EXPECT_EQ(value_of(values, "parent"), "\"all\"");
  EXPECT_EQ(value_of(values, "max_gpus"), "");
  EXPECT_EQ(value_of(values, "commands"), "true");
  EXPECT_EQ(value_of(values, "unix_user"), "no such key") << "it is of the file alone";
  ModelBlock model{.name = "m"};
  model.spec.weights = Mib{4096};
  EXPECT_EQ(value_of(values_of(model), "weights"), "\"4GB\"");
  EXPECT_EQ(lay_over(model, std::vector<KeyValue>{{"weights_mb", "1024"}}), "");
  EXPECT_EQ(model.spec.weights, Mib{1024});
}

TEST(BlockValues, WhatABlockGivesMakesTheSameBlock) {
  QueueBlock queue{.name = "q", .model = "m"};
  queue.queue = {
      .work_class = "c", .executor = Executor::process, .ranks = RanksBy::node, .commands = false};
  queue.queue.spec.max_batch_wait = milliseconds(7);
  queue.queue.spec.max_gpus = Milli{1500};
  std::vector<KeyValue> values = values_of(queue);
  std::erase_if(values, [](const KeyValue& value) { return value.value.empty(); });
  QueueBlock copy{.name = "q"};
  EXPECT_EQ(lay_over(copy, values), "");
  copy.queue.spec.model = queue.queue.spec.model;
  EXPECT_EQ(copy.queue, queue.queue);
  EXPECT_EQ(copy.model, "m");
}

}  // namespace
}  // namespace berth::config::block_values_test
