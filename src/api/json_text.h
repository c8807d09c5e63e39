// JSON as text: quoting, for the few documents that are not protobuf messages.
#pragma once

#include <string>
#include <string_view>

namespace berth::api {

// With the quotes. Control characters are escaped; the rest goes through as it is.
std::string json_quoted(std::string_view text);

}  // namespace berth::api
