// Arrays as a whole at the doors: their status, one line in lists, one id to cancel, to wait for
// and to depend on.
#include <gtest/gtest.h>

#include "api/testing/doors.h"

namespace berth::api::arrays_door_test {
namespace {

using testing::Doors;
using Stub = v1::Scheduler::Stub;

class ArraysDoor : public ::testing::Test {
 protected:
  v1::SubmitTaskResponse submit(const std::string& id, const std::string& indices,
                                const std::string& depends_on = "") {
    v1::SubmitTaskRequest request;
    v1::TaskSpec& task = *request.mutable_task();
    task.set_task_type("llm");
    task.set_task_id(id);
    task.set_user_id("alice");
    task.set_payload("x");
    if (!indices.empty()) task.mutable_array()->set_indices(indices);
    if (!depends_on.empty()) task.add_depends_on(depends_on);
    v1::SubmitTaskResponse response;
    status_ = doors_.call(&Stub::SubmitTask, request, response);
    return response;
  }
  v1::ListTasksResponse list(bool ended, bool fold, std::int32_t page_size = 0,
                             const std::string& token = "") {
    v1::ListTasksRequest request;
    request.set_ended(ended);
    request.set_fold_arrays(fold);
    request.set_page_size(page_size);
    request.set_page_token(token);
    v1::ListTasksResponse response;
    status_ = doors_.call(&Stub::ListTasks, request, response);
    EXPECT_TRUE(status_.ok()) << status_.error_message();
    return response;
  }
  static std::string ids(const v1::ListTasksResponse& list) {
    std::string text;
    for (const v1::TaskStatus& task : list.tasks())
      text += task.task_id() + (task.has_array() ? "* " : " ");
    return text;
  }
  static std::string counts(const v1::TaskStatus& status) {
    std::string text;
    for (const v1::StateCount& count : status.array().states())
      text += v1::TaskState_Name(count.state()) + " " + std::to_string(count.tasks()) + " ";
    return text;
  }

  Doors doors_;
  grpc::Status status_;
};

TEST_F(ArraysDoor, TheStatusOfAnArrayCountsItsTasksByState) {
  doors_.pause();
  const v1::SubmitTaskResponse made = submit("x", "0-9:3,20");
  v1::TaskStatus whole = doors_.status_of("x", "alice");
  EXPECT_EQ(whole.task_id(), "x");
  EXPECT_EQ(whole.task_no(), made.task_no());
  EXPECT_EQ(whole.group(), "x");
  EXPECT_EQ(whole.state(), v1::PENDING);
  EXPECT_EQ(whole.array().indices(), "0-9:3,20");
  EXPECT_EQ(whole.array().tasks(), 5U);
  EXPECT_EQ(counts(whole), "PENDING 5 ");
  EXPECT_EQ(whole.ended_unix_ms(), 0);

  v1::CancelTaskRequest cancel;
  cancel.set_task_id("x[3]");
  cancel.set_user_id("alice");
  v1::CancelTaskResponse cancelled;
  ASSERT_TRUE(doors_.call(&Stub::CancelTask, cancel, cancelled).ok());
  EXPECT_EQ(counts(doors_.status_of("x", "alice")), "PENDING 4 CANCELLED 1 ");
  doors_.pause(false);
  whole = doors_.end_of("x", "alice");
  EXPECT_EQ(whole.state(), v1::CANCELLED) << "not all of them completed";
  EXPECT_EQ(counts(whole), "COMPLETED 4 CANCELLED 1 ");
  EXPECT_GT(whole.ended_unix_ms(), 0);

  submit("y", "0-2");
  EXPECT_EQ(doors_.end_of("y", "alice").state(), v1::COMPLETED);
}

TEST_F(ArraysDoor, AnArrayIsCancelledByItsId) {
  doors_.pause();
  submit("x", "0-9");
  submit("y", "0-1");
  v1::CancelTaskRequest cancel;
  cancel.set_task_id("x");
  cancel.set_user_id("alice");
  cancel.set_dry_run(true);
  v1::CancelTaskResponse cancelled;
  ASSERT_TRUE(doors_.call(&Stub::CancelTask, cancel, cancelled).ok());
  EXPECT_EQ(cancelled.matched(), 10U);
  cancel.set_dry_run(false);
  ASSERT_TRUE(doors_.call(&Stub::CancelTask, cancel, cancelled).ok());
  EXPECT_EQ(cancelled.cancelled(), 10U);
  EXPECT_EQ(counts(doors_.status_of("x", "alice")), "CANCELLED 10 ");
  EXPECT_EQ(counts(doors_.status_of("y", "alice")), "PENDING 2 ");
  cancel.set_user_id("bob");
  EXPECT_EQ(doors_.call(&Stub::CancelTask, cancel, cancelled).error_code(), grpc::NOT_FOUND);
}

TEST_F(ArraysDoor, ListsFoldAnArrayIntoOneLine) {
  doors_.pause();
  submit("a", "");
  submit("x", "0-99");
  submit("b", "");
  submit("y", "0-4");
  EXPECT_EQ(ids(list(false, true)), "a x* b y* ");
  EXPECT_EQ(list(false, false, 1000).tasks_size(), 107);
  // Pages of one: the array is on one of them.
  std::string all;
  std::string token;
  int pages = 0;
  do {
    const v1::ListTasksResponse page = list(false, true, 1, token);
    all += ids(page);
    token = page.next_page_token();
  } while (!token.empty() && ++pages < 20);
  EXPECT_EQ(all, "a x* b y* ");

  v1::CancelTaskRequest cancel;
  cancel.set_user_id("alice");
  v1::CancelTaskResponse cancelled;
  for (const char* id : {"a", "x", "y[2]"}) {
    cancel.set_task_id(id);
    ASSERT_TRUE(doors_.call(&Stub::CancelTask, cancel, cancelled).ok());
  }
  EXPECT_EQ(ids(list(false, true)), "b y* ");
  // y goes on and stands among the live alone; the others are listed from the newest back.
  EXPECT_EQ(ids(list(true, true)), "b y* x* a ");
  all.clear();
  token.clear();
  pages = 0;
  do {
    const v1::ListTasksResponse page = list(true, true, 1, token);
    all += ids(page);
    token = page.next_page_token();
  } while (!token.empty() && ++pages < 20);
  EXPECT_EQ(all, "b y* x* a ");
}

TEST_F(ArraysDoor, ATaskMayDependOnAnArray) {
  doors_.pause();
  submit("x", "0-2");
  submit("last", "", "x");
  ASSERT_TRUE(status_.ok()) << status_.error_message();
  EXPECT_EQ(doors_.status_of("last", "alice").state(), v1::WAITING);
  submit("y", "0-2", "y");
  EXPECT_EQ(status_.error_code(), grpc::INVALID_ARGUMENT);
  EXPECT_NE(status_.error_message().find("is the array itself"), std::string::npos)
      << status_.error_message();
  submit("none", "", "z");
  EXPECT_FALSE(status_.ok());
  doors_.pause(false);
  EXPECT_EQ(doors_.end_of("last", "alice").state(), v1::COMPLETED);
  EXPECT_EQ(doors_.status_of("x", "alice").state(), v1::COMPLETED);
}

TEST_F(ArraysDoor, WhatIsOnlyForTasksSaysSo) {
  doors_.pause();
  submit("x", "0-2");
  v1::HoldTaskRequest hold;
  hold.set_task_id("x");
  hold.set_user_id("alice");
  v1::HoldTaskResponse held;
  const grpc::Status status = doors_.call(&Stub::HoldTask, hold, held);
  EXPECT_EQ(status.error_code(), grpc::NOT_FOUND);
  EXPECT_NE(status.error_message().find("there is an array of this id"), std::string::npos)
      << status.error_message();
}

}  // namespace
}  // namespace berth::api::arrays_door_test
