// Building a batch: what goes in, up to its size and the last MiB, and what must stay out.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "core/dispatch/dispatch.h"
#include "core/testing/core_world.h"

namespace berth::core::build_batch_test {
namespace {

// Two tenants, a GPU of 9'000 usable MiB, and a queue that is paused while tasks are put in.
class BuildBatch : public testing::Test {
 protected:
  void set_up(QueueSpec queue, const TenantSpec& second = {}) {
    world_.tenant();
    world_.tenant(second);
    world_.gpu(Mib{10'000});
    if (queue.model) {
      world_.model({.weights = Mib{3000}});
      world_.feed(ModelLoaded{GpuId{0}, ModelId{0}, true, seconds(1)});
    }
    world_.queue(queue);
    world_.feed(PauseQueue{QueueId{0}, true});
  }
  TaskNo add(std::uint32_t tenant, std::int64_t vram = 100, std::int64_t share = 1000) {
    TaskSpec spec = task_spec(Mib{vram});
    spec.tenant = TenantId{tenant};
    spec.share = Milli{share};
    return world_.submit(spec);
  }
  // The batch that starts first once the queue goes on.
  BatchStarted resume() {
    world_.feed(PauseQueue{QueueId{0}, false});
    const auto started = world_.all<BatchStarted>();
    EXPECT_FALSE(started.empty());
    return started.empty() ? BatchStarted{} : started.front();
  }
  static std::vector<TaskNo> tasks_of(const BatchStarted& batch) {
    std::vector<TaskNo> tasks;
    for (const StartedTask& task : batch.tasks)
      tasks.push_back(task.task);
    std::sort(tasks.begin(), tasks.end());
    return tasks;
  }

  CoreWorld world_;
};

using Tasks = std::vector<TaskNo>;

TEST_F(BuildBatch, TakesUpToMaxBatchSizeInOrder) {
  set_up({.max_batch_size = 3});
  for (int i = 0; i < 5; ++i)
    add(0);
  EXPECT_EQ(tasks_of(resume()), (Tasks{TaskNo{0}, TaskNo{1}, TaskNo{2}}));
}

TEST_F(BuildBatch, TasksAndWeightsMayFillTheGpuToTheLastMib) {
  set_up({.model = ModelId{0}, .max_batch_size = 8});
  for (const std::int64_t vram : {2000, 2000, 2000})
    add(0, vram);
  const BatchStarted batch = resume();
  EXPECT_EQ(batch.tasks.size(), 3U);
  EXPECT_EQ(batch.vram, Mib{6000});
  EXPECT_EQ(free_vram(world_.state().gpu(GpuId{0})), Mib{0});
}

TEST_F(BuildBatch, OneMibTooManyStaysOutAndSoDoesWhatStandsBehindIt) {
  set_up({.model = ModelId{0}, .max_batch_size = 8});
  for (const std::int64_t vram : {2000, 2000, 2001, 1})
    add(0, vram);
  const BatchStarted batch = resume();
  EXPECT_EQ(tasks_of(batch), (Tasks{TaskNo{0}, TaskNo{1}}));
  EXPECT_EQ(batch.vram, Mib{4000});
}

TEST_F(BuildBatch, TheLeadersShareIsTheBatchs) {
  set_up({.max_batch_size = 8});
  add(0, 100, 400);
  add(0, 100, 300);
  add(0, 100, 401);
  const BatchStarted batch = resume();
  EXPECT_EQ(batch.share, Milli{400});
  EXPECT_EQ(tasks_of(batch), (Tasks{TaskNo{0}, TaskNo{1}}));
}

TEST_F(BuildBatch, TenantsShareABatchInTurn) {
  set_up({.max_batch_size = 4});
  for (int i = 0; i < 4; ++i)
    add(0);
  for (int i = 0; i < 4; ++i)
    add(1);
  EXPECT_EQ(tasks_of(resume()), (Tasks{TaskNo{0}, TaskNo{1}, TaskNo{4}, TaskNo{5}}));
}

TEST_F(BuildBatch, AnIsolatedTenantSharesWithNobody) {
  set_up({.max_batch_size = 4}, {.isolation = Isolation::batch});
  add(0);
  add(1);
  add(0);
  EXPECT_EQ(tasks_of(resume()), (Tasks{TaskNo{0}, TaskNo{2}}));
}

TEST_F(BuildBatch, NorDoesAnybodyShareWithIt) {
  set_up({.max_batch_size = 4}, {.isolation = Isolation::batch});
  add(1);
  add(0);
  add(1);
  EXPECT_EQ(tasks_of(resume()), (Tasks{TaskNo{0}, TaskNo{2}}));
}

TEST_F(BuildBatch, AStricterTierFillsFirst) {
  set_up({.max_batch_size = 3});
  TaskSpec later = task_spec();
  later.tier = 1;
  world_.submit(later);
  add(1);
  world_.submit(later);
  add(1);
  EXPECT_EQ(tasks_of(resume()), (Tasks{TaskNo{0}, TaskNo{1}, TaskNo{3}}));
}

TEST_F(BuildBatch, ALaterTierGetsNothingWhileAStricterOneFillsTheBatch) {
  set_up({.max_batch_size = 3});
  TaskSpec later = task_spec();
  later.tier = 1;
  world_.submit(later);
  for (int i = 0; i < 3; ++i)
    add(1);
  EXPECT_EQ(tasks_of(resume()), (Tasks{TaskNo{1}, TaskNo{2}, TaskNo{3}}));
}

TEST_F(BuildBatch, AGangRunsAlone) {
  set_up({.max_batch_size = 4});
  world_.gpu(Mib{10'000});
  TaskSpec gang = task_spec();
  gang.gpus = 2;
  world_.submit(gang);
  world_.submit(gang);
  const BatchStarted batch = resume();
  EXPECT_EQ(tasks_of(batch), Tasks{TaskNo{0}});
  EXPECT_EQ(batch.gpus.size(), 2U);
}

TEST_F(BuildBatch, ATenantThatTheBatchWouldTakeOverItsMaximumDoesNotFollow) {
  set_up({.max_batch_size = 4}, {.max_gpus = Milli{1000}});
  world_.gpu(Mib{10'000});
  TaskSpec running = task_spec(Mib{100});
  running.tenant = TenantId{1};
  running.queue = world_.queue();
  running.share = Milli{500};
  world_.submit(running);
  add(0);
  add(1, 100, 400);  // alone it might start
  EXPECT_EQ(tasks_of(resume()), Tasks{TaskNo{1}});
}

TEST_F(BuildBatch, TakesAsLongAsItsQueueSaysOnTheSlowestGpu) {
  set_up({.max_batch_size = 4, .batch_base = milliseconds(50), .batch_per_task = milliseconds(25)});
  world_.feed(PutGpu{GpuId{0}, {.vram = Mib{10'000}, .speed = Milli{500}}});
  add(0);
  add(0);
  EXPECT_EQ(resume().expected, milliseconds(200));
}

// A GPU that is four times as fast at work of class 1, and no faster in general.
TEST_F(BuildBatch, RunsAtTheSpeedOfItsClassAndPaysTheGeneralOne) {
  const auto started_in = [](const QueueSpec& queue) {
    CoreWorld world;
    world.tenant();
    GpuSpec gpu{.vram = Mib{10'000}};
    gpu.class_speeds = {{WorkClassId{1}, Milli{4000}}};
    world.feed(PutGpu{GpuId{0}, gpu});
    world.queue(queue);
    world.submit(task_spec(Mib{100}, seconds(8)));
    return world.all<BatchStarted>().at(0);
  };
  EXPECT_EQ(started_in({}).expected, seconds(8));
  EXPECT_EQ(started_in({.work_class = WorkClassId{0}}).expected, seconds(8));
  const BatchStarted batch = started_in({.work_class = WorkClassId{1}});
  EXPECT_EQ(batch.expected, seconds(2));
  EXPECT_EQ(batch.tasks.at(0).charge_us, 2'000'000);
}

// Batches of 8 s of a GPU of speed 1.
TEST_F(BuildBatch, WhatWasLearnedIsForgottenWithTheClass) {
  CoreWorld world;
  world.tenant();
  GpuSpec gpu{.vram = Mib{10'000}};
  gpu.class_speeds = {{WorkClassId{1}, Milli{4000}}};
  world.feed(PutGpu{GpuId{0}, gpu});
  QueueSpec queue{.work_class = WorkClassId{1}, .batch_base = seconds(1)};
  world.queue(queue);
  for (int i = 0; i < 4; ++i) {
    const TaskNo task = world.submit(task_spec(Mib{100}, Duration{0}));
    const LeaseId lease = world.all<BatchStarted>().at(0).lease;
    world.feed(LeaseStarted{lease});
    world.wait(seconds(2));
    world.feed(LeaseEnded{lease, {{task, true}}});
  }
  const Queue& learned = world.state().queue(QueueId{0});
  ASSERT_TRUE(learned.batch_time.known());
  EXPECT_EQ(learned.batch_time.predict(1), seconds(8));
  queue.max_batch_size = 2;
  world.feed(PutQueue{QueueId{0}, queue});
  EXPECT_TRUE(world.state().queue(QueueId{0}).batch_time.known());
  queue.work_class = WorkClassId::none();
  world.feed(PutQueue{QueueId{0}, queue});
  EXPECT_FALSE(world.state().queue(QueueId{0}).batch_time.known());
}

}  // namespace
}  // namespace berth::core::build_batch_test
