// check_state finds what is wrong: a rich history is clean, and each of many single mutations of
// its state (a wrong ledger, a lost index entry, a stale key, …) is reported.
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "core/engine.h"
#include "core/state/state.h"

namespace berth::core::check_test {
namespace {

TaskSpec task_of(std::uint32_t tenant, std::uint32_t queue, std::int64_t vram = 1000) {
  TaskSpec spec;
  spec.tenant = TenantId{tenant};
  spec.queue = QueueId{queue};
  spec.vram = Mib{vram};
  spec.expected_run = seconds(10);
  return spec;
}

// Two GPUs, two models, five queues, three tenants; running, pending, waiting and held tasks, a
// batch that fills, a queue that was passed over, a GPU held for overdue work, a load under way.
class CheckState : public testing::Test {
 protected:
  void SetUp() override {
    PolicySpec policy;
    policy.patience = seconds(5);
    feed(SetPolicy{policy});
    feed(PutGpu{GpuId{0}, {NodeId{0}, KindId{0}, Mib{40'000}, Milli{1000}}});
    feed(PutGpu{GpuId{1}, {NodeId{0}, KindId{0}, Mib{20'000}, Milli{1000}}});
    feed(PutModel{ModelId{0}, {.weights = Mib{4000}}});
    feed(PutModel{ModelId{1}, {.weights = Mib{3000}}});
    feed(PutQueue{kPlain, {}});
    feed(PutQueue{kModel, {.model = ModelId{0}, .max_batch_size = 4}});
    feed(PutQueue{kFilling, {.max_batch_size = 8, .max_batch_wait = seconds(60)}});
    feed(PutQueue{kCold, {.model = ModelId{1}}});
    feed(PutQueue{kLarge, {}});
    for (std::uint32_t i = 0; i < 3; ++i) {
      feed(PutTenant{TenantId{i}, {.weight = Milli{1000 + 500 * i}}});
    }
    feed(PutTenant{TenantId{kGroup}, {.guaranteed_gpus = Milli{1000}}});
    feed(PutTenant{TenantId{kMember}, {.parent = TenantId{kGroup}}});
    feed(ModelLoaded{GpuId{0}, ModelId{0}, true, seconds(1)});

    TaskSpec shared = task_of(0, 0, 2000);
    shared.share = Milli{300};
    submit(shared);  // runs on one GPU beside others
    TaskSpec with_model = task_of(1, 1, 2000);
    with_model.share = Milli{300};
    for (int i = 0; i < 3; ++i)
      submit(with_model);
    submit(task_of(2, 0, 1000));  // takes the other GPU whole
    for (int i = 0; i < 3; ++i) {
      for (std::uint32_t tenant = 0; tenant < 3; ++tenant) {
        TaskSpec pending = task_of(tenant, 0, 3000);
        pending.priority = static_cast<std::int16_t>(i);
        pending.tier = static_cast<std::uint8_t>(tenant);
        pending.tolerated_wait = minutes(10);
        submit(pending);
      }
    }
    submit(task_of(kMember, 0, 3000));
    for (int i = 0; i < 2; ++i)
      submit(task_of(0, 2));        // fills
    submit(task_of(1, 3));          // cold
    submit(task_of(1, 4, 30'000));  // needs the large GPU
    TaskSpec waiting = task_of(0, 0);
    waiting.depends_on = {{Dependency::Kind::task, 5}, {Dependency::Kind::signal, 7}};
    waiting.group = GroupId{3};
    submit(waiting);
    waiting.depends_on = {{Dependency::Kind::task, 5}};
    submit(waiting);
    TaskSpec later = task_of(1, 0);
    later.not_before = seconds_at(100);
    later.group = GroupId{3};
    submit(later);
    TaskSpec held = task_of(2, 0);
    held.held = true;
    submit(held);
    at_ = seconds_at(2);
    // Small work goes on starting beside the first batch, so that the large head is passed over.
    TaskSpec small = task_of(2, 0, 10);
    small.share = Milli{100};
    small.priority = 5;
    for (int i = 0; i < 3; ++i)
      submit(small);
    at_ = seconds_at(12);
    feed(Tick{});
    feed(GpuUtilisation{GpuId{0}, Milli{350}});
    ASSERT_EQ(engine_.check_invariants(), std::vector<std::string>{});
  }

  static constexpr QueueId kPlain{0};
  static constexpr QueueId kModel{1};
  static constexpr QueueId kFilling{2};
  static constexpr QueueId kCold{3};
  static constexpr QueueId kLarge{4};
  static constexpr std::uint32_t kGroup = 3;  // tenants: one with a guarantee, and one below it
  static constexpr std::uint32_t kMember = 4;

  static Time seconds_at(std::int64_t n) { return Time{0} + seconds(n); }

  void feed(EventBody body) {
    Actions actions;
    engine_.step({at_, std::move(body)}, actions);
    ASSERT_EQ(engine_.check_invariants(), std::vector<std::string>{});
  }
  void submit(const TaskSpec& spec) { feed(Submit{engine_.next_task_no(), spec}); }

  State& state() { return const_cast<State&>(engine_.state()); }

  std::uint32_t find_task(TaskState wanted) {
    for (std::uint32_t slot = 0; slot < state().tasks.slots(); ++slot) {
      if (state().tasks.is_live(slot) && state().tasks.row(slot).state == wanted) return slot;
    }
    ADD_FAILURE() << "no task is " << name_of(wanted);
    return 0;
  }
  std::uint32_t find_lease_slot() {
    for (std::uint32_t slot = 0; slot < state().leases.size(); ++slot) {
      if (state().leases[slot].id) return slot;
    }
    ADD_FAILURE() << "nothing runs";
    return 0;
  }
  std::uint32_t find_flow() {
    for (std::uint32_t flow = 0; flow < state().flows.size(); ++flow) {
      if (state().flows.flow(flow).live > 1) return flow;
    }
    ADD_FAILURE() << "no flow has two tasks";
    return 0;
  }
  QueueId find_queue(const std::function<bool(const Queue&)>& wanted) {
    for (std::uint32_t i = 0; i < state().queues.size(); ++i) {
      if (wanted(state().queues[i])) return QueueId{i};
    }
    ADD_FAILURE() << "no such queue";
    return QueueId{0};
  }

  void expect_found(const char* what) {
    const auto findings = engine_.check_invariants();
    EXPECT_FALSE(findings.empty()) << what << " was not found";
    for (const std::string& finding : findings)
      EXPECT_GT(finding.size(), 10U);
  }

  Engine engine_;
  Time at_{0};
};

// MUTATION(Name, statement): the statement damages the state, and the check must say so.
#define MUTATION(name, ...)     \
  TEST_F(CheckState, name) {    \
    State& s = state();         \
    __VA_ARGS__;                \
    expect_found(#__VA_ARGS__); \
  }

TEST_F(CheckState, TheHistoryIsRichAndClean) {
  const State& s = state();
  EXPECT_GT(s.running.leases, 1U);
  EXPECT_GT(s.turn.size() + s.overdue.size(), 0U);
  EXPECT_FALSE(s.timers.heap_of(TimerKind::fill).empty());
  EXPECT_FALSE(s.timers.heap_of(TimerKind::tier).empty());
  EXPECT_FALSE(s.timers.heap_of(TimerKind::task).empty());
  EXPECT_FALSE(s.groups.empty());
  EXPECT_FALSE(s.shapes.empty());
}

// Ledgers.
MUTATION(TenantLive, ++s.tenants[0].live)
MUTATION(TenantQueued, --s.tenants[1].queued)
MUTATION(TenantPending, ++s.tenants[1].pending)
MUTATION(TenantInUse, s.tenants[0].in_use += Milli{100})
MUTATION(TenantSubtreeUse, s.tenants[0].subtree_use += Milli{100})
MUTATION(TenantChildren, s.tenants[kGroup].children.pop_back())
MUTATION(TenantInTree, s.tenants[0].in_tree ^= true)
MUTATION(TenantWorks, s.tenants[kMember].works ^= true)
MUTATION(TenantMembers, s.tenants[kGroup].members += 1)
MUTATION(TenantRefunds, s.tenants[0].ledger.refunded_us += 1)
MUTATION(TenantCharges, --s.tenants[2].ledger.charged_us)
MUTATION(LeaseTaskCharge, --s.leases[find_lease_slot()].tasks[0].charged_us)
MUTATION(TenantUsage, s.tenants[0].usage.sum_us += 5)
MUTATION(QueuePending, ++s.queue(kPlain).pending)
MUTATION(QueueWork, s.queue(kPlain).pending_work_us -= 1)
MUTATION(QueueInUse, s.queue(kPlain).in_use -= Milli{1})
MUTATION(ModelBacklog, ++s.models[1].backlog)
MUTATION(ModelResident, --s.models[0].resident)
MUTATION(ModelResidentOpen, ++s.models[0].resident_open)
MUTATION(ModelFailingGpus, ++s.models[0].failing_gpus)
MUTATION(LoadPauses, s.gpus[0].pauses.push_back({ModelId{0}, 1, seconds_at(99)}))
MUTATION(ResidenceLoad, s.gpus[0].residences[0].load = LoadId{s.next_load})
MUTATION(ModelGpus, s.models[0].gpus.clear())
MUTATION(ModelQueues, s.models[0].queues.clear())
MUTATION(GpuLeased, s.gpus[0].leased += Mib{1})
MUTATION(GpuWeights, s.gpus[0].weights -= Mib{1})
MUTATION(GpuWeightsBusy, s.gpus[0].weights_busy += Mib{1})
MUTATION(GpuShares, s.gpus[1].shares += Milli{1})
MUTATION(GpuLeases, s.gpus[0].leases.pop_back())
MUTATION(GpuUsable, s.gpus[0].usable += Mib{1})
MUTATION(GpusAccepting, s.accepting.erase(usable_key(s, GpuId{0})))
MUTATION(GpusHoldable, s.holdable.erase(*s.holdable.last()))
MUTATION(QueueStartable, ++s.queue(kPlain).startable)
MUTATION(QueueStartableApart, ++s.queue(kPlain).startable_apart)
MUTATION(QueueQueued, ++s.queue(kPlain).queued)
MUTATION(TenantCompeting, ++s.tenants[1].competing[1])
MUTATION(TenantCompetesUnseen, s.competing[1].erase(s.competing_positions[1], 1))
MUTATION(TenantCompetesTooHigh,
         s.competing[1].put(s.competing_positions[1], 1, {s.tenants[1].v_us + 1, 1}))
MUTATION(FlowCompetes, s.flows.flow(find_flow()).competes ^= true)
MUTATION(HeadsByUse, s.tenants[0].heads_by_use.insert(7))
MUTATION(HeadsByUseAbove, s.tenants[kGroup].heads_by_use = OrderedSet{})
MUTATION(LiveLeases, ++s.running.leases)
MUTATION(RunningEnds, ++s.running.ends_us)
MUTATION(QueueRunning, ++s.queue(kPlain).running.leases)
MUTATION(LeaseLive, ++s.leases[find_lease_slot()].live)
MUTATION(LeaseIndex, s.lease_index.erase(s.leases[find_lease_slot()].id.value))
MUTATION(LeaseOnAPartOfItsGpus, s.tasks.row(find_task(TaskState::starting)).gpus += 1)
MUTATION(LeaseGpusTooMany, {
  Lease& lease = s.leases[find_lease_slot()];
  lease.gpus.push_back(lease.gpus.front());
})
MUTATION(QueueGangs, ++s.queue(kPlain).gangs)
MUTATION(QueueNextModel, s.queue(kFilling).next_model = ModelId{0})
MUTATION(LeaseGpus, s.leases[find_lease_slot()].gpus.clear())

// Tasks and lanes.
MUTATION(TaskStateRunning, s.tasks.row(find_task(TaskState::pending)).state = TaskState::running)
MUTATION(TaskStatePending, s.tasks.row(find_task(TaskState::starting)).state = TaskState::pending)
MUTATION(TaskLease, s.tasks.row(find_task(TaskState::starting)).lease += 7)
MUTATION(TaskStamp, ++s.tasks.row(find_task(TaskState::pending)).stamp)
MUTATION(TaskEligible, s.tasks.row(find_task(TaskState::pending)).eligible = seconds_at(500))
MUTATION(LaneLive, ++s.flows.flow(find_flow()).lanes.front().live)
MUTATION(LaneOrder, s.flows.flow(find_flow()).lanes.front().priority += 9)
MUTATION(FlowLive, --s.flows.flow(find_flow()).live)
MUTATION(FlowHead, s.flows.flow(find_flow()).head.vram += 1)
MUTATION(FlowHeadSlot, s.flows.flow(find_flow()).head.slot = find_task(TaskState::waiting))
MUTATION(FlowCrossed, s.flows.flow(find_flow()).crossed ^= true)

// Heaps of flows and queues.
MUTATION(FlowHeapEntryLost, {
  Queue& queue = s.queue(kPlain);
  queue.flows.erase(s.flow_positions, queue.flows.entries().back().handle);
})
MUTATION(FlowHeapKeyTooHigh, {
  Queue& queue = s.queue(kPlain);
  const auto last = queue.flows.entries().back();
  queue.flows.put(s.flow_positions, last.handle, {9, 9, 9, 9});
})
MUTATION(FlowHeapTopTooLow, {
  Queue& queue = s.queue(kPlain);
  queue.flows.put(s.flow_positions, queue.flows.top().handle, {-1, 0, 0, 0});
})
MUTATION(HeapPosition, s.flow_positions.set(s.queue(kPlain).flows.top().handle, 1))
MUTATION(OldestLost, {
  Queue& queue = s.queue(kPlain);
  queue.oldest.erase(s.oldest_positions, queue.oldest.top().handle);
})
MUTATION(OldestWrong, {
  Queue& queue = s.queue(kPlain);
  const auto top = queue.oldest.top();
  queue.oldest.put(s.oldest_positions, top.handle, {top.key.eligible_ns - 1, top.key.flow});
})
MUTATION(LeaderFlow, s.queue(kPlain).leader_flow += 1)
MUTATION(LeaderSlot, s.queue(kPlain).leader_slot += 1)
MUTATION(LedList, s.tenants[0].first_led = s.tenants[1].first_led = UINT32_MAX;
         s.tenants[2].first_led = UINT32_MAX)
MUTATION(TenantFlows, s.tenants[0].flows.pop_back())
MUTATION(QueueMembers, s.queue(kPlain).members.pop_back())

// Readiness, bench, turn, patience.
MUTATION(Ready, s.queue(kFilling).ready = true)
MUTATION(Draining, s.queue(kFilling).draining = true)
MUTATION(NotReady, s.queue(kPlain).ready = false)
MUTATION(QueueKey, s.queue(kPlain).key.value += 1)
MUTATION(BatchWait, s.queue(kFilling).wait = seconds(3))
MUTATION(StaleBench, s.queue(kPlain).bench = Bench::none)
MUTATION(BenchNeed, s.queue(kPlain).bench_need += 1)
MUTATION(BenchEntryLost, {
  const Queue& queue = s.queue(kPlain);
  s.shapes[queue.bench_shape].erase(s.bench_positions, kPlain.value, queue.bench_need);
})
MUTATION(BenchKey, {
  const Queue& queue = s.queue(kPlain);
  s.shapes[queue.bench_shape].erase(s.bench_positions, kPlain.value, queue.bench_need);
  s.shapes[queue.bench_shape].insert(s.bench_positions, kPlain.value, queue.bench_need, {});
})
MUTATION(TurnLost, s.turn.erase(s.turn_positions, s.turn.top().handle))
MUTATION(CopyWithoutTimer, {
  const QueueId queue = find_queue([](const Queue& q) { return q.copy_at == Time::never(); });
  s.queue(queue).copy_at = seconds_at(100);
})
MUTATION(CopyNeverWaitedFor, s.queue(kPlain).wants_copy = true)
MUTATION(DueWithoutTimer, {
  const QueueId queue = find_queue([](const Queue& q) { return q.due == Time::never(); });
  s.queue(queue).due = seconds_at(100);
})
MUTATION(OverdueSet, s.overdue.insert({seconds_at(1), kFilling}))
MUTATION(DeclinedSet, s.declined.insert(kPlain))
MUTATION(HoldingSet, s.holding.insert(kFilling))
MUTATION(HeldGpu, s.gpus[1].held_for = s.gpus[1].held_for ? QueueId::none() : kPlain)

// Indexes by room.
MUTATION(FreeFitLost, {
  ASSERT_TRUE(s.gpus[0].indexed);
  s.free_fit.erase(GpuId{0}, s.gpus[0].free_entry);
})
MUTATION(FreeFitAmount, {
  ASSERT_TRUE(s.gpus[0].indexed);
  s.free_fit.erase(GpuId{0}, s.gpus[0].free_entry);
  s.gpus[0].free_entry.amount += Mib{1};
  s.free_fit.insert(GpuId{0}, s.gpus[0].free_entry);
})
MUTATION(ReclaimFitLost, s.reclaim_fit.erase(GpuId{0}, s.gpus[0].reclaim_entry))
MUTATION(ModelFitLost, s.models[0].fit.erase(GpuId{0}, s.gpus[0].free_entry))
MUTATION(FitEntryTooMany, s.free_fit.insert(GpuId{1}, {Mib{5}, true, Milli{0}}))
MUTATION(UsableLost, s.usable.erase(static_cast<std::uint64_t>(s.gpus[0].usable.value) << 32))
MUTATION(ReportedUtilisation, s.gpus[0].reported = Milli{840})

// Timers.
MUTATION(TaskTimerLost,
         { s.timers.clear(TimerKind::task, s.timers.heap_of(TimerKind::task).top().handle); })
MUTATION(TaskTimerLate, {
  const auto top = s.timers.heap_of(TimerKind::task).top();
  s.timers.set(TimerKind::task, top.handle, top.key.id, top.key.due + Duration{1});
})
MUTATION(TaskTimerForNothing,
         s.timers.set(TimerKind::task, find_task(TaskState::starting), 0, seconds_at(99)))
MUTATION(LeaseTimerLost, s.timers.clear(TimerKind::lease, find_lease_slot()))
MUTATION(FillTimerLost, s.timers.clear(TimerKind::fill, kFilling.value))
MUTATION(TierTimerLost,
         s.timers.clear(TimerKind::tier, s.timers.heap_of(TimerKind::tier).top().handle))
MUTATION(UsageTimerForNothing, s.timers.set(TimerKind::usage, 0, 0, seconds_at(99)))

// Links.
MUTATION(DependantLost, {
  const std::uint32_t source = s.tasks.slot_of(TaskNo{5});
  ASSERT_FALSE(s.tasks.take_dependants(source).empty());
})
MUTATION(Unresolved, {
  for (std::uint32_t slot = 0; slot < s.tasks.slots(); ++slot) {
    if (s.tasks.is_live(slot) && s.tasks.row(slot).unresolved > 1) --s.tasks.row(slot).unresolved;
  }
})
MUTATION(SignalWaiterLost, s.signals.at(SignalId{7}).waiters.clear())
MUTATION(GroupLost, s.groups.clear())
MUTATION(GroupLink, s.tasks.extra_of(s.groups.at(GroupId{3}).first).group_next = kNoSlot)
MUTATION(GroupLast, s.groups.at(GroupId{3}).last = s.groups.at(GroupId{3}).first)
MUTATION(CancellingNothing, s.cancelling[GroupId{99}] = TaskNo{1})
MUTATION(NodeGpus, s.nodes[0].gpus.clear())
MUTATION(NodeCpu, s.nodes[0].cpu_used = Milli{1})
MUTATION(NodeMemory, s.nodes[0].memory_used = Mib{1})
MUTATION(NodeLeases, s.nodes[0].leases.push_back(0))
MUTATION(RipeButPending, s.ripe[s.tasks.row(find_task(TaskState::pending)).no])
MUTATION(RipeButDependent, {
  for (std::uint32_t slot = 0; slot < s.tasks.slots(); ++slot) {
    if (s.tasks.is_live(slot) && s.tasks.row(slot).unresolved > 0) s.ripe[s.tasks.row(slot).no];
  }
})

#undef MUTATION

}  // namespace
}  // namespace berth::core::check_test
