// What the .proto files say of their messages, fields and values: the comments there, which the
// build puts into the binary (tools/embed.py). The one source of the words of the OpenAPI document.
#pragma once

#include <string>

#include <google/protobuf/descriptor.h>

namespace berth::api {

// On one line; "": it has none. REQUIRES something of berth/v1/scheduler.proto or what it imports.
std::string comment_of(const google::protobuf::Descriptor& message);
std::string comment_of(const google::protobuf::FieldDescriptor& field);
std::string comment_of(const google::protobuf::EnumDescriptor& type);
std::string comment_of(const google::protobuf::EnumValueDescriptor& value);

}  // namespace berth::api
