// From an HTTP request to the message of its method: body, query, path and Idempotency-Key
// together. Pure: knows no handler and no socket.
#pragma once

#include <optional>

#include <google/protobuf/message.h>

#include "api/http_message.h"
#include "api/http_routes.h"

namespace berth::api {

// None: all is well. Body, then query, then path; a body that names another thing than the path is
// refused. REQUIRES the message of the matched method.
std::optional<Problem> fill(google::protobuf::Message& message, const Matched& matched,
                            const HttpRequest& request);

}  // namespace berth::api
