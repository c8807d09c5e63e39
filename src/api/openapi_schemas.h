// The schemas of the OpenAPI document: messages and enums of the API as JSON Schema, with the words
// of the .proto files. Knows no routes.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <google/protobuf/descriptor.h>

#include "base/json.h"

namespace berth::api {

// Every message of the API that is sent or got, with all that it contains, and their enums.
class OpenapiSchemas {
 public:
  void add_request(const google::protobuf::Descriptor* message) { add(message, requests_); }
  void add_response(const google::protobuf::Descriptor* message) { add(message, responses_); }

  // The members of components.schemas.
  void write(JsonWriter& json) const;

 private:
  using Messages = std::map<std::string, const google::protobuf::Descriptor*>;

  void add(const google::protobuf::Descriptor* message, Messages& to);
  void write_message(JsonWriter& json, const google::protobuf::Descriptor& message,
                     bool only_got) const;

  Messages requests_;
  Messages responses_;
  std::map<std::string, const google::protobuf::EnumDescriptor*> enums_;
};

// A schema that refers to one of them.
void write_reference(JsonWriter& json, std::string_view schema);

// The members of a field's schema, its description among them; the object around them is the
// caller's. `sent`: by clients, who may write more than the server does.
void write_field_schema(JsonWriter& json, const google::protobuf::FieldDescriptor& field,
                        bool sent);

}  // namespace berth::api
