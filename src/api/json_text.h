// JSON as text: quoting, for the few documents that are not protobuf messages, and what text JSON
// can hold at all.
#pragma once

#include <string>
#include <string_view>

namespace berth::api {

// JSON and protobuf hold UTF-8 only.
bool is_utf8(std::string_view text);

// With the quotes. Control characters are escaped; a byte that is no UTF-8 becomes U+FFFD; the rest
// goes through as it is.
std::string json_quoted(std::string_view text);

}  // namespace berth::api
