// Status codes and details: from outcomes to gRPC and HTTP.
#include "api/problem.h"

#include <google/rpc/error_details.pb.h>
#include <gtest/gtest.h>

#include "api/outcomes.h"
#include "core/model/reason.h"

namespace berth::api::problem_test {
namespace {

template <class Detail>
std::optional<Detail> detail_of(const google::rpc::Status& status) {
  for (const auto& any : status.details()) {
    Detail detail;
    if (any.UnpackTo(&detail)) return detail;
  }
  return std::nullopt;
}

Problem refused(core::ReasonCode code, Time at = Time::never()) {
  const service::Board board;
  return problem_of(core::Reason{.code = code, .need = 3, .have = 1, .at = at}, board, Time{0});
}

TEST(Problem, EveryReasonHasACodeThatSaysWhetherWaitingHelps) {
  for (std::size_t i = 1; i < core::kReasons.size(); ++i) {
    const auto code = static_cast<core::ReasonCode>(i);
    const Problem problem = refused(code);
    EXPECT_EQ(problem.reason, core::info_of(code).name);
    EXPECT_FALSE(problem.message.empty());
    if (code == core::ReasonCode::daily_tokens_spent) {
      EXPECT_FALSE(problem.retry_after.has_value()) << "nobody knows when";
    } else if (problem.code == Code::resource_exhausted) {
      EXPECT_FALSE(core::info_of(code).never) << problem.reason;
      EXPECT_TRUE(problem.retry_after.has_value()) << problem.reason;
    } else {
      EXPECT_FALSE(problem.retry_after.has_value()) << problem.reason;
    }
  }
}

TEST(Problem, ReasonsOfAdmissionHaveTheCodesOfTheGuide) {
  using enum core::ReasonCode;
  for (const auto code : {tenant_queue_full, cluster_queue_full, tokens_short, daily_tokens_spent,
                          would_start_late}) {
    EXPECT_EQ(code_of(code), Code::resource_exhausted) << core::info_of(code).name;
  }
  for (const auto code : {vram_over_any_gpu, gpus_over_cluster, gpus_over_max, gang_with_model,
                          tokens_over_bucket, queue_draining, already_started}) {
    EXPECT_EQ(code_of(code), Code::failed_precondition) << core::info_of(code).name;
  }
  EXPECT_EQ(code_of(unknown_task), Code::not_found);
  EXPECT_EQ(code_of(dependency_cycle), Code::invalid_argument);
}

TEST(Problem, TheTenantsLimitsAreQuotas) {
  EXPECT_NE(refused(core::ReasonCode::tokens_short).quota_subject, "");
  EXPECT_EQ(refused(core::ReasonCode::cluster_queue_full).quota_subject, "");
}

TEST(Problem, TheInstantOfARefusalBecomesADelay) {
  const Problem problem = refused(core::ReasonCode::tokens_short, Time{2'500'000'000});
  EXPECT_EQ(problem.retry_after, milliseconds(2500));
  const auto status = rpc_status_of(problem);
  const auto retry = detail_of<google::rpc::RetryInfo>(status);
  ASSERT_TRUE(retry.has_value());
  EXPECT_EQ(retry->retry_delay().seconds(), 2);
  EXPECT_EQ(retry->retry_delay().nanos(), 500'000'000);
  EXPECT_TRUE(detail_of<google::rpc::QuotaFailure>(status).has_value());
}

// The day's end, not a second that would be too short until then.
TEST(Problem, ADailyLimitSaysWhenTheDayEnds) {
  const Problem problem =
      refused(core::ReasonCode::daily_tokens_spent, Time{} + minutes(5 * 60) + milliseconds(1));
  EXPECT_EQ(problem.retry_after, minutes(5 * 60) + milliseconds(1));
  EXPECT_TRUE(problem.message.ends_with("; again in 5 h 0 min")) << problem.message;
  EXPECT_NE(problem_json(problem, http_status_of(problem)).find("\"retry_after_s\":18001"),
            std::string::npos);
}

TEST(Problem, DetailsCarryTheNumbers) {
  const auto status = rpc_status_of(refused(core::ReasonCode::vram_over_any_gpu));
  const auto info = detail_of<google::rpc::ErrorInfo>(status);
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->reason(), "vram_over_any_gpu");
  EXPECT_EQ(info->domain(), "berth");
  EXPECT_EQ(info->metadata().at("need"), "3");
  EXPECT_EQ(info->metadata().at("have"), "1");
  EXPECT_EQ(info->metadata().at("unit"), "MiB");
}

TEST(Problem, BadRequestsListEveryField) {
  const Problem problem = bad_request({{"a", "is wrong"}, {"b", "too"}});
  EXPECT_EQ(problem.message, "a: is wrong (and 1 more)");
  const auto bad = detail_of<google::rpc::BadRequest>(rpc_status_of(problem));
  ASSERT_TRUE(bad.has_value());
  EXPECT_EQ(bad->field_violations_size(), 2);
  EXPECT_EQ(problem_json(problem, http_status_of(problem)),
            "{\"type\":\"about:blank\",\"title\":\"INVALID_ARGUMENT\",\"status\":400,\"detail\":"
            "\"a: is wrong (and 1 more)\",\"reason\":\"bad_request\",\"fields\":[{\"field\":\"a\","
            "\"flaw\":\"is wrong\"},{\"field\":\"b\",\"flaw\":\"too\"}]}\n");
}

TEST(Problem, HttpStatusesAreThoseOfTheConventions) {
  const std::pair<Code, int> expected[] = {
      {Code::invalid_argument, 400},   {Code::unauthenticated, 401},
      {Code::permission_denied, 403},  {Code::not_found, 404},
      {Code::already_exists, 409},     {Code::failed_precondition, 422},
      {Code::resource_exhausted, 429}, {Code::unavailable, 503},
      {Code::deadline_exceeded, 504}};
  for (const auto& [code, status] : expected) {
    EXPECT_EQ(http_status_of({.code = code}), status) << name_of(code);
  }
  EXPECT_EQ(http_status_of({.code = Code::already_exists, .reason = "request_id_reused"}), 422);
}

TEST(Problem, SubmitOutcomesHaveTheirCodes) {
  const service::Board board;
  using Kind = service::SubmitOutcome::Kind;
  const auto of = [&](Kind kind, bool by_request_id = false) {
    service::SubmitOutcome outcome;
    outcome.kind = kind;
    outcome.what = "thing";
    outcome.by_request_id = by_request_id;
    return problem_of(outcome, {"alice"}, board, Time{0});
  };
  EXPECT_EQ(of(Kind::conflict).code, Code::already_exists);
  EXPECT_EQ(of(Kind::conflict).reason, "task_exists");
  EXPECT_EQ(of(Kind::conflict, true).reason, "request_id_reused");
  EXPECT_EQ(of(Kind::unknown_queue).code, Code::not_found);
  EXPECT_EQ(of(Kind::unknown_tenant).code, Code::not_found);
  EXPECT_EQ(of(Kind::unknown_dependency).code, Code::not_found);
  EXPECT_EQ(of(Kind::tier_denied).code, Code::permission_denied);
  EXPECT_EQ(of(Kind::queue_forbids_commands).reason, "commands_forbidden");
  EXPECT_EQ(of(Kind::tenant_forbids_commands).code, Code::permission_denied);
  EXPECT_EQ(of(Kind::queue_needs_command).code, Code::failed_precondition);
  EXPECT_EQ(of(Kind::queue_needs_command).reason, "command_needed");
  EXPECT_EQ(of(Kind::too_many_tenants).code, Code::resource_exhausted);
}

TEST(Problem, TheNearestNameIsOffered) {
  const Problem problem = no_such("queue", "lmm", {"diffusion", "llm"});
  EXPECT_EQ(problem.message, "there is no queue \"lmm\"; did you mean \"llm\"?");
  EXPECT_EQ(problem.metadata.at("nearest"), "llm");
}

}  // namespace
}  // namespace berth::api::problem_test
