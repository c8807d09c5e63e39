// What the gRPC door refuses before anything is asked of the service: late calls and large
// messages.
#include <string>

#include <gtest/gtest.h>

#include "api/testing/doors.h"

namespace berth::api::grpc_limits_test {
namespace {

using testing::Doors;
using Stub = v1::Scheduler::Stub;

TEST(GrpcLimits, APassedDeadlineIsSaidSo) {
  Doors doors;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() - std::chrono::seconds(1));
  v1::ServerInfo info;
  EXPECT_EQ(doors.stub->GetServerInfo(&context, {}, &info).error_code(), grpc::DEADLINE_EXCEEDED);
}

TEST(GrpcLimits, AMessageOverTheLimitIsRefused) {
  Doors doors;
  v1::SubmitTaskRequest request;
  request.mutable_task()->set_task_type("llm");
  request.mutable_task()->set_payload("x");
  request.mutable_task()->set_payload(std::string(5U << 20, 'x'));
  v1::SubmitTaskResponse response;
  EXPECT_EQ(doors.call(&Stub::SubmitTask, request, response).error_code(),
            grpc::RESOURCE_EXHAUSTED);
}

TEST(GrpcLimits, AMessageThatIsTooLargeIsToldTheLimit) {
  ApiOptions options;
  options.message_bytes_max = 64 << 10;
  Doors doors(std::move(options));
  const auto submit = [&](std::size_t bytes) {
    v1::SubmitTaskRequest request;
    request.mutable_task()->set_task_type("llm");
    request.mutable_task()->set_payload("x");
    request.mutable_task()->set_payload(std::string(bytes, 'x'));
    v1::SubmitTaskResponse response;
    return doors.call(&Stub::SubmitTask, request, response);
  };
  EXPECT_TRUE(submit(60'000).ok());
  const grpc::Status status = submit(70'000);
  EXPECT_EQ(status.error_code(), grpc::RESOURCE_EXHAUSTED);
  EXPECT_NE(status.error_message().find("65536"), std::string::npos) << status.error_message();
}

}  // namespace
}  // namespace berth::api::grpc_limits_test
