// Problem: why a request was not done, for gRPC and HTTP alike. A plain value; this header knows
// neither of them.
//
// The code is a gRPC status code by number, so that one table (docs/guide/api.md) serves both
// doors. `reason` is a stable name that programs may compare; `message` is one sentence for people.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <google/rpc/status.pb.h>

#include "base/time.h"

namespace berth::api {

enum class Code : std::uint8_t {
  ok = 0,
  cancelled = 1,
  invalid_argument = 3,
  deadline_exceeded = 4,
  not_found = 5,
  already_exists = 6,
  permission_denied = 7,
  resource_exhausted = 8,
  failed_precondition = 9,
  aborted = 10,
  out_of_range = 11,
  unimplemented = 12,
  internal = 13,
  unavailable = 14,
  unauthenticated = 16,
};

// "NOT_FOUND".
std::string_view name_of(Code code);

struct FieldFlaw {
  std::string field;  // "task.retry.attempts"
  std::string flaw;   // one sentence
  bool operator==(const FieldFlaw&) const = default;
};

struct Problem {
  Code code = Code::internal;
  std::string reason;
  std::string message;
  std::map<std::string, std::string> metadata;  // of the ErrorInfo: need, have, unit, subject
  std::vector<FieldFlaw> fields;                // every wrong field, not only the first
  std::optional<Duration> retry_after;          // when asking again makes sense
  std::string quota_subject;                    // not "": whose limit it is
};

// INVALID_ARGUMENT with these fields; the message names the first and counts the rest.
Problem bad_request(std::vector<FieldFlaw> fields);
Problem bad_field(std::string field, std::string flaw);

// With google.rpc details: ErrorInfo always, BadRequest, RetryInfo and QuotaFailure where they fit.
google::rpc::Status rpc_status_of(const Problem& problem);

int http_status_of(const Problem& problem);
// RFC 9457 application/problem+json, for an answer with this HTTP status.
std::string problem_json(const Problem& problem, int status);

// ---- Answers ------------------------------------------------------------------------------------

template <class Response>
using Answer = std::variant<Response, Problem>;

// Called exactly once, on any thread; it must not block.
template <class Response>
using Reply = std::function<void(Answer<Response>&&)>;

}  // namespace berth::api
