// DeleteTenant, DeleteQueue and DeleteModel at both doors.
#include <gtest/gtest.h>

#include "api/testing/doors.h"

namespace berth::api::delete_door_test {
namespace {

using testing::Doors;
using testing::plain_task;
using testing::reason_of;
using Stub = v1::Scheduler::Stub;

grpc::Status delete_queue(Doors& doors, const std::string& name) {
  v1::DeleteQueueRequest request;
  v1::DeleteQueueResponse response;
  request.set_name(name);
  return doors.call(&Stub::DeleteQueue, request, response);
}

testing::RawReply put(Doors& doors, const std::string& path, const std::string& config) {
  return doors.http("PUT", "/api/v1/" + path, R"({"config":)" + config + "}");
}

std::string submit(Doors& doors, const std::string& id, const std::string& queue,
                   const std::string& tenant = "alice", bool held = false) {
  v1::SubmitTaskRequest request;
  v1::SubmitTaskResponse response;
  *request.mutable_task() = plain_task();
  request.mutable_task()->set_task_id(id);
  request.mutable_task()->set_task_type(queue);
  request.mutable_task()->set_user_id(tenant);
  request.mutable_task()->set_held(held);
  return reason_of(doors.call(&Stub::SubmitTask, request, response));
}

TEST(DeleteDoor, AQueueIsNotListedAndTakesNothingAndItsHistoryStays) {
  Doors doors;
  ASSERT_EQ(put(doors, "queues/night", R"({"max_batch_size":5})").status, 200);
  ASSERT_EQ(submit(doors, "a", "night"), "");
  doors.running.settle();
  ASSERT_TRUE(delete_queue(doors, "night").ok());
  EXPECT_EQ(doors.http("GET", "/api/v1/queues/night").status, 404);
  EXPECT_EQ(doors.http("GET", "/api/v1/queues").body.find("night"), std::string::npos);
  EXPECT_EQ(doors.http("GET", "/metrics").body.find("\"night\""), std::string::npos);
  EXPECT_EQ(submit(doors, "b", "night"), "unknown_queue");
  const testing::RawReply history =
      doors.http("GET", "/api/v1/tasks?ended=true&task_type=night&user_id=alice");
  EXPECT_NE(history.body.find("\"task_id\":\"a\""), std::string::npos) << history.body;
  EXPECT_EQ(reason_of(delete_queue(doors, "night")), "unknown_queue");
  EXPECT_EQ(delete_queue(doors, "").error_code(), grpc::INVALID_ARGUMENT);
  const testing::RawReply made = put(doors, "queues/night", R"({"min_gpus":1})");
  EXPECT_NE(made.body.find("\"created\":true"), std::string::npos) << made.body;
  const testing::RawReply anew = doors.http("GET", "/api/v1/queues/night");
  EXPECT_NE(anew.body.find("\"max_batch_size\":1,"), std::string::npos) << anew.body;
  EXPECT_EQ(submit(doors, "b", "night"), "");
}

TEST(DeleteDoor, WhatIsInUseStaysAndTheAnswerSaysByHowMany) {
  Doors doors;
  ASSERT_EQ(put(doors, "queues/night", "{}").status, 200);
  for (const char* id : {"a", "b", "c"})
    ASSERT_EQ(submit(doors, id, "night", "alice", true), "");
  const testing::RawReply queue = doors.http("DELETE", "/api/v1/queues/night");
  EXPECT_EQ(queue.status, 422) << queue.body;
  for (const char* part : {"\"reason\":\"queue_in_use\"", "\"have\":\"3\"", "\"unit\":\"tasks\"",
                           "has 3 unfinished tasks", "berth cancel --queue night"}) {
    EXPECT_NE(queue.body.find(part), std::string::npos) << part << " in " << queue.body;
  }
  const testing::RawReply tenant = doors.http("DELETE", "/api/v1/tenants/alice");
  EXPECT_EQ(tenant.status, 422) << tenant.body;
  EXPECT_NE(tenant.body.find("tenant \\\"alice\\\" has 3 unfinished tasks"), std::string::npos)
      << tenant.body;
  ASSERT_EQ(doors.http("POST", "/api/v1/tasks:cancel", R"({"filter":{"user_id":"alice"}})").status,
            200);
  EXPECT_EQ(doors.http("DELETE", "/api/v1/queues/night").status, 200);
  EXPECT_EQ(doors.http("DELETE", "/api/v1/queues/night").status, 404);
  EXPECT_EQ(doors.http("DELETE", "/api/v1/tenants/alice").status, 200);
  EXPECT_EQ(doors.http("GET", "/api/v1/tenants/alice").status, 404);
  EXPECT_EQ(doors.http("DELETE", "/api/v1/tenants/alice").status, 404);
}

TEST(DeleteDoor, WhatTheConfigurationHasStaysAndTheAnswerSaysWhatToDo) {
  Doors doors;
  const grpc::Status status = delete_queue(doors, "llm");
  EXPECT_EQ(status.error_code(), grpc::FAILED_PRECONDITION);
  EXPECT_EQ(reason_of(status), "queue_in_configuration");
  EXPECT_NE(status.error_message().find("take it out of the file"), std::string::npos)
      << status.error_message();
  EXPECT_EQ(submit(doors, "a", "llm"), "");
}

TEST(DeleteDoor, AModelGoesWhenNoQueueNamesIt) {
  Doors doors;
  ASSERT_EQ(put(doors, "models/big", R"({"weights_mb":1000})").status, 200);
  ASSERT_EQ(put(doors, "queues/chat", R"({"model":"big"})").status, 200);
  const testing::RawReply used = doors.http("DELETE", "/api/v1/models/big");
  EXPECT_EQ(used.status, 422) << used.body;
  EXPECT_NE(used.body.find("is the model of 1 queue (chat)"), std::string::npos) << used.body;
  ASSERT_EQ(doors.http("DELETE", "/api/v1/queues/chat").status, 200);
  EXPECT_EQ(doors.http("DELETE", "/api/v1/models/big").status, 200);
  EXPECT_EQ(doors.http("GET", "/api/v1/models").body.find("big"), std::string::npos);
  EXPECT_EQ(put(doors, "queues/chat", R"({"model":"big"})").status, 404);
}

}  // namespace
}  // namespace berth::api::delete_door_test
