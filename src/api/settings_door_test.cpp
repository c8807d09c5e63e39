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

}  // namespace
}  // namespace berth::api::settings_door_test
