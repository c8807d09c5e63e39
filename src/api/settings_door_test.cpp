// Settings and signals at both doors.
#include <gtest/gtest.h>

#include "api/testing/doors.h"

namespace berth::api::settings_door_test {
namespace {

using testing::Doors;
using Stub = v1::Scheduler::Stub;

TEST(SettingsDoor, WhatWasPutIsReverted) {
  Doors doors;
  v1::PutTenantRequest tenant;
  tenant.set_name("carol");
  tenant.mutable_config()->set_weight(2.5);
  v1::PutTenantResponse put;
  ASSERT_TRUE(doors.call(&Stub::PutTenant, tenant, put).ok());
  v1::RevertConfigRequest revert;
  v1::RevertConfigResponse reverted;
  revert.set_kind("tenant");
  EXPECT_EQ(doors.call(&Stub::RevertConfig, revert, reverted).error_code(), grpc::INVALID_ARGUMENT);
  revert.set_name("nobody");
  EXPECT_EQ(doors.call(&Stub::RevertConfig, revert, reverted).error_code(), grpc::NOT_FOUND);
  revert.set_kind("gpu");
  EXPECT_EQ(doors.call(&Stub::RevertConfig, revert, reverted).error_code(), grpc::INVALID_ARGUMENT);
  const testing::RawReply answer =
      doors.http("POST", "/api/v1/config/revert", R"({"kind":"tenant","name":"carol"})");
  EXPECT_NE(answer.body.find("tenants.carol.weight: 2.5 becomes 1"), std::string::npos)
      << answer.body;
  tenant.mutable_config()->set_guaranteed_gpus(2);
  ASSERT_TRUE(doors.call(&Stub::PutTenant, tenant, put).ok());
  tenant.mutable_config()->Clear();
  tenant.mutable_config()->set_max_gpus(1);
  EXPECT_EQ(doors.call(&Stub::PutTenant, tenant, put).error_code(), grpc::INVALID_ARGUMENT);
}

TEST(SettingsDoor, SignalsAreListedAndReset) {
  Doors doors;
  v1::SubmitTaskRequest submit;
  submit.mutable_task()->set_task_type("llm");
  submit.mutable_task()->set_payload("x");
  submit.mutable_task()->set_user_id("alice");
  v1::SubmitTaskResponse submitted;
  for (const char* name : {"a", "b", "c"}) {
    submit.mutable_task()->set_task_id(name);
    submit.mutable_task()->clear_depends_on();
    submit.mutable_task()->add_depends_on("signal:" + std::string(name));
    ASSERT_TRUE(doors.call(&Stub::SubmitTask, submit, submitted).ok());
  }
  v1::ListSignalsRequest list;
  list.set_page_size(2);
  v1::ListSignalsResponse page;
  ASSERT_TRUE(doors.call(&Stub::ListSignals, list, page).ok());
  ASSERT_EQ(page.signals_size(), 2);
  EXPECT_EQ(page.signals(0).user_id(), "alice");
  EXPECT_EQ(page.signals(0).waiters(), 1U);
  list.set_page_token(page.next_page_token());
  ASSERT_TRUE(doors.call(&Stub::ListSignals, list, page).ok());
  ASSERT_EQ(page.signals_size(), 1);
  EXPECT_EQ(page.signals(0).name(), "c");
  EXPECT_EQ(page.next_page_token(), "");
  list.set_page_token("x");
  EXPECT_EQ(doors.call(&Stub::ListSignals, list, page).error_code(), grpc::INVALID_ARGUMENT);
  v1::ResetSignalRequest reset;
  v1::ResetSignalResponse done;
  reset.set_user_id("alice");
  reset.set_signal("a");
  EXPECT_EQ(doors.call(&Stub::ResetSignal, reset, done).error_code(), grpc::FAILED_PRECONDITION);
  reset.set_signal("z");
  EXPECT_EQ(doors.call(&Stub::ResetSignal, reset, done).error_code(), grpc::NOT_FOUND);
  EXPECT_EQ(doors.http("POST", "/api/v1/signals/a/resolve", R"({"user_id":"alice"})").status, 200);
  EXPECT_EQ(doors.http("POST", "/api/v1/signals/a/reset", R"({"user_id":"alice"})").status, 200);
  EXPECT_EQ(doors.http("GET", "/api/v1/signals?user_id=alice").body.find("\"a\""),
            std::string::npos);
}

// ---- Contradictions -----------------------------------------------------------------------------

std::string flaw_in(Doors& doors, const std::string& path, const std::string& config) {
  const testing::RawReply reply = doors.http("PUT", path, R"({"config":)" + config + "}");
  EXPECT_EQ(reply.status, 400) << reply.body;
  const std::size_t at = reply.body.find("\"fields\":");
  return at == std::string::npos ? reply.body : reply.body.substr(at);
}

TEST(Contradictions, AreRefusedWithTheFieldAndItsNumbers) {
  Doors doors;
  EXPECT_EQ(flaw_in(doors, "/api/v1/queues/q", R"({"min_gpus":9,"max_gpus":1})"),
            R"("fields":[{"field":"config.max_gpus","flaw":"expected at least min_gpus, 9, found )"
            R"(1"}]})"
            "\n");
  EXPECT_EQ(doors.http("PUT", "/api/v1/queues/q", R"({"config":{"max_gpus":1}})").status, 200);
  EXPECT_NE(flaw_in(doors, "/api/v1/queues/q", R"({"min_gpus":2})").find("min_gpus, 2, found 1"),
            std::string::npos)
      << "against what was put before";
  EXPECT_EQ(
      flaw_in(doors, "/api/v1/tenants/t", R"({"token_bucket_size":0})"),
      R"("fields":[{"field":"config.token_bucket_size","flaw":"expected an integer from 1 to )"
      R"(9000000000, found 0"}]})"
      "\n");
  EXPECT_NE(
      flaw_in(doors, "/api/v1/tenants/t", R"({"weight":0})").find("from 0.01 to 1000, found 0"),
      std::string::npos);
  EXPECT_NE(flaw_in(doors, "/api/v1/tenants/t", R"({"max_queue_size":4000000000})")
                .find("from 0 to 1000000000, found 4000000000"),
            std::string::npos);
}

TEST(Contradictions, AModelThatNoGpuCouldHoldIsRefusedUnlessForced) {
  Doors doors;
  const std::string path = "/api/v1/models/huge";
  testing::RawReply reply = doors.http("PUT", path, R"({"config":{"weights_mb":999000}})");
  EXPECT_EQ(reply.status, 422) << reply.body;
  for (const char* part : {"\"reason\":\"model_over_any_gpu\"", "\"need\":\"999000\"",
                           "needs 999000 MiB on one GPU", "\"unit\":\"MiB\""}) {
    EXPECT_NE(reply.body.find(part), std::string::npos) << part << " in " << reply.body;
  }
  EXPECT_EQ(doors.http("GET", path).status, 404) << "it was not made";
  reply = doors.http("PUT", path, R"({"force":true,"config":{"weights_mb":999000}})");
  EXPECT_EQ(reply.status, 200) << reply.body;
  reply = doors.http("PUT", path, R"({"config":{"keep_alive_ms":1}})");
  EXPECT_EQ(reply.status, 200) << "its size was not asked about: " << reply.body;
  reply = doors.http("PUT", "/api/v1/models/small", R"({"config":{"weights_mb":1000}})");
  EXPECT_EQ(reply.status, 200) << reply.body;
}

}  // namespace
}  // namespace berth::api::settings_door_test
