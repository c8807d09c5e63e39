// What a batch costs, how its tasks split it, and that a lease pays exactly for what it ran.
#include "core/dispatch/charges.h"

#include <gtest/gtest.h>

#include "core/dispatch/dispatch.h"
#include "core/testing/core_world.h"

namespace berth::core::charges_test {
namespace {

// A GPU of 9'000 usable MiB and two tenants, the second of weight 2.
class Charges : public testing::Test {
 protected:
  Charges() {
    world_.tenant();
    world_.tenant({.weight = Milli{2000}});
    world_.gpu(Mib{10'000});
    world_.queue({.max_batch_size = 8});
  }
  const Tenant& tenant(std::uint32_t id) const { return world_.state().tenant(TenantId{id}); }
  BatchStarted batch(std::int64_t share, std::int64_t vram, std::size_t tasks) const {
    BatchStarted batch;
    batch.gpus = {GpuId{0}};
    batch.share = Milli{share};
    batch.vram = Mib{vram};
    batch.tasks.resize(tasks);
    return batch;
  }
  StartPrice price(std::int64_t share, std::int64_t vram, std::size_t tasks) const {
    return price_of(world_.state(), batch(share, vram, tasks));
  }
  // A task of 10 s whose model took 3 s to load; it runs.
  TaskSpec submit_with_load() {
    world_.model({.weights = Mib{1000}});
    TaskSpec spec = task_spec(Mib{900}, seconds(10));
    spec.queue = world_.queue({.model = ModelId{0}});
    world_.submit(spec);
    world_.finish_loads(seconds(3));
    return spec;
  }

  CoreWorld world_;
};

TEST_F(Charges, TheRateIsTheLargerOfVramAndCompute) {
  EXPECT_EQ(price(400, 3600, 2).rate, 400);
  EXPECT_FALSE(price(400, 3600, 2).by_vram);
  EXPECT_EQ(price(400, 3609, 2).rate, 401);
  EXPECT_TRUE(price(400, 3609, 2).by_vram);
  EXPECT_EQ(price(1000, 9000, 2).rate, 1000);
}

TEST_F(Charges, AFasterGpuCostsMoreAndEachOfAGangCounts) {
  world_.gpu(Mib{10'000}, Milli{2000});
  BatchStarted gang = batch(1000, 100, 1);
  gang.gpus = {GpuId{0}, GpuId{1}};
  EXPECT_EQ(price_of(world_.state(), gang).rate, 3000);
}

TEST_F(Charges, TasksPayAlikeOrByTheirVram) {
  const StartPrice alike = price(1000, 3000, 4);
  EXPECT_EQ(part_of(alike, 2000), 1);
  EXPECT_EQ(share_of(alike, seconds(2), 1), 500'000);
  const StartPrice by_vram = price(100, 4500, 2);  // half the GPU
  EXPECT_EQ(part_of(by_vram, 1500), 1500);
  EXPECT_EQ(share_of(by_vram, seconds(3), 1500), 500'000);
  EXPECT_EQ(share_of(by_vram, seconds(3), 3000), 1'000'000);
}

TEST_F(Charges, TheFirstQuantumIsAtMostAMinute) {
  EXPECT_EQ(first_quantum(seconds(60) - nanoseconds(1)), seconds(60) - nanoseconds(1));
  EXPECT_EQ(first_quantum(seconds(61)), seconds(60));
}

TEST_F(Charges, TheEstimateIsChargedAtTheStartAndSetRightAtTheEnd) {
  TaskSpec spec = task_spec(Mib{900}, seconds(10));
  spec.tenant = TenantId{1};
  world_.submit(spec);
  EXPECT_EQ(world_.all<BatchStarted>().front().tasks.front().charge_us, 10'000'000);
  EXPECT_EQ(tenant(1).ledger.net_us(), 10'000'000);
  EXPECT_EQ(tenant(1).v_us, 5'000'000);  // over its weight
  world_.wait(seconds(4));
  world_.feed(LeaseEnded{LeaseId{0}, {}});
  EXPECT_EQ(tenant(1).ledger, (LedgerLine{10'000'000, 6'000'000}));
  // The counter never falls: the rest is credit against the next charge.
  EXPECT_EQ(tenant(1).v_us, 5'000'000);
  EXPECT_EQ(tenant(1).credit_us, 3'000'000);
  world_.submit(spec);
  EXPECT_EQ(tenant(1).v_us, 7'000'000);
  EXPECT_EQ(tenant(1).credit_us, 0);
}

TEST_F(Charges, AMixedBatchIsPaidInParts) {
  world_.feed(PauseQueue{QueueId{0}, true});
  for (const std::uint32_t of : {0, 0, 0, 1}) {
    TaskSpec spec = task_spec(Mib{100}, seconds(8));
    spec.tenant = TenantId{of};
    world_.submit(spec);
  }
  world_.feed(PauseQueue{QueueId{0}, false});
  ASSERT_EQ(world_.all<BatchStarted>().front().tasks.size(), 4U);
  EXPECT_EQ(tenant(0).ledger.net_us(), 6'000'000);
  EXPECT_EQ(tenant(1).ledger.net_us(), 2'000'000);
  EXPECT_EQ(tenant(0).in_use, Milli{750});
  EXPECT_EQ(tenant(1).in_use, Milli{250});
}

TEST_F(Charges, ALongLeaseIsChargedAheadQuantumByQuantum) {
  world_.submit(task_spec(Mib{900}, seconds(150)));
  EXPECT_EQ(tenant(0).ledger.net_us(), 60'000'000);
  world_.wait(seconds(60) - nanoseconds(1));
  EXPECT_TRUE(world_.actions().empty());
  world_.wait(nanoseconds(1));
  EXPECT_EQ(world_.all<LeaseCharged>(), (std::vector{LeaseCharged{LeaseId{0}, seconds(60)}}));
  EXPECT_EQ(tenant(0).ledger.net_us(), 120'000'000);
  world_.wait(seconds(13));
  world_.feed(LeaseEnded{LeaseId{0}, {}});
  EXPECT_EQ(tenant(0).ledger.net_us(), 73'000'000);
}

TEST_F(Charges, ALostGpuIsPaidByNobody) {
  world_.submit(task_spec(Mib{900}, seconds(10)));
  world_.wait(seconds(5));
  world_.feed(GpuLost{GpuId{0}});
  EXPECT_EQ(tenant(0).ledger.net_us(), 0);
  EXPECT_EQ(tenant(0).in_use, Milli{0});
}

TEST_F(Charges, TheFirstBatchPaysForTheLoad) {
  const TaskSpec spec = submit_with_load();
  EXPECT_EQ(tenant(0).ledger.net_us(), 13'000'000);
  world_.wait(seconds(10));
  world_.feed(LeaseEnded{LeaseId{0}, {}});
  world_.submit(spec);
  EXPECT_EQ(tenant(0).ledger.net_us(), 23'000'000);
}

TEST_F(Charges, NorIsTheLoadOfALostGpuPaid) {
  submit_with_load();
  world_.feed(GpuLost{GpuId{0}});
  EXPECT_EQ(tenant(0).ledger.net_us(), 0);
}

TEST(Price, AmountsBeyondAllBoundsStayAtTheBound) {
  const BatchPrice price{.rate = INT64_MAX, .load_us = INT64_MAX, .parts = 1};
  EXPECT_EQ(share_of(price, minutes(60), 1), INT64_MAX);
  LedgerLine line{.charged_us = INT64_MAX, .refunded_us = INT64_MAX - 1};
  line.post(5);
  line.post(-5);
  EXPECT_EQ(line, (LedgerLine{INT64_MAX, INT64_MAX}));
  line += line;
  EXPECT_EQ(line.net_us(), 0);
}

}  // namespace
}  // namespace berth::core::charges_test
