// Histories that random ones reach too rarely, as plain sequences.
#include <utility>

#include <gtest/gtest.h>

#include "core/state/state.h"
#include "tests/property/world.h"

namespace berth::property {
namespace {

// Records what it feeds, so that another engine can recover from it.
struct Recorder {
  core::Engine engine;
  Time now{0};
  std::vector<Step> steps;

  const core::Actions& feed(core::EventBody body) {
    steps.push_back({{now, std::move(body)}, 0, {}});
    steps.back().from_timers = engine.step(steps.back().event, steps.back().actions);
    return steps.back().actions;
  }
  TaskNo submit(core::TaskSpec spec) {
    const TaskNo task = engine.next_task_no();
    feed(core::Submit{task, std::move(spec)});
    return task;
  }
  core::Engine recovered() const {
    core::Engine other;
    for (const Step& step : steps) {
      for (std::size_t a = 0; a < step.from_timers; ++a)
        other.apply(step.actions[a]);
      other.apply(step.event);
      for (std::size_t a = step.from_timers; a < step.actions.size(); ++a) {
        other.apply(step.actions[a]);
      }
    }
    return other;
  }
};

core::TaskSpec task_in(std::uint32_t queue, Duration run = seconds(1)) {
  core::TaskSpec spec;
  spec.tenant = TenantId{0};
  spec.queue = QueueId{queue};
  spec.expected_run = run;
  return spec;
}

// More timers are due at one instant than one round fires: nothing is decided in between, or the
// record, in which they all have fired before the first action, would lead elsewhere.
TEST(PlainHistories, ManyTimersAtOneInstantRecover) {
  constexpr std::uint32_t kQueues = 300;
  Recorder recorder;
  recorder.feed(core::PutGpu{GpuId{0}, {.vram = Mib{16'000}}});
  recorder.feed(core::PutTenant{TenantId{0}, {}});
  for (std::uint32_t i = 0; i < kQueues; ++i) {
    recorder.feed(core::PutQueue{QueueId{i}, {.max_batch_size = 2, .max_batch_wait = seconds(1)}});
  }
  // The best head is in the last queue, whose timer fires last.
  for (std::uint32_t i = kQueues; i-- > 0;)
    recorder.submit(task_in(i));
  recorder.now = Time{0} + seconds(1);
  recorder.feed(core::Tick{});
  core::Engine recovered = recorder.recovered();
  EXPECT_EQ(recovered.check_invariants(), std::vector<std::string>{});
  for (std::int64_t at = 2; at < 80; ++at) {
    core::Actions live;
    core::Actions again;
    const core::Event event{Time{0} + seconds(at),
                            core::LeaseEnded{LeaseId{static_cast<std::uint64_t>(at) - 2}, {}}};
    recorder.engine.step(event, live);
    recovered.step(event, again);
    ASSERT_EQ(live.size(), again.size()) << "at " << at << " s";
    ASSERT_TRUE(live == again) << "at " << at << " s";
  }
}

// Numbers of buckets in a window of another length mean other instants.
TEST(PlainHistories, AChangedUsageWindowStillForgets) {
  Recorder recorder;
  core::PolicySpec policy;
  policy.order = core::Order::cost_aware;
  policy.usage_window = seconds(3);
  recorder.feed(core::SetPolicy{policy});
  recorder.feed(core::PutGpu{GpuId{0}, {.vram = Mib{16'000}}});
  recorder.feed(core::PutTenant{TenantId{0}, {}});
  recorder.feed(core::PutQueue{QueueId{0}, {}});
  recorder.now = Time{0} + minutes(60);
  recorder.submit(task_in(0));
  recorder.now = recorder.now + seconds(1);
  recorder.feed(core::LeaseEnded{LeaseId{0}, {}});
  EXPECT_GT(recorder.engine.state().tenants[0].usage.sum_us, 0);
  policy.usage_window = minutes(50);
  recorder.feed(core::SetPolicy{policy});
  recorder.now = recorder.now + minutes(120);
  recorder.feed(core::Tick{});
  EXPECT_EQ(recorder.engine.state().tenants[0].usage.sum_us, 0);
  EXPECT_EQ(recorder.engine.check_invariants(), std::vector<std::string>{});
}

// A gang that loses a GPU is undone: nobody pays for it, and nothing is learned from it.
TEST(PlainHistories, ALostGangCostsNothing) {
  Recorder recorder;
  for (std::uint32_t i = 0; i < 2; ++i) {
    recorder.feed(core::PutGpu{GpuId{i}, {.vram = Mib{16'000}}});
  }
  recorder.feed(core::PutTenant{TenantId{0}, {}});
  recorder.feed(core::PutQueue{QueueId{0}, {}});
  core::TaskSpec gang = task_in(0, seconds(10));
  gang.gpus = 2;
  const TaskNo task = recorder.submit(gang);
  recorder.now = Time{0} + seconds(4);
  recorder.feed(core::GpuLost{GpuId{1}});
  recorder.feed(core::Cancel{task});
  recorder.now = Time{0} + seconds(5);
  recorder.feed(core::LeaseEnded{LeaseId{0}, {}});
  const core::State& state = recorder.engine.state();
  EXPECT_EQ(state.tenants[0].ledger.net_us(), 0);
  EXPECT_EQ(state.queues[0].batch_time.count, 0);
  EXPECT_EQ(state.running.leases, 0U);
}

// More doomed tasks than one step decides, freed by another dependency meanwhile: none may start.
TEST(PlainHistories, DoomedDependantsFailHoweverManyThereAre) {
  Recorder recorder;
  recorder.feed(core::PutGpu{GpuId{0}, {.vram = Mib{16'000}}});
  recorder.feed(core::PutTenant{TenantId{0}, {}});
  recorder.feed(core::PutQueue{QueueId{0}, {.max_batch_size = 2, .max_batch_wait = seconds(1)}});
  const TaskNo failing = recorder.submit(task_in(0));
  const TaskNo completing = recorder.submit(task_in(0));
  core::TaskSpec dependant = task_in(0);
  for (const TaskNo on : {failing, completing}) {
    dependant.depends_on.push_back({core::Dependency::Kind::task, on.value});
  }
  constexpr int kDependants = 600;
  for (int i = 0; i < kDependants; ++i)
    recorder.submit(dependant);
  recorder.now = Time{0} + seconds(1);
  const core::TaskOutcome error{failing, false, core::Failure::error};
  int failed = 0;
  const auto count = [&](const core::Actions& actions) {
    for (const core::Action& action : actions) {
      EXPECT_FALSE(std::holds_alternative<core::TaskReady>(action));
      const auto* finished = std::get_if<core::TaskFinished>(&action);
      if (finished != nullptr && finished->reason.code == core::ReasonCode::dependency_failed) {
        ++failed;
      }
    }
  };
  count(recorder.feed(core::LeaseEnded{LeaseId{0}, {error}}));
  EXPECT_LT(failed, kDependants);
  while (recorder.engine.next_wakeup() <= recorder.now) {
    EXPECT_EQ(recorder.engine.check_invariants(), std::vector<std::string>{});
    count(recorder.feed(core::Tick{}));
  }
  EXPECT_EQ(failed, kDependants);
  EXPECT_EQ(recorder.engine.state().tasks.live(), 0U);
}

// A node that is put anew with fewer CPUs than are used there has none left; a gang that asks for
// none starts there all the same.
TEST(PlainHistories, AGangWithoutCpusStartsWhereTooManyAreUsed) {
  Recorder recorder;
  recorder.feed(core::PutNode{NodeId{0}, {RackId{0}, Milli{8000}, Mib{32'000}}});
  for (std::uint32_t i = 0; i < 2; ++i)
    recorder.feed(core::PutGpu{GpuId{i}, {.vram = Mib{16'000}}});
  recorder.feed(core::PutTenant{TenantId{0}, {}});
  recorder.feed(core::PutQueue{QueueId{0}, {}});
  core::TaskSpec cpus = task_in(0, seconds(100));
  cpus.gpus = 0;
  cpus.cpu = Milli{1000};
  recorder.submit(cpus);
  recorder.feed(core::PutNode{NodeId{0}, {RackId{0}, Milli{0}, Mib{32'000}}});
  core::TaskSpec gang = task_in(0, seconds(10));
  gang.gpus = 2;
  recorder.submit(gang);
  EXPECT_EQ(recorder.engine.state().running.leases, 2U);
  EXPECT_EQ(recorder.engine.check_invariants(), std::vector<std::string>{});
}

// Below its minimum all ranks are one to a queue: when its leader falls behind, its key may fall,
// also while the queue is blocked.
TEST(PlainHistories, ABlockedQueueFollowsItsLeader) {
  Recorder recorder;
  core::PolicySpec policy;
  policy.order = core::Order::slowdown;
  recorder.feed(core::SetPolicy{policy});
  recorder.feed(core::PutGpu{GpuId{0}, {.vram = Mib{16'000}}});
  recorder.feed(core::PutModel{ModelId{0}, {.weights = Mib{1000}}});
  recorder.feed(core::PutQueue{QueueId{0}, {.model = ModelId{0}, .min_gpus = Milli{1000}}});
  recorder.feed(core::PutTenant{TenantId{0}, {}});
  recorder.feed(core::PutTenant{TenantId{1}, {.guaranteed_gpus = Milli{2000}}});
  recorder.submit(task_in(0, seconds(7)));  // its model is being loaded
  recorder.feed(core::PutGpu{GpuId{1}, {.vram = Mib{16'000}}});
  core::TaskSpec guaranteed = task_in(0, Duration{0});
  guaranteed.vram = Mib{2560};
  guaranteed.tenant = TenantId{1};
  guaranteed.tier = 3;
  recorder.submit(guaranteed);
  recorder.now = recorder.now + minutes(11);
  recorder.feed(core::Tick{});  // it has crossed tiers, and leads
  EXPECT_TRUE(recorder.engine.state().queue(QueueId{0}).blocked);
  EXPECT_EQ(recorder.engine.check_invariants(), std::vector<std::string>{});
  guaranteed.share = Milli{200};  // less for as long, so that it is its flow's first
  guaranteed.priority = -1;
  recorder.submit(guaranteed);
  EXPECT_EQ(recorder.engine.check_invariants(), std::vector<std::string>{});
}

// A bounded count per step, oldest first; recovery in the middle goes on where it was.
TEST(PlainHistories, ALargeGroupIsCancelledInSeveralSteps) {
  Recorder recorder;
  recorder.feed(core::PutGpu{GpuId{0}, {.vram = Mib{16'000}}});
  recorder.feed(core::PutTenant{TenantId{0}, {}});
  recorder.feed(core::PutQueue{QueueId{0}, {}});
  core::TaskSpec member = task_in(0);
  member.group = GroupId{5};
  constexpr std::uint64_t kMembers = 1000;
  for (std::uint64_t i = 0; i < kMembers; ++i)
    recorder.submit(member);
  const std::size_t decided = recorder.feed(core::CancelGroup{GroupId{5}}).size();
  EXPECT_LT(decided, 300U);
  EXPECT_EQ(recorder.engine.next_wakeup(), recorder.now);
  core::Engine recovered = recorder.recovered();
  EXPECT_EQ(recovered.check_invariants(), std::vector<std::string>{});
  // Another event finds the cancel done first; what it brings into the group stays.
  const TaskNo later = recorder.submit(member);
  core::Actions again;
  recovered.step(recorder.steps.back().event, again);
  EXPECT_TRUE(again == recorder.steps.back().actions);
  EXPECT_EQ(recorder.engine.state().tasks.live(), 1U);
  EXPECT_NE(recorder.engine.state().tasks.slot_of(later), core::kNoSlot);
  EXPECT_EQ(recorder.engine.check_invariants(), std::vector<std::string>{});
}

}  // namespace
}  // namespace berth::property
