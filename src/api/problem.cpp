// See problem.h.
#include "api/problem.h"

#include <google/rpc/error_details.pb.h>

#include "base/json.h"

namespace berth::api {
namespace {

constexpr std::string_view kDomain = "berth";

void set(google::protobuf::Duration& to, Duration from) {
  to.set_seconds(from.ns / 1'000'000'000);
  to.set_nanos(static_cast<std::int32_t>(from.ns % 1'000'000'000));
}

std::int64_t whole_seconds(Duration duration) {
  const std::int64_t up = duration.ns / 1'000'000'000 + (duration.ns % 1'000'000'000 > 0 ? 1 : 0);
  return up < 1 ? 1 : up;
}

}  // namespace

std::string_view name_of(Code code) {
  switch (code) {
    case Code::ok:
      return "OK";
    case Code::cancelled:
      return "CANCELLED";
    case Code::invalid_argument:
      return "INVALID_ARGUMENT";
    case Code::deadline_exceeded:
      return "DEADLINE_EXCEEDED";
    case Code::not_found:
      return "NOT_FOUND";
    case Code::already_exists:
      return "ALREADY_EXISTS";
    case Code::permission_denied:
      return "PERMISSION_DENIED";
    case Code::resource_exhausted:
      return "RESOURCE_EXHAUSTED";
    case Code::failed_precondition:
      return "FAILED_PRECONDITION";
    case Code::aborted:
      return "ABORTED";
    case Code::out_of_range:
      return "OUT_OF_RANGE";
    case Code::unimplemented:
      return "UNIMPLEMENTED";
    case Code::internal:
      return "INTERNAL";
    case Code::unavailable:
      return "UNAVAILABLE";
    case Code::unauthenticated:
      return "UNAUTHENTICATED";
  }
  return "INTERNAL";
}

Problem bad_request(std::vector<FieldFlaw> fields) {
  Problem problem{.code = Code::invalid_argument, .reason = "bad_request"};
  if (!fields.empty()) problem.message = fields.front().field + ": " + fields.front().flaw;
  if (fields.size() > 1) {
    problem.message += " (and " + std::to_string(fields.size() - 1) + " more)";
  }
  problem.fields = std::move(fields);
  return problem;
}

Problem bad_field(std::string field, std::string flaw) {
  std::vector<FieldFlaw> fields;
  fields.push_back({std::move(field), std::move(flaw)});
  return bad_request(std::move(fields));
}

google::rpc::Status rpc_status_of(const Problem& problem) {
  google::rpc::Status status;
  status.set_code(static_cast<int>(problem.code));
  status.set_message(problem.message);
  google::rpc::ErrorInfo info;
  info.set_reason(problem.reason);
  info.set_domain(std::string(kDomain));
  for (const auto& [key, value] : problem.metadata)
    (*info.mutable_metadata())[key] = value;
  status.add_details()->PackFrom(info);
  if (!problem.fields.empty()) {
    google::rpc::BadRequest bad;
    for (const FieldFlaw& flaw : problem.fields) {
      auto* violation = bad.add_field_violations();
      violation->set_field(flaw.field);
      violation->set_description(flaw.flaw);
    }
    status.add_details()->PackFrom(bad);
  }
  if (problem.retry_after) {
    google::rpc::RetryInfo retry;
    set(*retry.mutable_retry_delay(), *problem.retry_after);
    status.add_details()->PackFrom(retry);
  }
  if (!problem.quota_subject.empty()) {
    google::rpc::QuotaFailure quota;
    auto* violation = quota.add_violations();
    violation->set_subject(problem.quota_subject);
    violation->set_description(problem.message);
    status.add_details()->PackFrom(quota);
  }
  return status;
}

int http_status_of(const Problem& problem) {
  switch (problem.code) {
    case Code::ok:
      return 200;
    case Code::cancelled:
      return 499;
    case Code::invalid_argument:
    case Code::out_of_range:
      return 400;
    case Code::unauthenticated:
      return 401;
    case Code::permission_denied:
      return 403;
    case Code::not_found:
      return 404;
    case Code::already_exists:
      // A key that comes again with other content, as the Idempotency-Key draft has it.
      return problem.reason == "request_id_reused" ? 422 : 409;
    case Code::aborted:
      return 409;
    case Code::failed_precondition:
      return 422;
    case Code::resource_exhausted:
      return 429;
    case Code::unimplemented:
      return 501;
    case Code::internal:
      return 500;
    case Code::unavailable:
      return 503;
    case Code::deadline_exceeded:
      return 504;
  }
  return 500;
}

std::string problem_json(const Problem& problem, int status) {
  JsonWriter json(0);
  json.begin_object().member("type", "about:blank").member("title", name_of(problem.code));
  json.member("status", status);
  json.member("detail", problem.message).member("reason", problem.reason);
  if (!problem.metadata.empty()) {
    json.key("metadata").begin_object();
    for (const auto& [key, value] : problem.metadata)
      json.member(key, value);
    json.end_object();
  }
  if (!problem.fields.empty()) {
    json.key("fields").begin_array();
    for (const FieldFlaw& flaw : problem.fields)
      json.begin_object().member("field", flaw.field).member("flaw", flaw.flaw).end_object();
    json.end_array();
  }
  if (problem.retry_after) json.member("retry_after_s", whole_seconds(*problem.retry_after));
  return json.end_object().text() + "\n";
}

}  // namespace berth::api
