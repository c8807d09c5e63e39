// See openapi.h.
#include "api/openapi.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <vector>

#include <google/protobuf/descriptor.h>

#include "api/http_routes.h"
#include "api/methods.h"
#include "api/openapi_schemas.h"
#include "api/proto_comments.h"
#include "base/json.h"
#include "berth/v1/scheduler.pb.h"

namespace berth::api {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr std::string_view kAbout =
    "Berth schedules GPU work. Every method is also a gRPC method of berth.v1.Scheduler. JSON is "
    "protobuf's, with the field names of the .proto files; an unknown field or parameter is "
    "refused. A number of 64 bits is written as a string, and read as a string or a number. Bytes "
    "are base64 in quotes; any other JSON value in their place stands for its own text. The paths "
    "below /v1 are the old names of those below /api/v1: they are deprecated and not listed here.";

const google::protobuf::FileDescriptor* file() {
  return v1::SubmitTaskRequest::descriptor()->file();
}
const Descriptor* request_of(const MethodInfo& method) {
  return file()->FindMessageTypeByName(std::string(method.request));
}
const Descriptor* response_of(const MethodInfo& method) {
  return file()->FindMessageTypeByName(std::string(method.response));
}

// ---- Refusals -----------------------------------------------------------------------------------

struct Refusal {
  int status;
  std::string_view name;
  std::string_view when;
};
constexpr std::array kRefusals = {
    Refusal{400, "BadRequest", "a field or a parameter is wrong; `fields` names each"},
    Refusal{401, "Unauthenticated", "no token, or one that is unknown, expired or revoked"},
    Refusal{403, "Forbidden", "the role does not suffice, or it is another tenant's"},
    Refusal{404, "NotFound", "no such task, queue, model, tenant, GPU or signal"},
    Refusal{409, "Conflict", "the task_id belongs to a task with other content"},
    Refusal{413, "TooLarge", "the body is larger than limits.max_message"},
    Refusal{422, "CannotBeDone",
            "it can never be done as things are; or the request_id was used for other content"},
    Refusal{429, "TooMany", "a queue, a bucket or a limit is full, or the server is busy"},
    Refusal{500, "Internal", "the server is at fault"},
    Refusal{503, "Unavailable", "the server is stopping, or cannot write its journal"},
    Refusal{504, "Late", "not answered in time"},
};

bool can_be_refused_with(int status, const MethodInfo& method) {
  const Descriptor& request = *request_of(method);
  const bool submits = method.name.starts_with("Submit");
  switch (status) {
    case 404:
      return request.field_count() > 0;
    case 409:
      return submits;
    case 413:
      return takes_body(method.verb);
    case 422:
      return method.verb != Verb::get;
    default:
      return true;
  }
}

// The responses for which `holds(status)` does, and one for all others.
template <class Holds>
void write_refusals(JsonWriter& json, Holds holds) {
  for (const Refusal& refusal : kRefusals) {
    if (!holds(refusal.status)) continue;
    json.key(std::to_string(refusal.status)).begin_object();
    json.member("$ref", "#/components/responses/" + std::string(refusal.name)).end_object();
  }
  json.key("default").begin_object().member("$ref", "#/components/responses/Other").end_object();
}

void write_refusal_component(JsonWriter& json, const Refusal& refusal) {
  json.key(refusal.name).begin_object().member("description", refusal.when);
  if (refusal.status == 429 || refusal.status == 503) {
    json.key("headers").begin_object().key("Retry-After").begin_object();
    json.member("description", "seconds after which asking again makes sense");
    json.key("schema").begin_object().member("type", "integer").end_object();
    json.end_object().end_object();
  }
  json.key("content").begin_object().key("application/problem+json").begin_object().key("schema");
  write_reference(json, "Problem");
  json.end_object().end_object().end_object();
}

void write_text_property(JsonWriter& json, std::string_view name, std::string_view description) {
  json.key(name).begin_object().member("type", "string").member("description", description);
  json.end_object();
}

void write_problem_schema(JsonWriter& json) {
  json.key("Problem").begin_object().member("type", "object");
  json.member("description", "Why a request was not done, as RFC 9457 has it.");
  json.key("properties").begin_object();
  write_text_property(json, "type", "always about:blank");
  write_text_property(json, "title", "the gRPC code: NOT_FOUND");
  json.key("status").begin_object().member("type", "integer");
  json.member("description", "the HTTP status of this answer").end_object();
  write_text_property(json, "detail", "one sentence, for people");
  write_text_property(json, "reason", "a stable name, for programs: unknown_task");
  json.key("metadata").begin_object().member("type", "object");
  json.key("additionalProperties").begin_object().member("type", "string").end_object();
  json.member("description", "the numbers and names of the reason: need, have, unit, subject");
  json.end_object();
  json.key("fields").begin_object().member("type", "array").key("items").begin_object();
  json.member("type", "object").key("properties").begin_object();
  write_text_property(json, "field", "task.retry.attempts");
  write_text_property(json, "flaw", "what is wrong with it");
  json.end_object().members("required", std::array{"field", "flaw"}).end_object();
  json.member("description", "every wrong field").end_object();
  json.key("retry_after_s").begin_object().member("type", "integer");
  json.member("description", "when asking again makes sense").end_object();
  json.end_object();
  json.members("required", std::array{"type", "title", "status", "detail", "reason"});
  json.end_object();
}

// ---- Paths --------------------------------------------------------------------------------------

std::vector<std::string> fields_in(std::string_view path) {
  std::vector<std::string> fields;
  for (std::size_t at = path.find('{'); at != std::string_view::npos; at = path.find('{', at + 1)) {
    fields.emplace_back(path.substr(at + 1, path.find('}', at) - at - 1));
  }
  return fields;
}

// The path without the names of its fields.
std::string form_of(std::string_view path) {
  std::string form;
  bool inside = false;
  for (const char c : path) {
    inside = c == '{' || (inside && c != '}');
    if (!inside) form += c;
  }
  return form;
}

struct Operation {
  const MethodInfo* method = nullptr;
  std::string_view path;  // as the method has it
  bool second = false;
};

// Operations by path and verb. Two paths that differ in the names of their fields alone are one
// path, by the names of the first.
class PathTable {
 public:
  void add(const Operation& operation) {
    const std::string& path =
        spelled_.try_emplace(form_of(operation.path), operation.path).first->second;
    std::string verb(name_of(operation.method->verb));
    for (char& c : verb)
      c = static_cast<char>(c - 'A' + 'a');
    paths_[path][verb] = operation;
  }
  const std::map<std::string, std::map<std::string, Operation>>& paths() const { return paths_; }

 private:
  std::map<std::string, std::string> spelled_;
  std::map<std::string, std::map<std::string, Operation>> paths_;
};

// ---- Operations ---------------------------------------------------------------------------------

void write_parameter(JsonWriter& json, const std::string& name, std::string_view in,
                     const FieldDescriptor& field) {
  json.begin_object().member("name", name).member("in", in);
  if (in == "path") json.member("required", true);
  json.member("description", comment_of(field));
  json.key("schema").begin_object();
  write_field_schema(json, field, true);
  json.end_object().end_object();
}

void write_header(JsonWriter& json, std::string_view name, std::string_view description) {
  json.begin_object().member("name", name).member("in", "header");
  json.member("description", description);
  json.key("schema").begin_object().member("type", "string").end_object().end_object();
}

// Fields of the request as query parameters; those of its filter by their own names.
void write_query(JsonWriter& json, const Descriptor& message,
                 const std::vector<std::string>& in_path) {
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (std::ranges::find(in_path, field.name()) != in_path.end()) continue;
    if (field.name() == "filter") {
      write_query(json, *field.message_type(), in_path);
    } else if (!field.is_map() && field.type() != FieldDescriptor::TYPE_MESSAGE) {
      write_parameter(json, field.name(), "query", field);
    }
  }
}

void write_parameters(JsonWriter& json, const Operation& operation, std::string_view spelled) {
  const Descriptor& request = *request_of(*operation.method);
  const std::vector<std::string> own = fields_in(operation.path);
  const std::vector<std::string> names = fields_in(spelled);
  json.key("parameters").begin_array();
  for (std::size_t i = 0; i < own.size(); ++i)
    write_parameter(json, names[i], "path", *request.FindFieldByName(own[i]));
  if (!takes_body(operation.method->verb)) write_query(json, request, own);
  if (request.FindFieldByName("request_id") != nullptr) {
    write_header(json, "Idempotency-Key",
                 "the request_id: the same key and content give the same task again");
  }
  if (operation.method->name == "TaskEvents") {
    write_header(json, "Last-Event-ID",
                 "the id of the last event that was got: the stream goes on behind it");
  }
  json.end_array();
}

// A stream of events, each of which is a message in JSON.
void write_event_stream(JsonWriter& json, std::string_view message) {
  json.key("text/event-stream").begin_object().key("schema").begin_object();
  json.member("type", "string").member("contentMediaType", "application/json");
  json.member("description",
              "server-sent events; the data of each is this message in JSON, or a "
              "Problem in one named \"problem\", the last");
  json.key("contentSchema");
  write_reference(json, message);
  json.end_object().end_object();
}

void write_content(JsonWriter& json, const MethodInfo& method) {
  json.key("content").begin_object();
  if (method.kind == MethodKind::server_stream) {
    write_event_stream(json, method.response);
    if (method.name == "GetTaskLogs") {
      json.key("text/plain").begin_object().key("schema").begin_object();
      json.member("type", "string").end_object().end_object();
    }
  } else {
    json.key("application/json").begin_object().key("schema");
    write_reference(json, method.response);
    json.end_object();
  }
  json.end_object();
}

std::string operation_id(const Operation& operation) {
  const std::string name(operation.method->name);
  if (!operation.second) return name;
  return name + (operation.path.find('{') == std::string_view::npos ? "ByFilter" : "ByPath");
}

std::string tag_of(std::string_view path) {
  const std::string_view below = path.substr(kApiRoot.size() + 1);
  return std::string(below.substr(0, below.find_first_of("/:")));
}

void write_operation(JsonWriter& json, const Operation& operation, std::string_view spelled) {
  const MethodInfo& method = *operation.method;
  std::string description =
      std::string(method.summary) + ". Role: " + std::string(name_of(method.role)) + ".";
  if (request_of(method)->FindFieldByName("filter") != nullptr && method.verb == Verb::get) {
    description += " Labels of the filter are parameters of the form labels.KEY=VALUE.";
  }
  if (const std::string comment = comment_of(*request_of(method)); !comment.empty()) {
    description += " " + comment;
  }
  json.begin_object().member("operationId", operation_id(operation));
  json.member("summary", method.summary).member("description", description);
  json.members("tags", std::array{tag_of(method.path)});
  write_parameters(json, operation, spelled);
  if (takes_body(method.verb)) {
    json.key("requestBody").begin_object().key("content").begin_object();
    json.key("application/json").begin_object().key("schema");
    write_reference(json, method.request);
    json.end_object().end_object().end_object();
  }
  json.key("responses").begin_object().key("200").begin_object();
  json.member("description", "done");
  write_content(json, method);
  json.end_object();
  write_refusals(json, [&](int status) { return can_be_refused_with(status, method); });
  json.end_object().end_object();
}

// ---- Pages --------------------------------------------------------------------------------------

std::string_view type_of(Page page) {
  const bool is_json = page == Page::health || page == Page::openapi || page == Page::queue_status;
  return is_json ? "application/json" : "text/plain";
}

void write_page_answer(JsonWriter& json, Page page, std::string_view description) {
  json.begin_object().member("description", description);
  json.key("content").begin_object().key(type_of(page)).begin_object().key("schema");
  if (page == Page::queue_status) {
    write_reference(json, v1::GetQueueStatusResponse::descriptor()->name());
  } else {
    const bool is_json = type_of(page) == "application/json";
    json.begin_object().member("type", is_json ? "object" : "string").end_object();
  }
  json.end_object().end_object().end_object();
}

void write_page(JsonWriter& json, Page page) {
  static constexpr std::array kNames = {
#define PAGE(name, path, role, summary) #name,
      BERTH_PAGES(PAGE)
#undef PAGE
  };
  const PageInfo& info = kPages[static_cast<std::size_t>(page)];
  json.key(info.path).begin_object().key("get").begin_object();
  json.member("operationId", kNames[static_cast<std::size_t>(page)]);
  json.member("summary", info.summary);
  json.member("description",
              std::string(info.summary) + ". Role: " + std::string(name_of(info.role)) + ".");
  json.members("tags", std::array{"pages"});
  if (info.role == Role::anyone) json.key("security").begin_array().end_array();
  json.key("responses").begin_object().key("200");
  write_page_answer(json, page, "done");
  if (page == Page::readyz) {
    json.key("503");
    write_page_answer(json, page, "it takes no work; the text says why");
  }
  // A foreign Host header is refused everywhere.
  write_refusals(json, [&](int status) {
    return status == 403 || (status == 401 && info.role != Role::anyone);
  });
  json.end_object().end_object().end_object();
}

// ---- The document -------------------------------------------------------------------------------

void write_info(JsonWriter& json, const std::string& version) {
  json.member("openapi", "3.1.0").key("info").begin_object().member("title", "Berth");
  json.member("version", version).member("description", kAbout);
  json.key("license").begin_object().member("name", "Apache-2.0");
  json.member("identifier", "Apache-2.0").end_object().end_object();
  json.key("servers").begin_array().begin_object().member("url", "/").end_object().end_array();
  // Without authentication on the server no token is asked for.
  json.key("security").begin_array();
  json.begin_object().key("bearer").begin_array().end_array().end_object();
  json.begin_object().end_object().end_array();
}

void write_components(JsonWriter& json, const OpenapiSchemas& schemas) {
  json.key("components").begin_object();
  json.key("securitySchemes").begin_object().key("bearer").begin_object();
  json.member("type", "http").member("scheme", "bearer");
  json.member("description", "a token of the server's tokens file: `berth token create`");
  json.end_object().end_object();
  json.key("responses").begin_object();
  for (const Refusal& refusal : kRefusals)
    write_refusal_component(json, refusal);
  write_refusal_component(json, {0, "Other", "any other refusal"});
  json.end_object();
  json.key("schemas").begin_object();
  write_problem_schema(json);
  schemas.write(json);
  json.end_object().end_object();
}

}  // namespace

std::string openapi_json(const std::string& version) {
  OpenapiSchemas schemas;
  PathTable table;
  for (const MethodInfo& method : kMethods) {
    if (takes_body(method.verb)) schemas.add_request(request_of(method));
    schemas.add_response(response_of(method));
    table.add({&method, method.path});
    if (!method.also.empty()) table.add({&method, method.also, true});
  }
  JsonWriter json(0);
  json.begin_object();
  write_info(json, version);
  json.key("paths").begin_object();
  for (const auto& [path, verbs] : table.paths()) {
    json.key(path).begin_object();
    for (const auto& [verb, operation] : verbs) {
      json.key(verb);
      write_operation(json, operation, path);
    }
    json.end_object();
  }
  for (std::size_t i = 0; i < kPages.size(); ++i)
    write_page(json, static_cast<Page>(i));
  json.end_object();
  write_components(json, schemas);
  return json.end_object().text() + "\n";
}

}  // namespace berth::api
