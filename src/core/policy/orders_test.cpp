// The orders: what each makes of tier, guarantee, counter, age, cost and turn, in exact keys.
#include "core/policy/orders.h"

#include <gtest/gtest.h>

#include "core/testing/core_world.h"

namespace berth::core::orders_test {
namespace {

constexpr OrderKey kLeader{2, 30, 40, 5};

// A state with a tenant and two queues, and the head of one flow of theirs.
class Orders : public testing::Test {
 protected:
  Orders() {
    state_.tenants.emplace_back();
    state_.queues.resize(2);
    flow_.tenant = TenantId{0};
    flow_.queue = QueueId{0};
    flow_.tier = 0;
    head_.no = TaskNo{7};
    head_.eligible = Time{seconds(100).ns};
  }
  Tenant& tenant() { return state_.tenants.front(); }
  OrderKey flow_key(Order order) const { return rule_for(order).flow_key(state_, flow_, head_); }
  OrderKey queue_key(Order order, std::uint32_t queue) const {
    return rule_for(order).queue_key(state_, state_.queues[queue], kLeader);
  }

  State state_;
  Flow flow_;
  Head head_;
};

// ---- Before anything an order weighs ------------------------------------------------------------

class InEveryOrder : public Orders, public testing::WithParamInterface<Order> {};

TEST_P(InEveryOrder, TiersComeFirstThenTenantsWithinTheirGuarantee) {
  tenant().spec.guaranteed_gpus = Milli{3000};
  tenant().subtree_use = Milli{2000};
  EXPECT_EQ(flow_key(GetParam()).rank, 0);
  tenant().subtree_use = Milli{2001};
  EXPECT_EQ(flow_key(GetParam()).rank, 1);
  flow_.tier = 3;
  EXPECT_EQ(flow_key(GetParam()).rank, 7);
  flow_.crossed = true;  // waited past tier_patience
  EXPECT_EQ(flow_key(GetParam()).rank, 1);
}

TEST_P(InEveryOrder, TheGuaranteeOfOneAboveCountsToo) {
  state_.tenants.resize(3);
  tenant().spec.parent = TenantId{1};
  tenant().in_tree = true;
  state_.tenants[1].spec.parent = TenantId{2};
  state_.tenants[2].spec.guaranteed_gpus = Milli{2000};
  state_.tenants[2].subtree_use = Milli{1000};
  EXPECT_EQ(flow_key(GetParam()).rank, 0);
  head_.gpus = 2;  // would be beyond it
  EXPECT_EQ(flow_key(GetParam()).rank, 1);
  tenant().spec.guaranteed_gpus = Milli{2000};  // its own is enough
  EXPECT_EQ(flow_key(GetParam()).rank, 0);
}

TEST_P(InEveryOrder, AQueueBelowItsMinimumGoesFirstInItsTier) {
  const OrderRule& rule = rule_for(GetParam());
  const OrderKey leader{3, 30, 40, 5};
  state_.queues[0].spec.min_gpus = Milli{500};
  state_.queues[0].in_use = Milli{499};
  EXPECT_EQ(rule.queue_key(state_, state_.queues[0], leader).rank, 2);
  state_.queues[0].in_use = Milli{500};
  EXPECT_EQ(rule.queue_key(state_, state_.queues[0], leader).rank, 3);
}

INSTANTIATE_TEST_SUITE_P(Orders, InEveryOrder,
                         testing::Values(Order::fair, Order::fifo, Order::round_robin,
                                         Order::cost_aware, Order::sticky));

// ---- fair ---------------------------------------------------------------------------------------

TEST_F(Orders, FairGoesByTheCounterThenByAge) {
  tenant().v_us = 55;
  EXPECT_EQ(flow_key(Order::fair), (OrderKey{1, 55, seconds(100).ns, 7}));
}

TEST_F(Orders, FairPrefersHotUpToThePriceOfTheLoad) {
  const auto hot_first = rule_for(Order::fair).hot_first;
  EXPECT_TRUE(hot_first({1, 150, 0, 0}, {1, 100, 0, 1}, 50));
  EXPECT_FALSE(hot_first({1, 151, 0, 0}, {1, 100, 0, 1}, 50));
  // A strictly better tier is not weighed against a price.
  EXPECT_TRUE(hot_first({1, 9999, 0, 0}, {2, 0, 0, 1}, 0));
  EXPECT_FALSE(hot_first({2, 0, 0, 0}, {1, 9999, 0, 1}, 50));
}

// ---- fifo ---------------------------------------------------------------------------------------

TEST_F(Orders, APointOfPriorityIsWorthAnAgeStep) {
  tenant().v_us = 55;
  EXPECT_EQ(flow_key(Order::fifo), (OrderKey{1, 0, seconds(100).ns, 7}));
  head_.priority = 2;
  EXPECT_EQ(flow_key(Order::fifo), (OrderKey{1, 0, seconds(-20).ns, 7}));
  EXPECT_EQ(queue_key(Order::fifo, 0), kLeader);
  EXPECT_FALSE(rule_for(Order::fifo).hot_first({0, 2, 0, 0}, {0, 1, 0, 0}, 1000));
  EXPECT_TRUE(rule_for(Order::fifo).hot_first({0, 1, 0, 0}, {0, 2, 0, 0}, 0));
}

// ---- round_robin --------------------------------------------------------------------------------

TEST_F(Orders, RoundRobinGoesByTheTurnOfTheQueue) {
  state_.queues[0].turn = 9;
  EXPECT_EQ(queue_key(Order::round_robin, 0), (OrderKey{2, 9, 40, 5}));
}

// ---- sticky -------------------------------------------------------------------------------------

TEST_F(Orders, StickyStaysWithItsModelThenGoesWhereMostIsReady) {
  state_.queues[0].startable = 12;
  state_.queues[1].startable = 1;
  EXPECT_LT(queue_key(Order::sticky, 0), queue_key(Order::sticky, 1));
  state_.last_served = QueueId{1};
  EXPECT_LT(queue_key(Order::sticky, 1), queue_key(Order::sticky, 0));
  state_.queues[0].spec.model = state_.queues[1].spec.model = ModelId{3};
  EXPECT_LT(queue_key(Order::sticky, 0), queue_key(Order::sticky, 1));
  EXPECT_TRUE(rule_for(Order::sticky).hot_first({1, 9, 0, 0}, {1, 0, 0, 0}, 0));
  EXPECT_FALSE(rule_for(Order::sticky).hot_first({1, 9, 0, 0}, {0, 0, 0, 0}, 0));
  EXPECT_FALSE(rule_for(Order::sticky).hot_first({2, 0, 0, 0}, {1, 9, 0, 0}, 0));
}

// ---- cost_aware ---------------------------------------------------------------------------------

TEST_F(Orders, CostAwareIsWeightOverUsageAndCostPlusAge) {
  tenant().spec.weight = Milli{2000};
  head_.expected_run = seconds(2);
  head_.gpus = 2;
  head_.share = 500;
  head_.eligible = Time{seconds(10).ns};
  // A weight of 2 over a cost of 2 GPU-seconds is worth exactly 10 s of waiting.
  EXPECT_EQ(flow_key(Order::cost_aware), (OrderKey{1, 0, seconds(10).ns, 7}));
  tenant().usage.sum_us = 2'000'000;
  EXPECT_EQ(flow_key(Order::cost_aware).value, 500'000);
  state_.policy.aging_factor = Milli{200};
  EXPECT_EQ(flow_key(Order::cost_aware).value, 1'500'000);
}

TEST_F(Orders, CostAwareBelievesTheQueueWhereATaskSaysNothing) {
  head_.eligible = Time{0};
  EXPECT_EQ(flow_key(Order::cost_aware).value, -1'000'000'000'000);  // free, but finite
  state_.queues[0].spec.batch_base = milliseconds(1500);
  state_.queues[0].spec.batch_per_task = milliseconds(500);
  EXPECT_EQ(flow_key(Order::cost_aware).value, -500'000);
}

TEST(CostAware, UsageIsForgottenAfterTheWindowBucketByBucket) {
  CoreWorld world;
  world.feed(SetPolicy{{.order = Order::cost_aware}});
  world.tenant();
  world.queue();
  world.gpu(Mib{10'000});
  const UsageWindow& usage = world.state().tenant(TenantId{0}).usage;
  world.wait(seconds(5));
  world.submit(task_spec(Mib{1000}, seconds(2)));  // in the bucket of 0 s to 10 s
  EXPECT_EQ(usage.sum_us, 2'000'000);
  world.wait(seconds(2));
  world.feed(LeaseEnded{LeaseId{0}, {}});
  world.wait(seconds(5));
  world.submit(task_spec(Mib{1000}, seconds(3)));  // in the next one
  EXPECT_EQ(usage.sum_us, 5'000'000);
  world.wait(seconds(3));
  world.feed(LeaseEnded{LeaseId{1}, {}});
  world.wait(seconds(285) - nanoseconds(1));
  EXPECT_EQ(usage.sum_us, 5'000'000);
  world.wait(nanoseconds(1));  // 300 s
  EXPECT_EQ(usage.sum_us, 3'000'000);
  world.wait(seconds(10));
  EXPECT_EQ(usage.sum_us, 0);
}

}  // namespace
}  // namespace berth::core::orders_test
