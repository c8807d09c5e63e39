// See failure.h.
#include "client/failure.h"

#include <array>

#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>

namespace berth::client {
namespace {

void take_detail(const google::protobuf::Any& detail, Failure& failure) {
  if (google::rpc::ErrorInfo info; detail.UnpackTo(&info)) {
    failure.reason = info.reason();
    failure.metadata = {info.metadata().begin(), info.metadata().end()};
  } else if (google::rpc::BadRequest bad; detail.UnpackTo(&bad)) {
    for (const auto& violation : bad.field_violations())
      failure.fields.push_back({violation.field(), violation.description()});
  } else if (google::rpc::RetryInfo retry; detail.UnpackTo(&retry)) {
    failure.retry_after = std::chrono::milliseconds(retry.retry_delay().seconds() * 1000 +
                                                    retry.retry_delay().nanos() / 1'000'000);
  }
}

}  // namespace

Failure failure_of(const grpc::Status& status) {
  ASSERT(!status.ok());
  Failure failure;
  failure.code = status.error_code();
  failure.message = status.error_message();
  google::rpc::Status details;
  if (details.ParseFromString(status.error_details())) {
    for (const google::protobuf::Any& detail : details.details())
      take_detail(detail, failure);
  }
  if (failure.message.empty()) failure.message = "the server gave no message";
  return failure;
}

std::string_view code_name(grpc::StatusCode code) {
  constexpr std::array<std::string_view, 17> kNames = {"OK",
                                                       "CANCELLED",
                                                       "UNKNOWN",
                                                       "INVALID_ARGUMENT",
                                                       "DEADLINE_EXCEEDED",
                                                       "NOT_FOUND",
                                                       "ALREADY_EXISTS",
                                                       "PERMISSION_DENIED",
                                                       "RESOURCE_EXHAUSTED",
                                                       "FAILED_PRECONDITION",
                                                       "ABORTED",
                                                       "OUT_OF_RANGE",
                                                       "UNIMPLEMENTED",
                                                       "INTERNAL",
                                                       "UNAVAILABLE",
                                                       "DATA_LOSS",
                                                       "UNAUTHENTICATED"};
  const auto index = static_cast<std::size_t>(code);
  return index < kNames.size() ? kNames[index] : "UNKNOWN";
}

}  // namespace berth::client
