// Body, query, path and Idempotency-Key into one message.
#include "api/http_fill.h"

#include <gtest/gtest.h>

#include "berth/v1/scheduler.pb.h"

namespace berth::api::http_fill_test {
namespace {

template <class Request>
std::optional<Problem> filled(Request& message, const HttpRequest& request) {
  const auto route = match_route(request.method, request.target);
  return fill(message, std::get<Matched>(route), request);
}

TEST(Filling, TakesEachPart) {
  v1::CancelTaskRequest message;
  ASSERT_FALSE(filled(message, {.method = "POST",
                                .target = "/api/v1/tasks/a%20b/cancel?dry_run",
                                .body = R"({"user_id": "x"})"}));
  EXPECT_EQ(message.task_id(), "a b");
  EXPECT_TRUE(message.dry_run());
  EXPECT_EQ(message.user_id(), "x");
}

TEST(Filling, RefusesABodyThatNamesAnotherThanThePath) {
  v1::CancelTaskRequest message;
  const auto problem =
      filled(message,
             {.method = "POST", .target = "/api/v1/tasks/a/cancel", .body = R"({"task_id": "b"})"});
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->fields.at(0).field, "task_id");
}

TEST(Filling, TheHeaderIsTheRequestIdAndMustBeText) {
  v1::SubmitTaskRequest message;
  const HttpRequest request{.method = "POST", .target = "/api/v1/tasks", .idempotency_key = "k"};
  ASSERT_FALSE(filled(message, request));
  EXPECT_EQ(message.request_id(), "k");
  HttpRequest other = request;
  other.idempotency_key = "l";
  EXPECT_TRUE(filled(message, other)) << "it differs from the one that is there";
  v1::SubmitTaskRequest fresh;
  other.idempotency_key = "\xff";
  const auto problem = filled(fresh, other);
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->fields.at(0).field, "request_id");
}

TEST(Filling, APathMustBeText) {
  v1::GetTaskStatusRequest message;
  const auto problem = filled(message, {.method = "GET", .target = "/api/v1/tasks/%ff"});
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->fields.at(0).field, "task_id");
}

}  // namespace
}  // namespace berth::api::http_fill_test
