// The API as OpenAPI 3.1, made from the method table and the descriptors of the messages. The same
// text for the same build.
#pragma once

#include <string>

namespace berth::api {

std::string openapi_json(const std::string& version);

}  // namespace berth::api
