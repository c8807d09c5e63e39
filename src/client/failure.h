// Failure: why a call did not succeed, in the words of the server where it has some. Answer: what a
// call gives back, a message or a Failure; each becomes an Answer by itself, to be returned.
//
// Knows gRPC's status and google.rpc's error details; nothing of commands or terminals.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <grpcpp/support/status.h>

#include "base/assert.h"

namespace berth::client {

// One field of the request that the server does not take.
struct FieldProblem {
  std::string field;
  std::string description;
  bool operator==(const FieldProblem&) const = default;
};

struct Failure {
  grpc::StatusCode code = grpc::StatusCode::UNKNOWN;
  std::string message;                          // one sentence
  std::string reason;                           // a name of the closed list; "": not given
  std::map<std::string, std::string> metadata;  // what the reason is about
  std::vector<FieldProblem> fields;
  std::optional<std::chrono::milliseconds> retry_after;  // when asking again makes sense
};

// REQUIRES a status that is not ok. Details that cannot be read are left out.
Failure failure_of(const grpc::Status& status);

// "NOT_FOUND"; "UNKNOWN" for a number that is no code.
std::string_view code_name(grpc::StatusCode code);

template <class T>
class [[nodiscard]] Answer {
 public:
  Answer(T value) : content_(std::in_place_index<0>, std::move(value)) {}    // NOLINT(google-*)
  Answer(Failure why) : content_(std::in_place_index<1>, std::move(why)) {}  // NOLINT(google-*)

  bool ok() const { return content_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // REQUIRES ok().
  T& operator*() {
    ASSERT(ok());
    return *std::get_if<0>(&content_);
  }
  const T& operator*() const {
    ASSERT(ok());
    return *std::get_if<0>(&content_);
  }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }

  // REQUIRES !ok().
  const Failure& failure() const {
    ASSERT(!ok());
    return *std::get_if<1>(&content_);
  }

 private:
  std::variant<T, Failure> content_;
};

}  // namespace berth::client
