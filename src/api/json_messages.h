// Protobuf messages as JSON and as query parameters. Fields keep the names of the .proto files; on
// the way out fields with default values are written too.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <google/protobuf/message.h>

#include "api/problem.h"

namespace berth::api {

using Parameters = std::vector<std::pair<std::string, std::string>>;

std::string json_of(const google::protobuf::Message& message);
// None: all is well. A bytes field takes base64 in quotes, or any other JSON value, whose text is
// the bytes then.
std::optional<Problem> read_json(std::string_view json, google::protobuf::Message& message);

// "filter.group", or "group" where only the filter has such a field; lists by repeating the key;
// maps by "filter.labels.KEY".
std::optional<Problem> set_field(google::protobuf::Message& message, std::string_view path,
                                 const std::string& value);

std::string percent_decoded(std::string_view text, bool plus_is_space);
Parameters query_parameters(std::string_view query);

}  // namespace berth::api
