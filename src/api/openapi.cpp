// See openapi.h.
#include "api/openapi.h"

#include <map>
#include <set>
#include <string_view>

#include <google/protobuf/descriptor.h>

#include "api/http_routes.h"
#include "api/json_text.h"
#include "api/methods.h"
#include "berth/v1/scheduler.pb.h"

namespace berth::api {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

const google::protobuf::FileDescriptor* file() {
  return v1::SubmitTaskRequest::descriptor()->file();
}

std::string reference(std::string_view schema) {
  return "{\"$ref\":\"#/components/schemas/" + std::string(schema) + "\"}";
}

// ---- Schemas ------------------------------------------------------------------------------------

// The schemas of messages and of all they contain, each once.
class Schemas {
 public:
  void need(const Descriptor* message) {
    if (!made_.try_emplace(message->name()).second) return;
    made_[message->name()] = object(message);
  }

  std::string json() const {
    std::string out;
    for (const auto& [name, schema] : made_) {
      out += (out.empty() ? "" : ",") + json_quoted(name) + ":" + schema;
    }
    return out;
  }

  std::string of_field(const FieldDescriptor* field) {
    if (field->is_map()) {
      return "{\"type\":\"object\",\"additionalProperties\":" +
             of_value(field->message_type()->map_value()) + "}";
    }
    if (field->is_repeated()) return "{\"type\":\"array\",\"items\":" + of_value(field) + "}";
    return of_value(field);
  }

 private:
  std::string object(const Descriptor* message) {
    std::string out = "{\"type\":\"object\",\"properties\":{";
    for (int i = 0; i < message->field_count(); ++i) {
      const FieldDescriptor* field = message->field(i);
      out += (i == 0 ? "" : ",") + json_quoted(field->name()) + ":" + of_field(field);
    }
    return out + "}}";
  }

  std::string of_value(const FieldDescriptor* field) {
    switch (field->type()) {
      case FieldDescriptor::TYPE_MESSAGE:
        need(field->message_type());
        return reference(field->message_type()->name());
      case FieldDescriptor::TYPE_ENUM:
        return of_enum(field->enum_type());
      case FieldDescriptor::TYPE_BOOL:
        return "{\"type\":\"boolean\"}";
      case FieldDescriptor::TYPE_DOUBLE:
        return "{\"type\":\"number\"}";
      case FieldDescriptor::TYPE_BYTES:
        return "{\"type\":\"string\",\"contentEncoding\":\"base64\"}";
      case FieldDescriptor::TYPE_STRING:
        return "{\"type\":\"string\"}";
      case FieldDescriptor::TYPE_INT64:
        return "{\"type\":[\"string\",\"integer\"],\"format\":\"int64\"}";
      case FieldDescriptor::TYPE_UINT64:
        return "{\"type\":[\"string\",\"integer\"],\"format\":\"uint64\"}";
      default:
        return "{\"type\":\"integer\"}";
    }
  }

  static std::string of_enum(const google::protobuf::EnumDescriptor* type) {
    std::string out = "{\"type\":\"string\",\"enum\":[";
    for (int i = 0; i < type->value_count(); ++i) {
      out += (i == 0 ? "" : ",") + json_quoted(type->value(i)->name());
    }
    return out + "]}";
  }

  std::map<std::string, std::string> made_;
};

// ---- Operations ---------------------------------------------------------------------------------

std::set<std::string> fields_in(std::string_view path) {
  std::set<std::string> fields;
  for (std::size_t at = path.find('{'); at != std::string_view::npos; at = path.find('{', at + 1)) {
    fields.emplace(path.substr(at + 1, path.find('}', at) - at - 1));
  }
  return fields;
}

std::string parameter(const std::string& name, std::string_view in, const std::string& schema) {
  std::string out = "{\"name\":" + json_quoted(name) + ",\"in\":" + json_quoted(in);
  if (in == "path") out += ",\"required\":true";
  return out + ",\"schema\":" + schema + "}";
}

// Fields of the request as query parameters; those of its filter by their own names.
void add_query(const Descriptor* message, const std::set<std::string>& skip, Schemas& schemas,
               std::string& out) {
  for (int i = 0; i < message->field_count(); ++i) {
    const FieldDescriptor* field = message->field(i);
    if (skip.contains(field->name())) continue;
    if (field->name() == "filter") {
      add_query(field->message_type(), skip, schemas, out);
    } else if (!field->is_map() && field->type() != FieldDescriptor::TYPE_MESSAGE) {
      out += (out.empty() ? "" : ",") + parameter(field->name(), "query", schemas.of_field(field));
    }
  }
}

std::string response_body(const MethodInfo& method, Schemas& schemas) {
  const Descriptor* message = file()->FindMessageTypeByName(std::string(method.response));
  schemas.need(message);
  const bool stream = method.kind == MethodKind::server_stream;
  const std::string type = stream ? "text/event-stream" : "application/json";
  return "{" + json_quoted(type) + ":{\"schema\":" + reference(method.response) + "}}";
}

std::string operation(const MethodInfo& method, std::string_view path, bool second,
                      Schemas& schemas) {
  const Descriptor* request = file()->FindMessageTypeByName(std::string(method.request));
  const std::set<std::string> in_path = fields_in(path);
  std::string parameters;
  for (const std::string& name : in_path) {
    parameters += (parameters.empty() ? "" : ",") +
                  parameter(name, "path", schemas.of_field(request->FindFieldByName(name)));
  }
  std::string out =
      "{\"operationId\":" + json_quoted(std::string(method.name) + (second ? "ByPath" : "")) +
      ",\"summary\":" + json_quoted(method.summary) +
      ",\"x-role\":" + json_quoted(name_of(method.role));
  if (method.verb == Verb::get) {
    std::string query;
    add_query(request, in_path, schemas, query);
    if (!query.empty()) parameters += (parameters.empty() ? "" : ",") + query;
  } else {
    schemas.need(request);
    out += ",\"requestBody\":{\"content\":{\"application/json\":{\"schema\":" +
           reference(method.request) + "}}}";
  }
  if (!parameters.empty()) out += ",\"parameters\":[" + parameters + "]";
  return out + ",\"responses\":{\"200\":{\"description\":\"done\",\"content\":" +
         response_body(method, schemas) +
         "},\"default\":{\"$ref\":\"#/components/responses/Problem\"}}}";
}

std::string lower(std::string_view verb) {
  std::string out(verb);
  for (char& c : out)
    c = static_cast<char>(c + 32);
  return out;
}

constexpr std::string_view kProblem =
    R"({"description":"why it was not done, as RFC 9457 has it","content":)"
    R"({"application/problem+json":)"
    R"({"schema":{"type":"object","properties":{"type":{"type":"string"},"title":{"type":)"
    R"("string"},"status":{"type":"integer"},"detail":{"type":"string"},"reason":{"type":)"
    R"("string"},"metadata":{"type":"object","additionalProperties":{"type":"string"}},)"
    R"("fields":{"type":"array","items":{"type":"object","properties":{"field":{"type":)"
    R"("string"},"flaw":{"type":"string"}}}},"retry_after_s":{"type":"integer"}}}}}})";

}  // namespace

std::string openapi_json(const std::string& version) {
  Schemas schemas;
  // Paths in order, and under each its verbs in order.
  std::map<std::string, std::map<std::string, std::string>> paths;
  for (const MethodInfo& method : kMethods) {
    const std::string verb = lower(name_of(method.verb));
    paths[std::string(method.path)][verb] = operation(method, method.path, false, schemas);
    if (!method.also.empty()) {
      paths[std::string(method.also)][verb] = operation(method, method.also, true, schemas);
    }
  }
  for (const PageInfo& page : kPages) {
    paths[std::string(page.path)]["get"] = "{\"summary\":" + json_quoted(page.summary) +
                                           ",\"x-role\":" + json_quoted(name_of(page.role)) +
                                           ",\"responses\":{\"200\":{\"description\":\"done\"}}}";
  }
  std::string all;
  for (const auto& [path, verbs] : paths) {
    std::string operations;
    for (const auto& [verb, text] : verbs) {
      operations += (operations.empty() ? "" : ",") + json_quoted(verb) + ":" + text;
    }
    all += (all.empty() ? "" : ",") + json_quoted(path) + ":{" + operations + "}";
  }
  return "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"Berth\",\"version\":" +
         json_quoted(version) +
         ",\"license\":{\"name\":\"Apache-2.0\",\"identifier\":\"Apache-2.0\"}},\"security\":[{},"
         "{\"bearer\":[]}],\"paths\":{" +
         all +
         "},\"components\":{\"securitySchemes\":{\"bearer\":{\"type\":\"http\",\"scheme\":"
         "\"bearer\"}},\"responses\":{\"Problem\":" +
         std::string(kProblem) + "},\"schemas\":{" + schemas.json() + "}}}\n";
}

}  // namespace berth::api
