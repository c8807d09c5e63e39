// What the configuration says, what is put over it, and what becomes of what it drops; each time
// with the replayer held against the live state, and with a snapshot.
#include <gtest/gtest.h>

#include "service/blocks.h"
#include "service/sequencer.h"
#include "service/testing/desk.h"

namespace berth::service::settings_test {
namespace {

using testing::Desk;
using testing::new_task;
using Kind = SubmitOutcome::Kind;
using Texts = std::vector<std::string>;

class Settings : public ::testing::Test {
 public:
  Settings() {
    desk_.furnish();
    wanted_.queues.push_back({.name = "llm"});
    wanted_.queues.push_back({.name = "batch"});
    wanted_.tenants.push_back({.name = "gold"});
    wanted_.tenants[0].spec.weight = Milli{3000};
    desk_.control(wanted_);
  }
  ~Settings() override { EXPECT_EQ(desk_.differences(), std::vector<std::uint32_t>{}); }

 protected:
  ControlOutcome put(Section section, const std::string& name,
                     std::vector<config::KeyValue> values) {
    return desk_.control(PutSettings{section, name, std::move(values), 77});
  }
  const Names& names() const { return desk_.sequencer.names(); }
  std::int64_t weight() const {
    return names().tenants()[names().tenant("gold").value].spec.weight.value;
  }
  const QueueEntry& queue(const std::string& name) const {
    return names().queues()[names().queue(name).value];
  }
  Desk desk_;
  Configure wanted_;
};

TEST_F(Settings, ALeaseCarriesTheExecutorThatHeldWhenItWasGranted) {
  desk_.submit(new_task("a"));
  EXPECT_EQ(desk_.agent.leases.back().runtime(), "");
  wanted_.queues[0].executor = "process";
  wanted_.queues[0].ranks_by_node = true;
  desk_.control(wanted_);
  NewTask command = new_task("b");
  command.has_command = true;
  desk_.submit(std::move(command));
  EXPECT_EQ(desk_.agent.leases.back().runtime(), "process");
  NewTask gang = new_task("c");
  gang.has_command = true;
  gang.spec.gpus = 2;
  desk_.submit(std::move(gang));
  ASSERT_EQ(desk_.agent.leases.back().gpus_size(), 2);
  EXPECT_TRUE(desk_.agent.leases.back().gang().ranks_by_node());
}

TEST_F(Settings, WhatWasPutHoldsAgainstTheFileUntilItIsReverted) {
  EXPECT_EQ(weight(), 3000);
  EXPECT_EQ(put(Section::tenants, "gold", {{"weight", "5"}}).kind, ControlOutcome::Kind::done);
  EXPECT_EQ(weight(), 5000);
  wanted_.tenants[0].spec.weight = Milli{7000};
  wanted_.tenants[0].spec.max_queue_size = 9;
  EXPECT_EQ(desk_.control(wanted_).refused, Texts{});
  EXPECT_EQ(weight(), 5000) << "a reload does not undo it";
  EXPECT_EQ(names().tenants()[names().tenant("gold").value].spec.max_queue_size, 9U)
      << "other keys follow the file";
  const ControlOutcome reverted = desk_.control(RevertSettings{Section::tenants, "gold"});
  EXPECT_EQ(reverted.told, Texts{"tenants.gold.weight: 5 becomes 7"});
  EXPECT_EQ(weight(), 7000);
  EXPECT_TRUE(names().puts().empty());
}

TEST_F(Settings, PutsAreInTheSnapshotWithTheirTime) {
  put(Section::tenants, "gold", {{"weight", "5"}});
  put(Section::queues, "mine", {{"max_batch_wait_ms", "20"}, {"executor", "\"process\""}});
  Replayer restored(minutes(60));
  const Status done = restored.restore(desk_.snapshot());
  ASSERT_TRUE(done.ok()) << done.error().message;
  const Names known = restored.position().names;
  ASSERT_NE(known.put(Section::tenants, "gold"), nullptr);
  EXPECT_EQ(known.put(Section::tenants, "gold")->at("weight").value, "5");
  EXPECT_EQ(known.put(Section::tenants, "gold")->at("weight").wall_unix_ns, 77);
  EXPECT_EQ(known.put(Section::queues, "mine")->at("max_batch_wait").value, "\"20ms\"");
  EXPECT_EQ(known.queues()[known.queue("mine").value].executor, "process");
  EXPECT_TRUE(known.knows_puts());
}

TEST_F(Settings, WhetherCommandsAreAllowedIsAKeyLikeTheOthers) {
  const auto submit = [&](const std::string& id) {
    NewTask task = new_task(id);
    task.tenant = "gold";
    task.has_command = true;
    return desk_.submit(std::move(task)).kind;
  };
  EXPECT_EQ(submit("a"), Kind::accepted);
  wanted_.tenants[0].commands = false;
  desk_.control(wanted_);
  EXPECT_EQ(submit("b"), Kind::tenant_forbids_commands) << "by the file";
  put(Section::tenants, "gold", {{"commands", "true"}});
  put(Section::queues, "llm", {{"commands", "false"}});
  desk_.control(wanted_);
  EXPECT_EQ(submit("b"), Kind::queue_forbids_commands) << "puts hold after a reload";
  Replayer restored(minutes(60));
  ASSERT_TRUE(restored.restore(desk_.snapshot()).ok());
  const Names known = restored.position().names;
  EXPECT_EQ(known.put(Section::queues, "llm")->at("commands").value, "false");
  EXPECT_FALSE(known.queues()[known.queue("llm").value].commands);
  EXPECT_TRUE(known.tenants()[known.tenant("gold").value].commands);
  EXPECT_EQ(desk_.control(RevertSettings{Section::queues, "llm"}).told,
            Texts{"queues.llm.commands: false becomes true"});
  EXPECT_EQ(submit("b"), Kind::accepted);
  desk_.control(RevertSettings{Section::tenants, "gold"});
  EXPECT_EQ(submit("c"), Kind::tenant_forbids_commands) << "the file's word again";
  wanted_.tenants.clear();
  desk_.control(wanted_);
  EXPECT_EQ(submit("c"), Kind::accepted) << "by the defaults";
}

TEST_F(Settings, AKeyPutAgainInAnotherUnitIsTheSameKey) {
  put(Section::queues, "llm", {{"max_batch_wait_ms", "20"}});
  EXPECT_EQ(put(Section::queues, "llm", {{"max_batch_wait_s", "1"}}).kind,
            ControlOutcome::Kind::done);
  EXPECT_EQ(queue("llm").spec.max_batch_wait, seconds(1));
}

TEST_F(Settings, WhatDoesNotGoTogetherIsRefusedAndChangesNothing) {
  wanted_.tenants[0].spec.guaranteed_gpus = Milli{1000};
  desk_.control(wanted_);
  const ControlOutcome put_less = put(Section::tenants, "gold", {{"max_gpus", "0.5"}});
  EXPECT_EQ(put_less.kind, ControlOutcome::Kind::bad_setting);
  EXPECT_NE(put_less.flaw.find("expected at least guaranteed_gpus"), std::string::npos);
  EXPECT_EQ(names().put(Section::tenants, "gold"), nullptr);
  put(Section::tenants, "gold", {{"max_gpus", "2"}});
  wanted_.tenants[0].spec.guaranteed_gpus = Milli{3000};
  wanted_.queues.push_back({.name = "more"});
  const ControlOutcome reloaded = desk_.control(wanted_);
  ASSERT_EQ(reloaded.refused.size(), 1U);
  EXPECT_NE(reloaded.refused[0].find("berth config revert tenant gold"), std::string::npos);
  EXPECT_EQ(names().tenants()[names().tenant("gold").value].spec.guaranteed_gpus, Milli{1000});
  EXPECT_TRUE(names().queue("more")) << "the rest of the reload is done";
}

TEST_F(Settings, ARemovedQueueFinishesWhatItHasAndTakesNoMore) {
  desk_.agent.finishes_at_once = false;
  NewTask task = new_task("a");
  task.queue = "batch";
  ASSERT_EQ(desk_.submit(std::move(task)).kind, Kind::accepted);
  wanted_.queues.pop_back();
  desk_.control(wanted_);
  EXPECT_TRUE(queue("batch").removed);
  NewTask late = new_task("b");
  late.queue = "batch";
  EXPECT_EQ(desk_.submit(std::move(late)).kind, Kind::removed_queue);
  NewTask again = new_task("a");
  again.queue = "batch";
  EXPECT_EQ(desk_.submit(std::move(again)).kind, Kind::duplicate) << "it was accepted before";
  std::vector<NewTask> workflow;
  workflow.push_back(new_task("w"));
  workflow.push_back(new_task("x"));
  workflow[1].queue = "batch";
  EXPECT_EQ(desk_.submit(std::move(workflow), true).at(0).kind, Kind::removed_queue);
  ASSERT_EQ(desk_.agent.leases.size(), 1U);
  desk_.agent.finish(desk_.agent.leases[0]);
  desk_.turn();
  EXPECT_EQ(desk_.ended.size(), 1U);
  wanted_.queues.push_back({.name = "batch"});
  desk_.control(wanted_);
  NewTask back = new_task("b");
  back.queue = "batch";
  EXPECT_EQ(desk_.submit(std::move(back)).kind, Kind::accepted) << "it is in the file again";
}

TEST_F(Settings, AQueueThatWasPutStaysWhenTheFileDropsItAndGoesWhenItIsReverted) {
  put(Section::queues, "batch", {{"max_batch_size", "2"}});
  put(Section::queues, "mine", {{"max_batch_size", "2"}});
  wanted_.queues.pop_back();
  desk_.control(wanted_);
  EXPECT_FALSE(queue("batch").removed);
  EXPECT_FALSE(queue("mine").removed);
  const ControlOutcome reverted = desk_.control(RevertSettings{});
  EXPECT_EQ(reverted.count, 2U);
  EXPECT_TRUE(queue("batch").removed);
  EXPECT_TRUE(queue("mine").removed);
  EXPECT_FALSE(queue("llm").removed);
}

TEST_F(Settings, ATenantThatTheFileDropsHasTheDefaults) {
  put(Section::tenants, "kept", {{"weight", "4"}});
  wanted_.tenants.clear();
  wanted_.tenant_defaults.spec.max_queue_size = 11;
  desk_.control(wanted_);
  EXPECT_EQ(weight(), 1000);
  const core::TenantSpec& kept = names().tenants()[names().tenant("kept").value].spec;
  EXPECT_EQ(kept.weight, Milli{4000});
  EXPECT_EQ(kept.max_queue_size, 11U) << "what was not put of it follows the defaults";
}

TEST_F(Settings, NothingToRevertIsNoErrorAndAnUnknownNameIs) {
  EXPECT_EQ(desk_.control(RevertSettings{Section::tenants, "gold"}).kind,
            ControlOutcome::Kind::done);
  EXPECT_EQ(desk_.control(RevertSettings{Section::tenants, "nobody"}).kind,
            ControlOutcome::Kind::unknown_name);
}

// A journal from before puts were kept: what its server had made is not taken away.
TEST(OldJournals, WhatTheFileDoesNotHaveIsKeptAsIfItHadBeenPut) {
  Desk desk;
  desk.furnish();
  core::QueueSpec queue;
  queue.max_batch_size = 16;
  desk.control(DefineQueue{"old", "", queue});
  core::TenantSpec heavy;
  heavy.weight = Milli{9000};
  desk.control(DefineTenant{"heavy", heavy});
  Configure wanted;
  wanted.queues.push_back({.name = "llm"});
  const ControlOutcome outcome = desk.control(wanted);
  EXPECT_EQ(outcome.told.size(), 2U);
  const Names& names = desk.sequencer.names();
  EXPECT_FALSE(names.queues()[names.queue("old").value].removed);
  EXPECT_EQ(names.queues()[names.queue("old").value].spec.max_batch_size, 16U);
  EXPECT_EQ(names.tenants()[names.tenant("heavy").value].spec.weight, Milli{9000});
  EXPECT_EQ(desk.control(wanted).told, Texts{}) << "once";
  EXPECT_EQ(desk.differences(), std::vector<std::uint32_t>{});
}

}  // namespace
}  // namespace berth::service::settings_test
