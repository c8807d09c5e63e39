// Deletes of tenants, queues and models; each time with the replayer held against the live state,
// and with a snapshot.
#include <gtest/gtest.h>

#include "service/sequencer.h"
#include "service/testing/desk.h"

namespace berth::service::delete_test {
namespace {

using testing::Desk;
using testing::new_task;
using Kind = ControlOutcome::Kind;
using Submitted = SubmitOutcome::Kind;

class Delete : public ::testing::Test {
 public:
  Delete() {
    desk_.furnish();
    wanted_.queues.push_back({.name = "llm"});
    desk_.control(wanted_);
  }
  ~Delete() override {
    EXPECT_EQ(desk_.differences(), std::vector<std::uint32_t>{});
    Replayer restored(minutes(60));
    const Status done = restored.restore(desk_.snapshot());
    EXPECT_TRUE(done.ok()) << done.error().message;
    if (!done.ok()) return;
    const Names known = restored.position().names;
    EXPECT_EQ(known.tenants_kept(), names().tenants_kept());
    for (std::size_t i = 0; i < known.tenants().size(); ++i)
      EXPECT_EQ(known.tenants()[i].removed, names().tenants()[i].removed);
  }

 protected:
  ControlOutcome put(Section section, const std::string& name,
                     std::vector<config::KeyValue> values = {}) {
    return desk_.control(PutSettings{section, name, std::move(values), 77});
  }
  ControlOutcome erase(Section section, const std::string& name) {
    return desk_.control(DeleteBlock{section, name});
  }
  static NewTask task_of(const std::string& id, const std::string& tenant,
                         const std::string& queue = "llm") {
    NewTask task = new_task(id, queue);
    task.tenant = tenant;
    return task;
  }
  const Names& names() const { return desk_.sequencer.names(); }
  const QueueEntry& queue(const std::string& name) const {
    return names().queues()[names().queue(name).value];
  }
  const TenantEntry& tenant(const std::string& name) const {
    return names().tenants()[names().tenant(name).value];
  }

  Desk desk_;
  Configure wanted_;
};

TEST_F(Delete, AQueueIsNoMoreAndComesBackWithTheDefaults) {
  put(Section::queues, "mine",
      {{"max_batch_size", "2"}, {"work_class", "\"decode\""}, {"executor", "\"process\""}});
  const QueueId id = names().queue("mine");
  desk_.control(SetQueuePaused{"mine", true});
  desk_.control(SetQueueDraining{"mine", true});
  EXPECT_EQ(erase(Section::queues, "mine").kind, Kind::done);
  EXPECT_TRUE(queue("mine").removed);
  EXPECT_EQ(names().put(Section::queues, "mine"), nullptr);
  EXPECT_EQ(names().named_work_classes(), 0U) << "its class is free for others";
  EXPECT_EQ(desk_.submit(new_task("a", "mine")).kind, Submitted::removed_queue);
  EXPECT_EQ(desk_.control(SetQueuePaused{"mine", false}).kind, Kind::unknown_name);
  EXPECT_EQ(desk_.control(RevertSettings{Section::queues, "mine"}).kind, Kind::unknown_name);
  const ControlOutcome again = erase(Section::queues, "mine");
  EXPECT_EQ(again.kind, Kind::unknown_name);
  EXPECT_EQ(again.noun, "queue");
  desk_.control(wanted_);
  EXPECT_TRUE(queue("mine").removed) << "after a reload";
  EXPECT_TRUE(put(Section::queues, "mine", {{"max_batch_wait", "\"1s\""}}).created);
  EXPECT_EQ(names().queue("mine"), id);
  EXPECT_EQ(queue("mine").spec.max_batch_size, 1U);
  EXPECT_EQ(queue("mine").executor, "") << "simulated";
  EXPECT_FALSE(queue("mine").spec.work_class);
  EXPECT_FALSE(queue("mine").paused);
  EXPECT_FALSE(queue("mine").draining);
  EXPECT_EQ(desk_.submit(new_task("a", "mine")).kind, Submitted::accepted);
}

TEST_F(Delete, AQueueWithUnfinishedTasksStays) {
  desk_.agent.finishes_at_once = false;
  put(Section::queues, "mine", {{"max_batch_size", "1"}});
  const TaskNo running = desk_.submit(new_task("a", "mine")).task;
  NewTask held = new_task("b", "mine");
  held.spec.held = true;
  const TaskNo waits = desk_.submit(std::move(held)).task;
  const ControlOutcome refused = erase(Section::queues, "mine");
  EXPECT_EQ(refused.kind, Kind::in_use);
  EXPECT_EQ(refused.count, 2U);
  EXPECT_EQ(refused.unit, "tasks");
  EXPECT_EQ(refused.flaw,
            "has 2 unfinished tasks; wait until they have ended, or cancel them: "
            "berth cancel --queue mine");
  desk_.control(CancelTasks{{running, waits}});
  EXPECT_EQ(erase(Section::queues, "mine").count, 1U) << "its process is still there";
  desk_.agent.finish(desk_.agent.leases.at(0));
  desk_.turn();
  EXPECT_EQ(erase(Section::queues, "mine").kind, Kind::done);
}

TEST_F(Delete, WhatTheConfigurationHasStays) {
  EXPECT_EQ(erase(Section::queues, "llm").kind, Kind::in_configuration);
  put(Section::queues, "llm", {{"max_batch_size", "3"}});
  wanted_.queues.clear();
  desk_.control(wanted_);
  EXPECT_FALSE(queue("llm").removed) << "it was put";
  EXPECT_EQ(erase(Section::queues, "llm").kind, Kind::done);
  wanted_.queues.push_back({.name = "llm"});
  desk_.control(wanted_);
  EXPECT_FALSE(queue("llm").removed) << "it is in the file again";
}

TEST_F(Delete, ATenantIsNoMoreUntilItSubmitsAgain) {
  put(Section::tenants, "gold", {{"weight", "5"}, {"commands", "false"}});
  ASSERT_EQ(desk_.submit(task_of("a", "gold")).kind, Submitted::accepted);
  desk_.control(ResolveSignal{"gold", "go"});
  desk_.control(SetTenantPaused{"gold", true});
  const TenantId id = names().tenant("gold");
  const std::size_t kept = names().tenants_kept();
  EXPECT_EQ(erase(Section::tenants, "gold").kind, Kind::done);
  EXPECT_EQ(names().tenants_kept(), kept - 1);
  EXPECT_EQ(names().signals_of(id), 0U);
  EXPECT_EQ(desk_.control(SetTenantPaused{"gold", true}).kind, Kind::unknown_name);
  EXPECT_EQ(desk_.control(ResolveSignal{"gold", "go"}).kind, Kind::unknown_name);
  EXPECT_EQ(erase(Section::tenants, "gold").kind, Kind::unknown_name);
  desk_.control(wanted_);
  EXPECT_TRUE(tenant("gold").removed) << "after a reload";
  EXPECT_EQ(desk_.submit(task_of("a", "gold")).kind, Submitted::duplicate);
  EXPECT_TRUE(tenant("gold").removed) << "a retry of an old submit makes nothing";
  EXPECT_EQ(desk_.submit(task_of("b", "gold")).kind, Submitted::accepted);
  EXPECT_EQ(names().tenant("gold"), id);
  EXPECT_FALSE(tenant("gold").removed);
  EXPECT_FALSE(tenant("gold").paused);
  EXPECT_TRUE(tenant("gold").commands);
  EXPECT_EQ(tenant("gold").spec.weight, Milli{1000});
}

TEST_F(Delete, ADeletedTenantIsUnknownWhereTenantsMustBeMade) {
  put(Section::tenants, "gold");
  wanted_.tenant_defaults.make_unknown = false;
  desk_.control(wanted_);
  ASSERT_EQ(desk_.submit(task_of("a", "gold")).kind, Submitted::accepted);
  EXPECT_EQ(erase(Section::tenants, "gold").kind, Kind::done);
  EXPECT_EQ(desk_.submit(task_of("b", "gold")).kind, Submitted::unknown_tenant);
  EXPECT_EQ(put(Section::tenants, "sub", {{"parent", "\"gold\""}}).kind, Kind::unknown_name);
  EXPECT_TRUE(put(Section::tenants, "gold").created);
  EXPECT_EQ(desk_.submit(task_of("b", "gold")).kind, Submitted::accepted);
}

TEST_F(Delete, ADeletedTenantMakesRoomForAnother) {
  desk_.submit(task_of("a", "one"));
  wanted_.tenant_defaults.max_tenants = names().tenants_kept();
  desk_.control(wanted_);
  EXPECT_EQ(desk_.submit(task_of("b", "two")).kind, Submitted::too_many_tenants);
  EXPECT_EQ(erase(Section::tenants, "one").kind, Kind::done);
  EXPECT_EQ(desk_.submit(task_of("b", "two")).kind, Submitted::accepted);
  EXPECT_EQ(desk_.submit(task_of("c", "one")).kind, Submitted::too_many_tenants);
}

TEST_F(Delete, ATenantWithTasksOrTenantsBelowItStays) {
  put(Section::tenants, "gold");
  put(Section::tenants, "sub", {{"parent", "\"gold\""}});
  const ControlOutcome parent = erase(Section::tenants, "gold");
  EXPECT_EQ(parent.kind, Kind::in_use);
  EXPECT_EQ(parent.flaw,
            "has 1 tenant below it (sub); delete it first, or move it: berth put tenant sub "
            "--parent \"\"");
  desk_.agent.finishes_at_once = false;
  desk_.submit(task_of("a", "sub"));
  const ControlOutcome busy = erase(Section::tenants, "sub");
  EXPECT_EQ(busy.count, 1U);
  EXPECT_EQ(busy.unit, "tasks");
  desk_.agent.finish(desk_.agent.leases.at(0));
  desk_.turn();
  EXPECT_EQ(erase(Section::tenants, "sub").kind, Kind::done);
  EXPECT_EQ(erase(Section::tenants, "gold").kind, Kind::done);
  EXPECT_TRUE(put(Section::tenants, "sub").created);
  EXPECT_FALSE(tenant("sub").spec.parent) << "it begins anew";
}

TEST_F(Delete, AModelGoesWhenNoQueueNamesItAndNoGpuHasIt) {
  put(Section::models, "llama", {{"weights", "\"8GB\""}, {"load_time", "\"1s\""}});
  put(Section::queues, "chat", {{"model", "\"llama\""}});
  const ControlOutcome named = erase(Section::models, "llama");
  EXPECT_EQ(named.kind, Kind::in_use);
  EXPECT_EQ(named.flaw,
            "is the model of 1 queue (chat); delete it first, or give it another model: berth put "
            "queue chat --model \"\"");
  desk_.submit(new_task("a", "chat"));
  ASSERT_EQ(desk_.ended.size(), 1U);
  EXPECT_EQ(erase(Section::queues, "chat").kind, Kind::done);
  const ControlOutcome resident = erase(Section::models, "llama");
  EXPECT_EQ(resident.kind, Kind::in_use);
  EXPECT_EQ(resident.count, 1U);
  EXPECT_EQ(resident.unit, "GPUs");
  EXPECT_EQ(put(Section::models, "llama", {{"keep_alive", "\"1s\""}}).kind, Kind::done);
  desk_.wait(seconds(2));
  desk_.wait(seconds(2));
  EXPECT_EQ(erase(Section::models, "llama").kind, Kind::done);
  EXPECT_EQ(erase(Section::models, "llama").kind, Kind::unknown_name);
  const ControlOutcome chat = put(Section::queues, "chat", {{"model", "\"llama\""}});
  EXPECT_EQ(chat.kind, Kind::unknown_name);
  EXPECT_EQ(chat.noun, "model");
  EXPECT_TRUE(put(Section::models, "llama", {{"weights", "\"4GB\""}}).created);
  const core::ModelSpec& spec = names().models()[names().model("llama").value].spec;
  EXPECT_EQ(spec.load_time, core::ModelSpec{}.load_time) << "it begins anew";
  EXPECT_EQ(put(Section::queues, "chat", {{"model", "\"llama\""}}).kind, Kind::done);
}

}  // namespace
}  // namespace berth::service::delete_test
