// Names of groups and signals that nobody uses any more are forgotten, and no others; the journal
// and a snapshot lead to the same names.
#include "service/name_forgetter.h"

#include <string>

#include <gtest/gtest.h>

#include "service/testing/desk.h"

namespace berth::service::name_forgetter_test {
namespace {

using core::TaskState;
using testing::Desk;
using testing::new_task;

class Forgetting : public ::testing::Test {
 protected:
  Forgetting() { desk_.furnish(); }
  void TearDown() override {
    EXPECT_TRUE(desk_.differences().empty());
    Replayer restored(minutes(24 * 60));
    ASSERT_TRUE(restored.restore(desk_.snapshot()).ok());
    const Names& names = restored.position().names;
    EXPECT_EQ(names.groups(), names_().groups());
    EXPECT_EQ(names.signals(), names_().signals());
    EXPECT_EQ(names.next_signal(), names_().next_signal());
  }

  const Names& names_() const { return desk_.sequencer.names(); }
  SubmitOutcome submit(const std::string& id, const std::string& group,
                       std::vector<std::string> depends_on = {}, const std::string& queue = "llm") {
    NewTask task = new_task(id, queue);
    task.card->group_name = group;
    task.depends_on = std::move(depends_on);
    return desk_.submit(std::move(task));
  }
  // Names that come and go.
  void pass(int count) {
    for (int i = 0; i < count; ++i, ++passed_) {
      const std::string name = "passes-" + std::to_string(passed_);
      submit("t" + name, name);
      desk_.control(ResolveSignal{"alice", name});
    }
  }

  Desk desk_;
  int passed_ = 0;
};

TEST_F(Forgetting, AGroupIsForgottenWhenItsLastTaskHasEnded) {
  desk_.control(DefineQueue{"late", "", {}});
  desk_.control(SetQueuePaused{"late", true});
  const TaskNo waits = submit("waits", "stays", {}, "late").task;
  const GroupId group = names_().group(TenantId{0}, "stays");
  for (int i = 0; i < 1'000; ++i)
    submit("t" + std::to_string(i), "g" + std::to_string(i));
  EXPECT_LT(names_().groups().size(), 8u);
  EXPECT_EQ(names_().group(TenantId{0}, "stays"), group);
  submit("joins", "stays", {}, "late");
  EXPECT_EQ(desk_.sequencer.engine().tasks_in_group(group).size(), 2u);
  EXPECT_EQ(desk_.state_of(waits), TaskState::pending);
}

// All of them are named before any of them is submitted.
TEST_F(Forgetting, NoNameOfAWorkflowIsForgottenBeforeItsTasksCome) {
  pass(3);
  desk_.control(SetQueuePaused{"llm", true});
  std::vector<NewTask> tasks;
  for (int i = 0; i < 40; ++i) {
    NewTask task = new_task("w" + std::to_string(i));
    task.card->group_name = "part-" + std::to_string(i);
    task.depends_on = {"signal:go-" + std::to_string(i)};
    tasks.push_back(std::move(task));
  }
  desk_.submit(std::move(tasks), true);
  pass(100);
  for (int i = 0; i < 40; ++i) {
    EXPECT_TRUE(names_().group(TenantId{0}, "part-" + std::to_string(i))) << i;
    EXPECT_TRUE(names_().signal(TenantId{0}, "go-" + std::to_string(i))) << i;
  }
}

TEST_F(Forgetting, ASignalThatWasGivenIsRememberedForADay) {
  pass(1);  // makes the tenant
  desk_.control(ResolveSignal{"alice", "ready"});
  pass(200);
  desk_.wait(minutes(23 * 60));
  pass(200);
  desk_.agent.finishes_at_once = false;
  EXPECT_EQ(desk_.state_of(submit("soon", "", {"signal:ready"}).task), TaskState::running);
  desk_.agent.finishes_at_once = true;
  desk_.wait(minutes(25 * 60));
  pass(600);
  EXPECT_FALSE(names_().signal(TenantId{0}, "ready"));
  EXPECT_LT(names_().signals().size(), 700u) << "those of the last day";
  EXPECT_EQ(desk_.state_of(submit("late", "", {"signal:ready"}).task), TaskState::waiting);
  EXPECT_EQ(desk_.control(ResolveSignal{"alice", "ready"}).count, 1u);
}

TEST_F(Forgetting, ASignalThatATaskWaitsForIsKept) {
  const TaskNo waits = submit("waits", "", {"signal:never"}).task;
  const TaskNo gone = submit("gone", "", {"signal:nobody"}).task;
  desk_.control(CancelTasks{{gone}});
  for (int days = 0; days < 3; ++days) {
    desk_.wait(minutes(24 * 60));
    pass(50);
  }
  EXPECT_TRUE(names_().signal(TenantId{0}, "never"));
  EXPECT_FALSE(names_().signal(TenantId{0}, "nobody"));
  EXPECT_EQ(desk_.state_of(waits), TaskState::waiting);
  EXPECT_EQ(desk_.control(ResolveSignal{"alice", "never"}).count, 1u);
}

}  // namespace
}  // namespace berth::service::name_forgetter_test
