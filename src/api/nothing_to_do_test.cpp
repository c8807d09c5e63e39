// A task with neither a payload nor a command would do nothing: every door refuses it.
#include <gtest/gtest.h>

#include "api/testing/doors.h"

namespace berth::api::nothing_to_do_test {
namespace {

using testing::Doors;
using testing::plain_task;
using Stub = v1::Scheduler::Stub;

constexpr const char* kWhy =
    "is empty and there is no command, so the task would do nothing; give a payload for the "
    "queue's executor, or a command to run";

v1::TaskSpec idle_task() {
  v1::TaskSpec task = plain_task();
  task.clear_payload();
  return task;
}

std::string flaw_of(const grpc::Status& status) {
  EXPECT_EQ(status.error_code(), grpc::INVALID_ARGUMENT) << status.error_message();
  const auto bad = testing::detail_of<google::rpc::BadRequest>(status);
  if (!bad || bad->field_violations_size() != 1) return status.error_message();
  return bad->field_violations(0).field() + " " + bad->field_violations(0).description();
}

TEST(NothingToDo, IsRefusedAlone) {
  Doors doors;
  v1::SubmitTaskRequest request;
  v1::SubmitTaskResponse response;
  *request.mutable_task() = idle_task();
  EXPECT_EQ(flaw_of(doors.call(&Stub::SubmitTask, request, response)),
            std::string("task.payload ") + kWhy);
  request.mutable_task()->set_payload("");
  EXPECT_EQ(flaw_of(doors.call(&Stub::SubmitTask, request, response)),
            std::string("task.payload ") + kWhy)
      << "an empty payload is none";
  request.mutable_task()->set_payload("{}");
  EXPECT_TRUE(doors.call(&Stub::SubmitTask, request, response).ok());
  request.mutable_task()->clear_payload();
  request.mutable_task()->mutable_command()->add_argv("true");
  EXPECT_TRUE(doors.call(&Stub::SubmitTask, request, response).ok());
}

TEST(NothingToDo, IsRefusedOverHttp) {
  Doors doors;
  for (const char* payload : {"", R"(,"payload":"")", R"(,"payload":null)"}) {
    const testing::RawReply reply = doors.http(
        "POST", "/api/v1/tasks", R"({"task":{"task_type":"llm")" + std::string(payload) + "}}");
    EXPECT_EQ(reply.status, 400) << payload;
    EXPECT_NE(reply.body.find(R"({"field":"task.payload","flaw":"is empty)"), std::string::npos)
        << reply.body;
  }
  EXPECT_EQ(
      doors.http("POST", "/api/v1/tasks", R"({"task":{"task_type":"llm","payload":{}}})").status,
      200);
}

TEST(NothingToDo, IsRefusedInAWorkflowWithItsPlace) {
  Doors doors;
  v1::SubmitWorkflowRequest request;
  v1::SubmitWorkflowResponse response;
  *request.add_tasks() = plain_task();
  *request.add_tasks() = idle_task();
  EXPECT_EQ(flaw_of(doors.call(&Stub::SubmitWorkflow, request, response)),
            std::string("tasks[1].payload ") + kWhy);
}

TEST(NothingToDo, IsRefusedAsAnArray) {
  Doors doors;
  v1::SubmitTaskRequest request;
  v1::SubmitTaskResponse response;
  *request.mutable_task() = idle_task();
  request.mutable_task()->set_task_id("sweep");
  request.mutable_task()->mutable_array()->set_indices("0-2");
  EXPECT_NE(flaw_of(doors.call(&Stub::SubmitTask, request, response)).find(kWhy),
            std::string::npos);
}

TEST(NothingToDo, IsRefusedInAStreamAndTheOthersGoOn) {
  Doors doors;
  grpc::ClientContext context;
  auto stream = doors.stub->SubmitTasks(&context);
  v1::SubmitTasksRequest message;
  message.set_sequence(1);
  *message.add_tasks()->mutable_task() = idle_task();
  *message.add_tasks()->mutable_task() = plain_task();
  ASSERT_TRUE(stream->Write(message));
  stream->WritesDone();
  std::string refused;
  v1::SubmitTasksResponse response;
  while (stream->Read(&response)) {
    for (const v1::SubmitRefusal& one : response.refusals())
      refused += std::to_string(one.sequence()) + " " + one.message();
  }
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_TRUE(refused.starts_with("1 ")) << refused;
  EXPECT_NE(refused.find(kWhy), std::string::npos) << refused;
}

}  // namespace
}  // namespace berth::api::nothing_to_do_test
