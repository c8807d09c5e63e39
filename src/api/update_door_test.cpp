// A task that waits is changed, through the door of gRPC.
#include <gtest/gtest.h>

#include "api/testing/doors.h"

namespace berth::api::update_door_test {
namespace {

using testing::Doors;
using testing::reason_of;
using Stub = v1::Scheduler::Stub;

class UpdateDoor : public ::testing::Test {
 protected:
  UpdateDoor() {
    v1::SubmitTaskRequest submit;
    submit.mutable_task()->set_task_type("llm");
    submit.mutable_task()->set_user_id("alice");
    submit.mutable_task()->set_task_id("a");
    submit.mutable_task()->set_payload("x");
    submit.mutable_task()->set_held(true);
    v1::SubmitTaskResponse submitted;
    EXPECT_TRUE(doors_.call(&Stub::SubmitTask, submit, submitted).ok());
    task_ = TaskNo{submitted.task_no()};
    request_.set_task_id("a");
    request_.set_user_id("alice");
  }

  grpc::Status update() {
    const grpc::Status status = doors_.call(&Stub::UpdateTask, request_, response_);
    request_.clear_priority();
    request_.clear_run_limit_ms();
    request_.clear_tolerated_wait_ms();
    request_.clear_task_type();
    return status;
  }
  v1::TaskSpec spec() {
    v1::GetTaskStatusRequest request;
    request.set_task_id("a");
    request.set_user_id("alice");
    request.set_with_spec(true);
    v1::TaskStatus task;
    EXPECT_TRUE(doors_.call(&Stub::GetTaskStatus, request, task).ok());
    return task.spec();
  }
  Duration run_limit() {
    return doors_.running.service().view().read(
        [this](const service::Board& board) { return board.tasks().find(task_)->card->run_limit; });
  }

  Doors doors_;
  TaskNo task_;
  v1::UpdateTaskRequest request_;
  v1::UpdateTaskResponse response_;
};

TEST_F(UpdateDoor, WhatIsNotNamedStays) {
  request_.set_priority(7);
  ASSERT_TRUE(update().ok());
  EXPECT_EQ(response_.status().priority(), 7);
  request_.set_tolerated_wait_ms(60'000);
  ASSERT_TRUE(update().ok());
  EXPECT_EQ(response_.status().priority(), 7);
  EXPECT_EQ(spec().tolerated_wait_ms(), 60'000);
  EXPECT_EQ(spec().payload(), "x");
}

TEST_F(UpdateDoor, ARunLimitIsSetAndTakenBack) {
  const Duration before = run_limit();
  request_.set_run_limit_ms(90'000);
  ASSERT_TRUE(update().ok());
  EXPECT_EQ(run_limit(), seconds(90));
  request_.set_priority(1);
  ASSERT_TRUE(update().ok());
  EXPECT_EQ(run_limit(), seconds(90)) << "it was not named";
  request_.set_run_limit_ms(0);
  ASSERT_TRUE(update().ok());
  EXPECT_EQ(run_limit(), before);
}

TEST_F(UpdateDoor, PrioritiesHaveTheRangeOfSubmits) {
  for (const std::int32_t priority : {-32'768, 32'767}) {
    request_.set_priority(priority);
    ASSERT_TRUE(update().ok());
    EXPECT_EQ(response_.status().priority(), priority);
  }
  for (const std::int32_t priority : {-32'769, 32'768}) {
    request_.set_priority(priority);
    const grpc::Status status = update();
    EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT);
    EXPECT_NE(status.error_message().find("between -32768 and 32767"), std::string::npos)
        << status.error_message();
  }
}

TEST_F(UpdateDoor, WhatCannotBeChangedIsSaid) {
  EXPECT_EQ(update().error_code(), grpc::INVALID_ARGUMENT) << "nothing is to be changed";
  request_.set_task_type("nowhere");
  EXPECT_EQ(update().error_code(), grpc::NOT_FOUND);
  request_.set_task_id("b");
  request_.set_priority(1);
  EXPECT_EQ(update().error_code(), grpc::NOT_FOUND);
}

}  // namespace
}  // namespace berth::api::update_door_test
