// See openapi_schemas.h.
#include "api/openapi_schemas.h"

#include <google/protobuf/descriptor.pb.h>

#include "api/proto_comments.h"

namespace berth::api {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

// The name without the package.
template <class Named>
std::string schema_name(const Named& named) {
  return named.full_name().substr(named.file()->package().size() + 1);
}

std::string path_of_schema(std::string_view schema) {
  return "#/components/schemas/" + std::string(schema);
}

// Numbers of 64 bits: always written as strings, which no reader rounds; read in both forms.
void write_long(JsonWriter& json, std::string_view format) {
  json.key("type").begin_array().value("string").value("integer").end_array();
  json.member("format", format);
}

// One value, where the field may be a list or a map of them.
void write_value_schema(JsonWriter& json, const FieldDescriptor& field, bool sent) {
  switch (field.type()) {
    case FieldDescriptor::TYPE_MESSAGE:
      json.member("$ref", path_of_schema(schema_name(*field.message_type())));
      return;
    case FieldDescriptor::TYPE_ENUM:
      json.member("$ref", path_of_schema(schema_name(*field.enum_type())));
      return;
    case FieldDescriptor::TYPE_BOOL:
      json.member("type", "boolean");
      return;
    case FieldDescriptor::TYPE_DOUBLE:
      json.member("type", "number");
      return;
    case FieldDescriptor::TYPE_BYTES:
      // What is sent may be any JSON value; what is got is a string.
      if (!sent) json.member("type", "string");
      json.member("contentEncoding", "base64");
      return;
    case FieldDescriptor::TYPE_STRING:
      json.member("type", "string");
      return;
    case FieldDescriptor::TYPE_INT64:
      return write_long(json, "int64");
    case FieldDescriptor::TYPE_UINT64:
      return write_long(json, "uint64");
    case FieldDescriptor::TYPE_UINT32:
      json.member("type", "integer").member("minimum", 0);
      return;
    default:
      json.member("type", "integer").member("format", "int32");
  }
}

// Whether JSON that the server writes always has it.
bool is_always_written(const FieldDescriptor& field) {
  return field.is_repeated() || !field.has_presence();
}

void write_enum(JsonWriter& json, const EnumDescriptor& type) {
  std::string description = comment_of(type);
  json.begin_object().member("type", "string").key("enum").begin_array();
  for (int i = 0; i < type.value_count(); ++i) {
    json.value(type.value(i)->name());
    const std::string comment = comment_of(*type.value(i));
    if (comment.empty()) continue;
    description += (description.empty() ? "" : "\n") + type.value(i)->name() + ": " + comment;
  }
  json.end_array();
  if (!description.empty()) json.member("description", description);
  json.end_object();
}

}  // namespace

void write_reference(JsonWriter& json, std::string_view schema) {
  json.begin_object().member("$ref", path_of_schema(schema)).end_object();
}

void write_field_schema(JsonWriter& json, const FieldDescriptor& field, bool sent) {
  if (field.is_map()) {
    json.member("type", "object").key("additionalProperties").begin_object();
    write_value_schema(json, *field.message_type()->map_value(), sent);
    json.end_object();
  } else if (field.is_repeated()) {
    json.member("type", "array").key("items").begin_object();
    write_value_schema(json, field, sent);
    json.end_object();
  } else {
    write_value_schema(json, field, sent);
  }
  json.member("description", comment_of(field));
}

void OpenapiSchemas::add(const Descriptor* message, Messages& to) {
  const bool is_map = message->options().map_entry();
  if (!is_map && !to.emplace(schema_name(*message), message).second) return;
  for (int i = 0; i < message->field_count(); ++i) {
    const FieldDescriptor* field = message->field(i);
    if (field->type() == FieldDescriptor::TYPE_MESSAGE) add(field->message_type(), to);
    if (field->type() == FieldDescriptor::TYPE_ENUM) {
      enums_.emplace(schema_name(*field->enum_type()), field->enum_type());
    }
  }
}

void OpenapiSchemas::write_message(JsonWriter& json, const Descriptor& message,
                                   bool only_got) const {
  json.begin_object().member("type", "object");
  if (const std::string comment = comment_of(message); !comment.empty()) {
    json.member("description", comment);
  }
  json.key("properties").begin_object();
  std::vector<std::string> required;
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    json.key(field.name()).begin_object();
    write_field_schema(json, field, !only_got);
    json.end_object();
    if (is_always_written(field)) required.push_back(field.name());
  }
  json.end_object();
  // What is sent may leave out everything; what it may not have is refused.
  if (!only_got) {
    json.member("additionalProperties", false);
  } else if (!required.empty()) {
    json.members("required", required);
  }
  json.end_object();
}

void OpenapiSchemas::write(JsonWriter& json) const {
  Messages all = requests_;
  all.insert(responses_.begin(), responses_.end());
  for (const auto& [name, message] : all) {
    json.key(name);
    write_message(json, *message, !requests_.contains(name));
  }
  for (const auto& [name, type] : enums_) {
    json.key(name);
    write_enum(json, *type);
  }
}

}  // namespace berth::api
