// What a status needs: the view, and nothing of the engine.
#include <semaphore>

#include <gtest/gtest.h>

#include "api/testing/doors.h"

namespace berth::api::status_test {
namespace {

// The engine's answers wait for the release; what the view knows does not.
TEST(Status, AStatusAsksNothingOfTheEngine) {
  testing::Doors doors;
  doors.pause();
  v1::SubmitTaskResponse response;
  ASSERT_TRUE(doors.submit("a", response).ok());
  std::binary_semaphore reached(0);
  std::binary_semaphore go_on(0);
  ASSERT_TRUE(doors.running.service().offer(service::ControlCommand{
      service::HoldTask{TaskNo{response.task_no()}}, [&](const service::ControlOutcome&) {
        reached.release();
        go_on.acquire();
      }}));
  reached.acquire();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  v1::GetTaskStatusRequest request;
  request.set_task_id("a");
  v1::TaskStatus status;
  EXPECT_TRUE(doors.stub->GetTaskStatus(&context, request, &status).ok());
  EXPECT_EQ(status.state(), v1::WAITING);
  EXPECT_EQ(status.reason().code(), "task_held");
  go_on.release();
}

}  // namespace
}  // namespace berth::api::status_test
