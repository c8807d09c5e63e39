// Arrays in the shell: one line in lists, one id to see, to wait for and to cancel.
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "cli/session.h"
#include "cli/testing/shell.h"
#include "cli/testing/tasks.h"

namespace berth::cli::array_commands_test {
namespace {

using client::testing::Reply;
using testing::kNow;
using testing::Ran;
using testing::running_task;
using testing::ServedShell;

v1::TaskStatus array_in(v1::TaskState state,
                        const std::vector<std::pair<v1::TaskState, std::uint32_t>>& counts) {
  v1::TaskStatus array;
  array.set_task_id("x");
  array.set_task_no(7);
  array.set_user_id("ann");
  array.set_task_type("llm");
  array.set_group("x");
  array.set_state(state);
  array.set_submitted_unix_ms(kNow - 60'000);
  array.mutable_array()->set_indices("0-99");
  for (const auto& [of, tasks] : counts) {
    v1::StateCount& count = *array.mutable_array()->add_states();
    count.set_state(of);
    count.set_tasks(tasks);
    array.mutable_array()->set_tasks(array.array().tasks() + tasks);
  }
  return array;
}
v1::TaskStatus busy_array() {
  return array_in(v1::RUNNING, {{v1::PENDING, 78}, {v1::RUNNING, 10}, {v1::COMPLETED, 12}});
}

class ArrayCommands : public ::testing::Test, protected ServedShell {};

TEST_F(ArrayCommands, TasksFoldsAnArrayIntoOneLine) {
  v1::ListTasksResponse answer;
  *answer.add_tasks() = busy_array();
  *answer.add_tasks() = running_task();
  server.answer("ListTasks", answer);
  Ran ran = run({"tasks"});
  EXPECT_EQ(ran.code, kOk);
  EXPECT_NE(ran.out.find("x[0-99]"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("12 completed, 10 running, 78 pending\n"), std::string::npos) << ran.out;
  EXPECT_TRUE(server.request<v1::ListTasksRequest>("ListTasks").fold_arrays());
  EXPECT_EQ(server.calls("ExplainTask"), 0U);
  // A name is what other commands take.
  EXPECT_EQ(run({"tasks", "-o", "name"}).out, "x\n" + running_task().task_id() + "\n");
  ran = run({"tasks", "-o", "json"});
  v1::ListTasksResponse read;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(ran.out, &read).ok()) << ran.out;
  EXPECT_EQ(read.tasks(0).array().states(1).tasks(), 10U);
  run({"tasks", "--unfold"});
  EXPECT_FALSE(server.request<v1::ListTasksRequest>("ListTasks").fold_arrays());
}

TEST_F(ArrayCommands, StatusShowsTheSummary) {
  server.answer("GetTaskStatus", busy_array());
  const Ran ran = run({"status", "x"});
  EXPECT_EQ(ran.out,
            "array      x[0-99]\n"
            "tenant     ann\n"
            "queue      llm\n"
            "state      running\n"
            "tasks      100: 12 completed, 10 running, 78 pending\n"
            "tier       0\n"
            "priority   0\n"
            "submitted  2026-11-18 11:05:40Z (1m00s ago)\n");
  EXPECT_EQ(ran.err, "next: berth tasks --unfold --all --group x\n");
}

TEST_F(ArrayCommands, WaitEndsWithAllAndIsZeroOnlyIfAllCompleted) {
  int asked = 0;
  v1::TaskStatus end = array_in(v1::COMPLETED, {{v1::COMPLETED, 100}});
  server.on("GetTaskStatus", [&](const std::string&) {
    return Reply{{(++asked % 2 == 1 ? busy_array() : end).SerializeAsString()}, {}};
  });
  EXPECT_EQ(run({"wait", "x"}).code, kOk);
  EXPECT_EQ(asked, 2);
  v1::SubmitTaskResponse made;
  made.set_task_id("x");
  made.set_tasks(100);
  server.answer("SubmitTask", made);
  const std::vector<std::string> submit = {"submit",  "--queue", "q",      "--id", "x",
                                           "--array", "0-99",    "--wait", "--",   "c"};
  Ran ran = run(submit);
  EXPECT_EQ(ran.code, kOk) << ran.err;
  EXPECT_EQ(ran.err, "submitted x\narray x: 100 completed\n");
  EXPECT_EQ(server.calls("GetTaskLogs"), 0U);

  end = array_in(v1::FAILED, {{v1::COMPLETED, 97}, {v1::FAILED, 2}, {v1::CANCELLED, 1}});
  ran = run(submit);
  EXPECT_EQ(ran.code, kFailed);
  EXPECT_EQ(ran.err,
            "submitted x\nberth: error: array x: 97 completed, 2 failed, 1 cancelled\n"
            "next: berth tasks --unfold --state failed --group x\n");
  EXPECT_EQ(run({"wait", "x"}).code, kFailed);
}

}  // namespace
}  // namespace berth::cli::array_commands_test
