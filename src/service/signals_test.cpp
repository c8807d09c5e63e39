// Signals of tenants: how many, what is told of them, and how one is taken back.
#include <gtest/gtest.h>

#include "service/sequencer.h"
#include "service/testing/desk.h"

namespace berth::service::signals_test {
namespace {

using testing::Desk;
using testing::new_task;
using Kind = SubmitOutcome::Kind;

class Signals : public ::testing::Test {
 public:
  Signals() { desk_.furnish(); }
  ~Signals() override { EXPECT_EQ(desk_.differences(), std::vector<std::uint32_t>{}); }

 protected:
  SubmitOutcome wait_for(const std::string& id, const std::string& signal,
                         const std::string& tenant = "alice") {
    NewTask task = new_task(id);
    task.tenant = tenant;
    task.depends_on = {"signal:" + signal};
    return desk_.submit(std::move(task));
  }
  std::vector<SignalLine> all(const std::string& tenant = "") {
    return desk_.control(ReadSignals{tenant, {}, 100}).signals.signals;
  }
  Desk desk_{{}, SequencerOptions{.max_signals = 3}};
};

TEST_F(Signals, AreToldByTenantAndName) {
  const SubmitOutcome first = wait_for("a", "ready");
  wait_for("b", "ready");
  wait_for("c", "ready", "bob");
  desk_.wait(seconds(5));
  desk_.control(ResolveSignal{"bob", "ready"});
  const std::vector<SignalLine> lines = all();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0].name, "ready");
  EXPECT_FALSE(lines[0].given);
  EXPECT_EQ(lines[0].waiters, 2U);
  EXPECT_EQ(lines[0].since, desk_.now - seconds(5));
  EXPECT_TRUE(lines[1].given) << "the other tenant's signal of the same name";
  EXPECT_EQ(lines[1].waiters, 0U);
  EXPECT_EQ(lines[1].since, desk_.now);
  EXPECT_EQ(all("bob").size(), 1U);
  EXPECT_EQ(all("nobody").size(), 0U);
  desk_.control(CancelTasks{{first.task}});
  EXPECT_EQ(all()[0].waiters, 1U) << "who has ended waits no more";
}

TEST_F(Signals, ComeInPages) {
  for (const char* name : {"a", "b", "c"})
    wait_for(name, name);
  const SignalPage first = desk_.control(ReadSignals{"", {}, 2}).signals;
  ASSERT_EQ(first.signals.size(), 2U);
  EXPECT_TRUE(first.more);
  const SignalPage rest =
      desk_.control(ReadSignals{"", {{first.signals[1].tenant, first.signals[1].name}}, 2}).signals;
  ASSERT_EQ(rest.signals.size(), 1U);
  EXPECT_EQ(rest.signals[0].name, "c");
  EXPECT_FALSE(rest.more);
}

TEST_F(Signals, APageEndsWhereManyWait) {
  for (int i = 0; i <= 10'000; ++i)
    wait_for("w" + std::to_string(i), "a");
  wait_for("other", "b");
  const SignalPage first = desk_.control(ReadSignals{"", {}, 100}).signals;
  ASSERT_EQ(first.signals.size(), 1U);
  EXPECT_EQ(first.signals[0].waiters, 10'001U);
  EXPECT_TRUE(first.more);
}

TEST_F(Signals, ATenantHasALimitAndOthersAreNotTouchedByIt) {
  for (const char* name : {"a", "b", "c"})
    EXPECT_EQ(wait_for(name, name).kind, Kind::accepted);
  const SubmitOutcome refused = wait_for("d", "d");
  EXPECT_EQ(refused.kind, Kind::too_many_signals);
  EXPECT_EQ(refused.reason.need, 4);
  EXPECT_EQ(refused.reason.have, 3);
  EXPECT_EQ(desk_.control(ResolveSignal{"alice", "d"}).kind,
            ControlOutcome::Kind::too_many_signals);
  EXPECT_EQ(wait_for("e", "a").kind, Kind::accepted) << "of a signal that it has";
  EXPECT_EQ(wait_for("f", "d", "bob").kind, Kind::accepted);
  EXPECT_EQ(desk_.control(ResolveSignal{"alice", "a"}).count, 2U);
  EXPECT_EQ(desk_.control(ResetSignal{"alice", "a"}).kind, ControlOutcome::Kind::done);
  EXPECT_EQ(wait_for("d", "d").kind, Kind::accepted) << "there is room again";
}

TEST_F(Signals, ATenantAtItsLimitHasThoseForgottenThatNobodyUses) {
  std::vector<TaskNo> tasks;
  for (const char* name : {"a", "b", "c"})
    tasks.push_back(wait_for(name, name).task);
  tasks.push_back(wait_for("e", "a").task);  // all are looked at, and all are awaited
  desk_.control(CancelTasks{tasks});
  EXPECT_EQ(wait_for("d", "d").kind, Kind::too_many_signals);
  EXPECT_EQ(wait_for("d", "d").kind, Kind::accepted) << "the refusal had old ones looked at";
}

TEST_F(Signals, AResetSignalIsAwaitedAgainAndLetsNobodyWaitWhoWasLetGo) {
  desk_.control(DefineTenant{"alice", {}, 0});
  desk_.control(ResolveSignal{"alice", "ready"});
  wait_for("a", "ready");
  EXPECT_EQ(desk_.ended.size(), 1U) << "it was given before";
  EXPECT_EQ(desk_.control(ResetSignal{"alice", "ready"}).kind, ControlOutcome::Kind::done);
  EXPECT_TRUE(all().empty());
  wait_for("b", "ready");
  EXPECT_EQ(desk_.ended.size(), 1U);
  const ControlOutcome awaited = desk_.control(ResetSignal{"alice", "ready"});
  EXPECT_EQ(awaited.kind, ControlOutcome::Kind::not_given);
  EXPECT_EQ(awaited.count, 1U);
  EXPECT_EQ(desk_.control(ResolveSignal{"alice", "ready"}).count, 1U);
  EXPECT_EQ(desk_.ended.size(), 2U);
  EXPECT_EQ(desk_.control(ResetSignal{"alice", "other"}).kind, ControlOutcome::Kind::unknown_name);
}

TEST_F(Signals, AreInTheSnapshotWithTheirTimes) {
  wait_for("a", "gone");
  desk_.control(ResolveSignal{"alice", "gone"});
  desk_.control(ResetSignal{"alice", "gone"});
  desk_.control(ResolveSignal{"alice", "given"});
  const Time given = desk_.now;
  Replayer restored(minutes(60));
  const Status done = restored.restore(desk_.snapshot());
  ASSERT_TRUE(done.ok()) << done.error().message;
  const Names& names = restored.position().names;
  EXPECT_EQ(names.signals_of(TenantId{0}), 1U);
  EXPECT_EQ(names.given_since(names.signal(TenantId{0}, "given")), given);
  EXPECT_EQ(names.next_signal(), desk_.sequencer.names().next_signal()) << "no number comes twice";
}

}  // namespace
}  // namespace berth::service::signals_test
