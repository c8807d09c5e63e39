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
      doors.http("POST", "/v1/config/revert", R"({"kind":"tenant","name":"carol"})");
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
  EXPECT_EQ(doors.http("POST", "/v1/signals/a/resolve", R"({"user_id":"alice"})").status, 200);
  EXPECT_EQ(doors.http("POST", "/v1/signals/a/reset", R"({"user_id":"alice"})").status, 200);
  EXPECT_EQ(doors.http("GET", "/v1/signals?user_id=alice").body.find("\"a\""), std::string::npos);
}

}  // namespace
}  // namespace berth::api::settings_door_test
