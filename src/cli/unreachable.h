// Why a server could not be reached, in words for people, and what to do: made from what gRPC says.
#pragma once

#include <optional>
#include <string>

#include "client/failure.h"

namespace berth::cli {

struct Unreachable {
  std::string why;
  std::string advice;
};

// How the server was asked for.
struct Approach {
  std::string server;
  bool with_tls = false;
  bool with_certificate = false;
};

// None: it was reached, or what gRPC says is not known here.
std::optional<Unreachable> unreachable(const client::Failure& failure, const Approach& approach);

}  // namespace berth::cli
