// JSON values in the place of bytes: `"payload": {"prompt": "hi"}` instead of base64.
//
// Protobuf takes base64 in quotes only. What a bytes field is given as an object, a list, a number
// or a bool becomes the base64 of that very text, as the client wrote it. Pure; knows no HTTP.
#pragma once

#include <string>
#include <string_view>

#include <google/protobuf/descriptor.h>

namespace berth::api {

// The same JSON with each such value encoded. A text that is not strictly JSON comes back as it is:
// protobuf says what is wrong with it.
std::string with_encoded_bytes(std::string_view json, const google::protobuf::Descriptor& type);

}  // namespace berth::api
