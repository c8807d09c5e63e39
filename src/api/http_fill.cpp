// See http_fill.h.
#include "api/http_fill.h"

namespace berth::api {
namespace {

std::optional<Problem> set_request_id(google::protobuf::Message& message, const std::string& key) {
  const auto* field = message.GetDescriptor()->FindFieldByName("request_id");
  if (key.empty() || field == nullptr) return std::nullopt;
  const std::string given = message.GetReflection()->GetString(message, field);
  if (!given.empty() && given != key) {
    return bad_field("request_id", "differs from the header Idempotency-Key");
  }
  return set_field(message, "request_id", key);
}

}  // namespace

std::optional<Problem> fill(google::protobuf::Message& message, const Matched& matched,
                            const HttpRequest& request) {
  if (!request.body.empty()) {
    if (auto problem = read_json(request.body, message)) return problem;
  }
  for (const auto& [key, value] : matched.query) {
    if (auto problem = set_field(message, key, value)) return problem;
  }
  for (const auto& [key, value] : matched.path) {
    const auto* field = message.GetDescriptor()->FindFieldByName(key);
    const std::string given = message.GetReflection()->GetString(message, field);
    if (!given.empty() && given != value) return bad_field(key, "differs from the path's");
    if (auto problem = set_field(message, key, value)) return problem;
  }
  return set_request_id(message, request.idempotency_key);
}

}  // namespace berth::api
