// The sequencer with its release, without threads: submits, duplicates, workflows, control, agents,
// and the replayer held against the live state.
#include "service/sequencer.h"

#include <limits>

#include <gtest/gtest.h>

#include "core/state/state.h"
#include "service/testing/desk.h"

namespace berth::service::sequencer_test {
namespace {

using core::TaskState;
using testing::Desk;
using testing::new_task;
using Kind = SubmitOutcome::Kind;

class Sequencing : public ::testing::Test {
 public:
  Sequencing() { desk_.furnish(); }
  ~Sequencing() override {
    // Whatever a test did: the journal leads to the same state as the live run.
    EXPECT_EQ(desk_.differences(), std::vector<std::uint32_t>{});
    const auto [released, engine, replayed] = desk_.ledgers();
    EXPECT_EQ(released, engine);
    EXPECT_EQ(replayed, engine);
  }

 protected:
  Desk desk_;
};

TEST_F(Sequencing, ATaskRunsAndEnds) {
  const SubmitOutcome outcome = desk_.submit(new_task("a"));
  EXPECT_EQ(outcome.kind, Kind::accepted);
  ASSERT_EQ(desk_.agent.leases.size(), 1U);
  EXPECT_EQ(desk_.agent.leases[0].tasks(0).task_id(), "a");
  EXPECT_EQ(desk_.agent.leases[0].tasks(0).tenant(), "alice");
  ASSERT_EQ(desk_.ended.size(), 1U);
  EXPECT_EQ(desk_.ended[0].state, TaskState::completed);
  ASSERT_EQ(desk_.ended[0].attempts.size(), 1U);
  v1::TaskResult result;
  ASSERT_TRUE(result.ParseFromString(desk_.ended[0].attempts[0].result));
  EXPECT_EQ(result.result(), "done");
  EXPECT_EQ(desk_.agent.acknowledged, 2U);
}

TEST_F(Sequencing, ItsStepsCanBeFollowed) {
  desk_.submit(new_task("a"));
  const Feed::Answer all = desk_.feed.read(0, 100);
  std::vector<TaskState> states;
  for (const TaskChange& change : all.changes)
    states.push_back(change.state);
  EXPECT_EQ(states, (std::vector{TaskState::pending, TaskState::starting, TaskState::running,
                                 TaskState::completed}));
  EXPECT_EQ(desk_.feed.read(all.changes[1].sequence, 100).changes.size(), 2U);
  EXPECT_EQ(desk_.feed.read(all.last, 100).changes.size(), 0U);
}

TEST_F(Sequencing, TheSameIdAndContentIsTheSameTask) {
  const SubmitOutcome first = desk_.submit(new_task("a"));
  const SubmitOutcome again = desk_.submit(new_task("a"));
  EXPECT_EQ(again.kind, Kind::duplicate);
  EXPECT_EQ(again.task, first.task);
  NewTask other = new_task("a");
  other.card->digest = 2;
  EXPECT_EQ(desk_.submit(std::move(other)).kind, Kind::conflict);
  EXPECT_EQ(desk_.ended.size(), 1U);
}

TEST_F(Sequencing, ARequestIdIsRememberedForADayPastTheEnd) {
  NewTask task = new_task();
  task.card->request_id = "r";
  const SubmitOutcome first = desk_.submit(std::move(task));
  const auto again = [&] {
    NewTask same = new_task();
    same.card->request_id = "r";
    return desk_.submit(std::move(same));
  };
  desk_.wait(minutes(24 * 60 - 1));
  EXPECT_EQ(again().task, first.task);
  desk_.wait(minutes(2));
  EXPECT_EQ(again().kind, Kind::accepted);
}

TEST_F(Sequencing, AnUnknownTenantIsMadeAndAnUnknownQueueRefused) {
  EXPECT_TRUE(desk_.sequencer.names().tenant("alice") == TenantId::none());
  desk_.submit(new_task("a"));
  EXPECT_TRUE(desk_.sequencer.names().tenant("alice") != TenantId::none());
  const SubmitOutcome refused = desk_.submit(new_task("b", "lmm"));
  EXPECT_EQ(refused.kind, Kind::unknown_queue);
  EXPECT_EQ(refused.what, "lmm");
}

TEST(KindsOfGpu, ATaskRunsOnTheKindsItNames) {
  Desk desk;
  desk.agent.kinds = {"a100", "l4"};
  desk.furnish();
  NewTask small = new_task("a");
  small.gpu_kinds = {"l4"};
  EXPECT_EQ(desk.submit(std::move(small)).kind, Kind::accepted);
  ASSERT_EQ(desk.agent.leases.size(), 1U);
  ASSERT_EQ(desk.agent.leases[0].gpus_size(), 1);
  EXPECT_EQ(desk.agent.leases[0].gpus(0), "GPU-1");
  NewTask gang = new_task("b");
  gang.spec.gpus = 2;
  gang.gpu_kinds = {"l4", "a100"};
  EXPECT_EQ(desk.submit(std::move(gang)).kind, Kind::accepted);
  ASSERT_EQ(desk.agent.leases.size(), 2U);
  EXPECT_EQ(desk.agent.leases[1].gpus_size(), 2);
  NewTask large = new_task("c");
  large.spec.gpus = 2;
  large.gpu_kinds = {"l4"};
  EXPECT_EQ(desk.submit(std::move(large)).reason.code, core::ReasonCode::gpus_over_cluster);
  EXPECT_EQ(desk.differences(), std::vector<std::uint32_t>{});
}

TEST_F(Sequencing, AKindThatNobodyHasIsRefusedAndMakesNoTenant) {
  NewTask task = new_task("a");
  task.gpu_kinds = {"test", "tset"};
  const SubmitOutcome refused = desk_.submit(std::move(task));
  EXPECT_EQ(refused.kind, Kind::unknown_gpu_kind);
  EXPECT_EQ(refused.what, "tset");
  EXPECT_TRUE(desk_.sequencer.names().tenant("alice") == TenantId::none());
}

TEST_F(Sequencing, AnUnknownTenantIsRefusedWhereSubmitsMakeNone) {
  desk_.control(DefineTenantDefaults{.make_unknown = false});
  EXPECT_EQ(desk_.submit(new_task("a")).kind, Kind::unknown_tenant);
  desk_.control(DefineTenant{"alice", {}});
  EXPECT_EQ(desk_.submit(new_task("a")).kind, Kind::accepted);
}

TEST_F(Sequencing, TheDefaultsOfNewTenantsCanChange) {
  desk_.submit(new_task("a"));
  desk_.control(DefineTenantDefaults{{.weight = Milli{3000}}, 2, 2});
  NewTask task = new_task("b");
  task.tenant = "bob";
  EXPECT_EQ(desk_.submit(std::move(task)).kind, Kind::accepted);
  const std::vector<TenantEntry>& tenants = desk_.sequencer.names().tenants();
  ASSERT_EQ(tenants.size(), 2U);
  EXPECT_EQ(tenants[0].spec.weight, Milli{1000});
  EXPECT_EQ(tenants[1].spec.weight, Milli{3000});
  EXPECT_EQ(tenants[1].tier, 2);
  NewTask third = new_task("c");
  third.tenant = "carol";
  EXPECT_EQ(desk_.submit(std::move(third)).kind, Kind::too_many_tenants);
}

TEST_F(Sequencing, ADailyLimitSaysWhenTheDayEnds) {
  const Time midnight = desk_.now + minutes(300);
  desk_.sequencer.day_ends_at(midnight);
  desk_.control(DefineTenant{"alice", {.daily_token_limit = 2}});
  const auto submit = [&](std::uint32_t tokens) {
    NewTask task = new_task();
    task.spec.tokens = tokens;
    return desk_.submit(std::move(task)).reason;
  };
  EXPECT_FALSE(submit(2));
  EXPECT_EQ(submit(1).code, core::ReasonCode::daily_tokens_spent);
  EXPECT_EQ(submit(1).at, midnight);
  EXPECT_EQ(submit(3).at, Time::never()) << "no day is long enough";
}

NewTask with_command(const std::string& id) {
  NewTask task = new_task(id);
  task.has_command = true;
  return task;
}

TEST_F(Sequencing, AQueueThatRunsCommandsTakesNothingElse) {
  EXPECT_EQ(desk_.submit(new_task("before")).kind, Kind::accepted);
  DefineQueue queue{.name = "llm", .spec = desk_.sequencer.names().queues()[0].spec};
  queue.executor = "process";
  desk_.control(queue);
  const std::uint64_t events = desk_.sequencer.next_seq();
  const SubmitOutcome refused = desk_.submit(new_task("a"));
  EXPECT_EQ(refused.kind, Kind::queue_needs_command);
  EXPECT_EQ(refused.what, "llm");
  std::vector<NewTask> flow;
  flow.push_back(with_command("x"));
  flow.push_back(new_task("y"));
  const std::vector<SubmitOutcome> all = desk_.submit(std::move(flow), true);
  EXPECT_EQ(all.at(0).kind, Kind::queue_needs_command);
  EXPECT_EQ(all.at(0).place, 1U);
  EXPECT_EQ(desk_.sequencer.next_seq(), events) << "nothing was written";
  EXPECT_EQ(desk_.submit(new_task("before")).kind, Kind::duplicate) << "what was taken stays taken";
  EXPECT_EQ(desk_.submit(with_command("a")).kind, Kind::accepted);
  queue.executor = "simulated";
  desk_.control(queue);
  EXPECT_EQ(desk_.submit(new_task("b")).kind, Kind::accepted);
}

TEST_F(Sequencing, AQueueAndATenantCanForbidCommands) {
  EXPECT_EQ(desk_.submit(with_command("a")).kind, Kind::accepted);
  DefineQueue queue{.name = "llm", .spec = desk_.sequencer.names().queues()[0].spec};
  queue.commands = false;
  desk_.control(queue);
  const SubmitOutcome by_queue = desk_.submit(with_command("b"));
  EXPECT_EQ(by_queue.kind, Kind::queue_forbids_commands);
  EXPECT_EQ(by_queue.what, "llm");
  EXPECT_EQ(desk_.submit(with_command("a")).kind, Kind::duplicate) << "what was taken stays taken";
  EXPECT_EQ(desk_.submit(new_task("c")).kind, Kind::accepted) << "it has no command";
  queue.commands = true;
  desk_.control(queue);
  EXPECT_EQ(desk_.submit(with_command("d")).kind, Kind::accepted);

  DefineTenant tenant{.name = "alice"};
  tenant.commands = false;
  desk_.control(tenant);
  EXPECT_EQ(desk_.submit(with_command("e")).kind, Kind::tenant_forbids_commands);
  std::vector<NewTask> workflow;
  workflow.push_back(new_task("f"));
  workflow.push_back(with_command("g"));
  const auto outcomes = desk_.submit(std::move(workflow), true);
  EXPECT_EQ(outcomes[0].kind, Kind::tenant_forbids_commands);
  EXPECT_EQ(outcomes[0].place, 1U);
}

TEST_F(Sequencing, WhatATenantIsForbiddenAllBelowItAre) {
  desk_.control(DefineTenant{.name = "corp", .commands = false});
  desk_.control(DefineTenant{.name = "team", .parent = "corp"});
  desk_.control(DefineTenant{.name = "carol", .parent = "team"});
  const auto submit = [&](const std::string& id) {
    NewTask task = with_command(id);
    task.tenant = "carol";
    return desk_.submit(std::move(task));
  };
  const SubmitOutcome refused = submit("a");
  EXPECT_EQ(refused.kind, Kind::tenant_forbids_commands);
  EXPECT_EQ(refused.what, "corp");
  desk_.control(DefineTenant{.name = "team"});
  EXPECT_EQ(submit("b").kind, Kind::accepted) << "no longer below it";
}

TEST_F(Sequencing, WhatIsForbiddenStaysSoAfterASnapshot) {
  desk_.control(DefineTenant{.name = "alice", .commands = false});
  desk_.control(DefineTenantDefaults{.max_tenants = 100, .commands = false});
  NewTask bobs = with_command("a");
  bobs.tenant = "bob";
  EXPECT_EQ(desk_.submit(std::move(bobs)).kind, Kind::tenant_forbids_commands) << "by default";
  Names again;
  for (const Note& note : desk_.sequencer.names().notes())
    again.apply(note);
  ASSERT_EQ(again.tenants().size(), 2U);
  EXPECT_FALSE(again.tenants()[0].commands);
  EXPECT_FALSE(again.tenants()[1].commands);
  EXPECT_TRUE(again.queues()[0].commands);
}

TEST_F(Sequencing, ARefusedTaskLeavesNothingBehind) {
  NewTask large = new_task("a");
  large.spec.vram = Mib{1'000'000};
  const SubmitOutcome refused = desk_.submit(std::move(large));
  EXPECT_EQ(refused.kind, Kind::refused);
  EXPECT_EQ(refused.reason.code, core::ReasonCode::vram_over_any_gpu);
  EXPECT_EQ(desk_.submit(new_task("a")).kind, Kind::accepted);
}

TEST_F(Sequencing, DependenciesAreNamedByIdNumberOrSignal) {
  desk_.agent.finishes_at_once = false;
  const SubmitOutcome first = desk_.submit(new_task("a"));
  NewTask second = new_task("b");
  second.depends_on = {"a", "t-" + std::to_string(first.task.value), "signal:go"};
  const SubmitOutcome waits = desk_.submit(std::move(second));
  EXPECT_EQ(waits.kind, Kind::accepted);
  EXPECT_EQ(desk_.state_of(waits.task), TaskState::waiting);
  desk_.agent.finishes_at_once = true;
  desk_.agent.finish(desk_.agent.leases[0]);
  desk_.turn();
  EXPECT_EQ(desk_.state_of(waits.task), TaskState::waiting);
  EXPECT_EQ(desk_.control(ResolveSignal{"alice", "go"}).count, 1U);
  EXPECT_EQ(desk_.ended.size(), 2U);
  NewTask third = new_task("c");
  third.depends_on = {"nobody"};
  EXPECT_EQ(desk_.submit(std::move(third)).kind, Kind::unknown_dependency);
}

TEST_F(Sequencing, AWorkflowIsTakenWholeOrNotAtAll) {
  std::vector<NewTask> tasks;
  tasks.push_back(new_task("b"));
  tasks.back().depends_on = {"a"};
  tasks.push_back(new_task("a"));
  const auto outcomes = desk_.submit(std::move(tasks), true);
  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_EQ(outcomes[0].kind, Kind::accepted);
  ASSERT_EQ(desk_.ended.size(), 2U);
  EXPECT_EQ(desk_.ended[0].card->id, "a");

  std::vector<NewTask> cycle;
  cycle.push_back(new_task("x"));
  cycle.back().depends_on = {"y"};
  cycle.push_back(new_task("y"));
  cycle.back().depends_on = {"x"};
  const auto refused = desk_.submit(std::move(cycle), true);
  EXPECT_EQ(refused[0].kind, Kind::refused);
  EXPECT_EQ(refused[1].reason.code, core::ReasonCode::dependency_cycle);
  EXPECT_EQ(desk_.submit(new_task("x")).kind, Kind::accepted);
}

TEST_F(Sequencing, CancelStopsWhatRuns) {
  desk_.agent.finishes_at_once = false;
  const SubmitOutcome task = desk_.submit(new_task("a"));
  EXPECT_EQ(desk_.control(CancelTasks{{task.task}}).count, 1U);
  ASSERT_EQ(desk_.agent.stops.size(), 1U);
  EXPECT_EQ(desk_.agent.stops[0].task_no(), task.task.value);
  desk_.agent.finish(desk_.agent.leases.at(0));
  desk_.turn();
  EXPECT_EQ(desk_.ended.at(0).state, TaskState::cancelled);
  const ControlOutcome late = desk_.control(CancelTasks{{task.task}});
  EXPECT_EQ(late.kind, ControlOutcome::Kind::refused);
  EXPECT_EQ(late.reason.code, core::ReasonCode::unknown_task);
}

TEST_F(Sequencing, WhatATaskCostIsWhatItsLeaseRan) {
  desk_.agent.finishes_at_once = false;
  NewTask task = new_task("a");
  task.spec.expected_run = minutes(2);
  desk_.submit(std::move(task));
  EXPECT_EQ(desk_.ledgers()[0].at(0), (core::LedgerLine{60'000'000, 0}));  // a minute ahead
  desk_.wait(seconds(90));
  EXPECT_EQ(desk_.ledgers()[0].at(0), (core::LedgerLine{120'000'000, 0}));
  desk_.agent.finish(desk_.agent.leases.at(0));
  desk_.turn();
  EXPECT_EQ(desk_.ledgers()[0].at(0), (core::LedgerLine{120'000'000, 30'000'000}));
  EXPECT_EQ(desk_.ended.at(0).attempts.at(0).charge_us, 90'000'000);
  EXPECT_TRUE(desk_.settled.empty());
}

TEST_F(Sequencing, WhatAnEndedTaskCostIsSettledWhenItsLeaseEnds) {
  desk_.agent.finishes_at_once = false;
  desk_.control(SetQueuePaused{"llm", true});
  std::vector<NewTask> batch;
  for (const char* id : {"a", "b"}) {
    batch.push_back(new_task(id));
    batch.back().spec.expected_run = minutes(2);
  }
  const TaskNo task = desk_.submit(std::move(batch)).at(0).task;
  desk_.control(SetQueuePaused{"llm", false});
  const v1::Lease lease = desk_.agent.leases.at(0);
  ASSERT_EQ(lease.tasks_size(), 2);
  desk_.wait(seconds(10));
  desk_.agent.finish_task(lease, task.value);
  desk_.turn();
  EXPECT_EQ(desk_.ended.at(0).attempts.at(0).charge_us, 30'000'000);  // as far as it is known
  desk_.wait(seconds(5));
  desk_.agent.finish(lease);
  desk_.turn();
  ASSERT_EQ(desk_.settled.size(), 1U);
  EXPECT_EQ(desk_.settled[0].task_no, task.value);
  EXPECT_EQ(desk_.settled[0].lease, lease.id());
  EXPECT_EQ(desk_.settled[0].charge_us, 7'500'000);
  EXPECT_EQ(desk_.ledgers()[0].at(0), (core::LedgerLine{60'000'000, 45'000'000}));
}

TEST_F(Sequencing, TheLedgerGoesOnBehindASnapshot) {
  desk_.agent.finishes_at_once = false;
  NewTask task = new_task("a");
  task.spec.expected_run = minutes(5);
  desk_.submit(std::move(task));
  desk_.wait(seconds(70));
  Replayer replayer(minutes(24 * 60));
  ASSERT_TRUE(replayer.restore(desk_.snapshot()).ok());
  const std::size_t before = desk_.groups.size();
  desk_.wait(seconds(60));
  desk_.agent.finish(desk_.agent.leases.at(0));
  desk_.turn();
  for (std::size_t i = before; i < desk_.groups.size(); ++i) {
    const journal::ParsedGroup parsed = journal::parse_group(desk_.groups[i].second);
    ASSERT_TRUE(replayer.apply(desk_.groups[i].first, parsed.group).ok());
  }
  EXPECT_EQ(replayer.board().ledger(), desk_.ledgers()[1]);
  const Ended ended = replayer.take_ended();
  ASSERT_EQ(ended.tasks.size(), 1U);
  EXPECT_EQ(ended.tasks[0].attempts.at(0).charge_us, 130'000'000);
}

TEST_F(Sequencing, ATenantMayNotUseABetterTierThanItsOwn) {
  desk_.control(DefineTenant{"alice", {}, 2});
  NewTask task = new_task("a");
  task.tier = 1;
  EXPECT_EQ(desk_.submit(std::move(task)).kind, Kind::tier_denied);
  EXPECT_EQ(desk_.submit(new_task("b")).kind, Kind::accepted);
  EXPECT_EQ(desk_.ended.at(0).card->tier, 2);
}

TEST_F(Sequencing, WhatWaitsIsExplained) {
  desk_.control(SetQueuePaused{"llm", true});
  const SubmitOutcome task = desk_.submit(new_task("a"));
  const ControlOutcome why = desk_.control(ExplainTask{task.task});
  ASSERT_TRUE(why.explanation.has_value());
  EXPECT_EQ(why.explanation->binding.at(0).code, core::ReasonCode::queue_paused);
  desk_.control(SetQueuePaused{"llm", false});
  EXPECT_EQ(desk_.ended.size(), 1U);
}

TEST_F(Sequencing, AnAgentThatComesBackKeepsWhatItRuns) {
  desk_.agent.finishes_at_once = false;
  const SubmitOutcome kept = desk_.submit(new_task("a"));
  const SubmitOutcome lost = desk_.submit(new_task("b"));
  const std::uint64_t kept_lease = desk_.agent.leases.at(0).id();
  desk_.agent.hello(2, 40'000, {kept_lease, 999});
  desk_.turn();
  ASSERT_EQ(desk_.agent.welcome.adopt_size(), 1);
  EXPECT_EQ(desk_.agent.welcome.adopt(0), kept_lease);
  ASSERT_EQ(desk_.agent.welcome.kill_size(), 1);
  EXPECT_EQ(desk_.agent.welcome.kill(0), 999U);
  EXPECT_EQ(desk_.state_of(kept.task), TaskState::running);
  // The other was put back and has started again, under a new lease.
  ASSERT_EQ(desk_.agent.leases.size(), 3U);
  EXPECT_EQ(desk_.agent.leases[2].tasks(0).task_no(), lost.task.value);
}

TEST_F(Sequencing, AStopThatTheAgentMissedIsSaidAgain) {
  desk_.agent.finishes_at_once = false;
  const SubmitOutcome task = desk_.submit(new_task("a"));
  desk_.control(CancelTasks{{task.task}});
  desk_.agent.stops.clear();
  desk_.agent.hello(2, 40'000, {desk_.agent.leases.at(0).id()});
  desk_.turn();
  ASSERT_EQ(desk_.agent.stops.size(), 1U);
  EXPECT_EQ(desk_.agent.stops[0].task_no(), task.task.value);
}

TEST_F(Sequencing, AReadingIsAnEventWhenItChangesNotablyOrCrossesTheThreshold) {
  desk_.agent.simulated = 2;
  desk_.agent.hello(3, 40'000);
  desk_.turn();
  const GpuId gpu = desk_.sequencer.names().gpu("GPU-2");
  const auto read = [&](const std::string& uuid, int percent) {
    const std::size_t groups = desk_.groups.size();
    desk_.agent.reading(uuid, percent);
    desk_.turn();
    return desk_.groups.size() > groups;
  };
  const auto load = [&] { return desk_.sequencer.engine().state().gpu(gpu).reported; };
  EXPECT_TRUE(read("GPU-2", 80));
  EXPECT_EQ(load(), Milli{800});
  EXPECT_FALSE(read("GPU-2", 84));
  EXPECT_TRUE(read("GPU-2", 85));  // 5 points, and the default threshold
  EXPECT_TRUE(read("GPU-2", 84));  // below it again
  EXPECT_EQ(load(), Milli{840});
  EXPECT_TRUE(read("GPU-2", -1));  // not known any more
  EXPECT_EQ(load(), Milli{0});
  EXPECT_FALSE(read("GPU-2", -1));
  EXPECT_FALSE(read("GPU-0", 90));  // simulated: says what was promised
  EXPECT_FALSE(read("GPU-9", 90));  // of nobody
}

TEST_F(Sequencing, AReportThatComesTwiceChangesNothing) {
  desk_.agent.finishes_at_once = false;
  desk_.submit(new_task("a"));
  v1::AgentMessage twice;
  twice.mutable_report()->set_incarnation(1);
  twice.mutable_report()->set_seq(2);
  v1::LeaseEnded& ended = *twice.mutable_report()->mutable_lease_ended();
  ended.set_lease(desk_.agent.leases[0].id());
  ended.add_outcomes()->set_task_no(desk_.agent.leases[0].tasks(0).task_no());
  ended.mutable_outcomes(0)->mutable_result()->set_completed(true);
  desk_.said.push_back(twice);
  desk_.said.push_back(twice);
  desk_.turn();
  EXPECT_EQ(desk_.ended.size(), 1U);
  EXPECT_EQ(desk_.agent.acknowledged, 2U);
}

TEST_F(Sequencing, ATaskThatTheAgentNeverSawIsPutBack) {
  desk_.agent.finishes_at_once = false;
  std::vector<NewTask> two;
  two.push_back(new_task("a"));
  two.push_back(new_task("b"));
  desk_.control(SetQueuePaused{"llm", true});
  desk_.submit(std::move(two));
  desk_.control(SetQueuePaused{"llm", false});
  ASSERT_EQ(desk_.agent.leases.at(0).tasks_size(), 2);
  v1::Lease half = desk_.agent.leases[0];
  half.mutable_tasks()->RemoveLast();
  desk_.agent.finish(half);
  desk_.turn();
  ASSERT_EQ(desk_.ended.size(), 1U);
  EXPECT_EQ(desk_.ended[0].card->id, "a");
  ASSERT_EQ(desk_.agent.leases.size(), 2U);
  EXPECT_EQ(desk_.agent.leases[1].tasks(0).task_id(), "b");
}

TEST_F(Sequencing, ModelsAreLoadedBeforeTheirBatches) {
  desk_.control(DefineModel{"m", {.weights = Mib{8000}, .vram_per_task = Mib{100}}});
  core::QueueSpec queue;
  queue.max_batch_size = 2;
  desk_.control(DefineQueue{"chat", "m", queue});
  desk_.submit(new_task("a", "chat"));
  EXPECT_EQ(desk_.ended.size(), 1U);
  desk_.view.read([](const Board& board) {
    EXPECT_EQ(board.models().at(0).loads, 1U);
    EXPECT_EQ(board.gpus().at(0).models.size() + board.gpus().at(1).models.size(), 1U);
  });
}

TEST_F(Sequencing, AnIdleModelThatLeavesTakesItsTimerWithIt) {
  desk_.control(
      DefineModel{"m", {.weights = Mib{4000}, .load_time = seconds(1), .keep_alive = seconds(60)}});
  desk_.control(DefineQueue{"big", "m", {}});
  desk_.submit(new_task("a", "big"));
  ASSERT_EQ(desk_.ended.size(), 1U);
  desk_.wait(seconds(60));
  const auto evictions = [](const Board& board) { return board.models()[0].evictions; };
  EXPECT_EQ(desk_.view.read(evictions), 1U);
  // The state that the journal leads to is compared when the test ends.
}

// What an agent says is not to be trusted: the core would end the process.
TEST_F(Sequencing, AHelloWithAnImpossibleGpuIsRefused) {
  const std::uint64_t events = desk_.sequencer.next_seq();
  for (const std::int64_t vram : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    desk_.agent.welcome.Clear();
    desk_.agent.hello(3, vram);
    desk_.turn();
    EXPECT_NE(desk_.agent.welcome.refused().find("VRAM in range"), std::string::npos)
        << desk_.agent.welcome.refused();
  }
  EXPECT_EQ(desk_.sequencer.next_seq(), events);
  EXPECT_EQ(desk_.sequencer.names().gpus().size(), 2U);
  EXPECT_EQ(desk_.submit(new_task("a")).kind, Kind::accepted);
}

TEST_F(Sequencing, ALoadThatTookImpossiblyLongIsCountedAsADay) {
  desk_.control(DefineModel{"m", {.weights = Mib{4000}, .load_time = seconds(1)}});
  desk_.control(DefineQueue{"big", "m", {}});
  desk_.agent.load_took_us = std::numeric_limits<std::int64_t>::max();
  desk_.submit(new_task("a", "big"));
  const auto load_time = [](const Board& board) { return board.models()[0].load_time; };
  EXPECT_EQ(desk_.view.read(load_time), minutes(24 * 60));
}

TEST_F(Sequencing, LeasesGrantedBeforeTheAgentCameAreSentWhenItComes) {
  // A second process: it goes on where the first ended, with work for a node that is not there yet.
  desk_.control(SetQueuePaused{"llm", true});
  desk_.submit(new_task("a"));
  Desk next(desk_.replayed().take_position());
  Replayer replayed = desk_.replayed();
  next.view.change([&](Board& board) { board = replayed.take_board(); });
  next.control(SetQueuePaused{"llm", false});
  EXPECT_EQ(next.agent.leases.size(), 0U);
  next.agent.hello(2, 40'000);
  next.turn();
  ASSERT_EQ(next.agent.leases.size(), 1U);
  EXPECT_EQ(next.ended.size(), 1U);
  EXPECT_EQ(next.ended[0].attempts.size(), 1U);
}

TEST_F(Sequencing, ASnapshotGivesItselfBack) {
  desk_.agent.finishes_at_once = false;
  for (int i = 0; i < 20; ++i)
    desk_.submit(new_task("task " + std::to_string(i)));
  desk_.control(SetTenantPaused{"alice", true});
  const std::vector<std::byte> bytes = desk_.snapshot();
  Replayer restored(minutes(24 * 60));
  const Status status = restored.restore(bytes);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(restored.snapshot(), bytes);
  EXPECT_TRUE(restored.board().names().tenants().at(0).paused);
}

}  // namespace
}  // namespace berth::service::sequencer_test
