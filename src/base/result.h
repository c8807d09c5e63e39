// Result: a value, or the sentence that says why there is none.
//
// For what the environment can break: files, sockets, processes. The sentence says what was tried,
// on what, why it failed and, where that is known, what to do. A refusal of the core is a Reason,
// not this; a bug is an ASSERT. A value or an Error becomes a Result by itself, to be returned.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "base/assert.h"

namespace berth {

struct Error {
  std::string message;
  bool operator==(const Error&) const = default;
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-*)
  Result(Error error) : content_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-*)

  bool ok() const { return content_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // REQUIRES ok().
  T& value() & {
    ASSERT(ok());
    return *std::get_if<0>(&content_);
  }
  const T& value() const& {
    ASSERT(ok());
    return *std::get_if<0>(&content_);
  }
  T&& value() && {
    ASSERT(ok());
    return std::move(*std::get_if<0>(&content_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  // REQUIRES !ok().
  const Error& error() const {
    ASSERT(!ok());
    return *std::get_if<1>(&content_);
  }

 private:
  std::variant<T, Error> content_;
};

// A Result without a value.
struct Done {
  bool operator==(const Done&) const = default;
};
using Status = Result<Done>;

}  // namespace berth
