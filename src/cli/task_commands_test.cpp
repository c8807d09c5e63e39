// berth tasks and status against canned answers: reasons, orders, formats.
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "cli/testing/shell.h"
#include "cli/testing/tasks.h"

namespace berth::cli::task_commands_test {
namespace {

using client::testing::Reply;
using testing::kNow;
using testing::pending_task;
using testing::Ran;
using testing::running_task;
using testing::ServedShell;

class TaskCommands : public ::testing::Test, protected ServedShell {};

// A list has what was last recorded; why a task waits now, the engine says.
TEST_F(TaskCommands, TasksThatWaitHaveTheReasonOfTheEngine) {
  v1::ListTasksResponse answer;
  for (int i = 0; i < 30; ++i) {
    *answer.add_tasks() = pending_task();
    answer.mutable_tasks(i)->clear_reason();
    answer.mutable_tasks(i)->set_task_no(static_cast<std::uint64_t>(i));
  }
  *answer.add_tasks() = running_task();
  answer.mutable_tasks(0)->set_state(v1::WAITING);
  answer.mutable_tasks(0)->mutable_reason()->set_message("waits for another task");
  server.answer("ListTasks", answer);
  server.on("ExplainTask", [](const std::string& bytes) {
    v1::ExplainTaskRequest request;
    request.ParseFromString(bytes);
    v1::ExplainTaskResponse explained;
    *explained.mutable_status() = pending_task();
    explained.mutable_status()->mutable_reason()->set_message("because of " + request.task_id());
    return Reply{{explained.SerializeAsString()}, {}};
  });
  const std::string out = run({"tasks"}).out;
  EXPECT_EQ(server.calls("ExplainTask"), 20U);
  EXPECT_NE(out.find("waits for another task\n"), std::string::npos) << out;
  EXPECT_NE(out.find("because of t-1\n"), std::string::npos) << out;
  EXPECT_NE(out.find("because of t-20\n"), std::string::npos) << out;
  EXPECT_NE(out.find("waits for its turn"), std::string::npos) << out;
  EXPECT_EQ(run({"tasks", "-o", "name"}).code, kOk);
  EXPECT_EQ(server.calls("ExplainTask"), 20U) << "names need no reason";
}

// Of a reason without a sentence the numbers are known, not what they count.
TEST_F(TaskCommands, NumbersWithoutASentenceAreNotGuessedAt) {
  v1::ListTasksResponse answer;
  *answer.add_tasks() = pending_task();
  answer.mutable_tasks(0)->set_state(v1::WAITING);
  v1::Reason& reason = *answer.mutable_tasks(0)->mutable_reason();
  reason.Clear();
  reason.set_code("queue_full");
  reason.set_unit("tasks");
  reason.set_subject("llm");
  reason.set_need(3);
  reason.set_have(2);
  server.answer("ListTasks", answer);
  const std::string out = run({"tasks"}).out;
  EXPECT_NE(out.find("queue_full: asked for 3 tasks, available or allowed: 2 tasks (llm)"),
            std::string::npos)
      << out;
}

TEST_F(TaskCommands, TasksAreSortedByTheirColumns) {
  v1::ListTasksResponse answer;
  const std::vector<std::pair<std::string, std::int64_t>> tasks = {
      {"b", 10'000}, {"a", 200'000}, {"c", 9'000}, {"d", 200'000}};
  for (const auto& [id, age_ms] : tasks) {
    *answer.add_tasks() = running_task();
    answer.mutable_tasks()->rbegin()->set_task_id(id);
    answer.mutable_tasks()->rbegin()->set_submitted_unix_ms(kNow - age_ms);
  }
  answer.mutable_tasks(3)->set_started_unix_ms(0);
  server.answer("ListTasks", answer);
  const auto order = [&](const std::string& keys) {
    return run({"tasks", "--sort", keys, "-o", "name"}).out;
  };
  EXPECT_EQ(order("task"), "a\nb\nc\nd\n");
  EXPECT_EQ(order("-TASK"), "d\nc\nb\na\n");
  EXPECT_EQ(order("age"), "c\nb\na\nd\n") << "by the number, not by the text";
  EXPECT_EQ(order("-age,-task"), "d\na\nb\nc\n");
  EXPECT_EQ(order("ran"), "b\na\nc\nd\n") << "empty cells come last";
  EXPECT_EQ(order("-ran"), "b\na\nc\nd\n");
  v1::ListTasksResponse json;
  const std::string text = run({"tasks", "--sort", "age", "--sort", "task", "-o", "json"}).out;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(text, &json).ok()) << text;
  EXPECT_EQ(json.tasks(0).task_id(), "c");
  EXPECT_EQ(json.tasks(3).task_id(), "d");
  const Ran wrong = run({"tasks", "--sort", "agee"});
  EXPECT_EQ(wrong.code, kBadInput);
  EXPECT_EQ(wrong.out, "");
  EXPECT_EQ(wrong.err,
            "berth tasks: --sort: no column is named \"agee\"; did you mean \"age\"? The columns "
            "are task, no, tenant, queue, state, age, ran, position, tier, priority, vram, "
            "attempts, group, gpus, reason\nTry 'berth tasks --help'.\n");
}

TEST_F(TaskCommands, YamlHasTheValuesOfJson) {
  v1::ListTasksResponse answer;
  *answer.add_tasks() = pending_task();
  server.answer("ListTasks", answer);
  const std::string out = run({"tasks", "-o", "yaml"}).out;
  EXPECT_TRUE(
      out.starts_with("tasks:\n- task_id: train-1\n  task_no: \"12\"\n  user_id: "
                      "research\n"))
      << out;
  EXPECT_NE(out.find("    message: \"no GPU has enough free VRAM: needs 8192 MiB, a0 has 512\"\n"),
            std::string::npos)
      << out;
  EXPECT_NE(out.find("\n  gpus: []\n"), std::string::npos) << out;
}

TEST_F(TaskCommands, TheStatusOfATaskThatTheServerHoldsSaysWhatReleasesIt) {
  v1::TaskStatus task = pending_task();
  task.set_state(v1::WAITING);
  task.mutable_reason()->set_code("poison_held");
  server.answer("GetTaskStatus", task);
  EXPECT_EQ(run({"status", "train-1", "--tenant", "a"}).err,
            "next: berth release train-1 --tenant a lets it start again\n");
  task.mutable_reason()->set_code("task_held");
  server.answer("GetTaskStatus", task);
  EXPECT_EQ(run({"status", "train-1"}).err, "next: berth explain train-1\n");
}

// A server may say no more of an end than its kind.
TEST_F(TaskCommands, EveryKindOfFailureHasAName) {
  v1::TaskStatus task = running_task();
  task.set_state(v1::EXPIRED);
  task.mutable_result()->set_failure(v1::DEADLINE);
  server.answer("GetTaskStatus", task);
  Ran ran = run({"status", "run"});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_NE(ran.out.find("deadline\n"), std::string::npos) << ran.out;
  task.mutable_result()->set_failure(static_cast<v1::FailureKind>(99));
  server.answer("GetTaskStatus", task);
  EXPECT_EQ(run({"status", "run"}).code, kOk);
}

}  // namespace
}  // namespace berth::cli::task_commands_test
