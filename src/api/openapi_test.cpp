// The OpenAPI document: whole, described, without contradictions. tests/openapi holds it against a
// validator, a generated client and a live server.
#include "api/openapi.h"

#include <set>

#include <google/protobuf/struct.pb.h>
#include <gtest/gtest.h>

#include "api/http_routes.h"
#include "api/json_messages.h"

namespace berth::api::openapi_test {
namespace {

using google::protobuf::Struct;
using google::protobuf::Value;

const Struct& document() {
  static const Struct* const kDocument = [] {
    auto* parsed = new Struct;
    const auto problem = read_json(openapi_json("1.2.3"), *parsed);
    EXPECT_FALSE(problem) << problem->message;
    return parsed;
  }();
  return *kDocument;
}

const Struct& member(const Struct& of, const std::string& name) {
  static const Struct kNone;
  const auto at = of.fields().find(name);
  return at == of.fields().end() ? kNone : at->second.struct_value();
}
std::string text(const Struct& of, const std::string& name) {
  const auto at = of.fields().find(name);
  return at == of.fields().end() ? "" : at->second.string_value();
}

// Calls look(path, object) for every object in it.
template <class Look>
void each_object(const Value& value, const std::string& path, const Look& look) {
  if (value.has_list_value()) {
    for (const Value& item : value.list_value().values())
      each_object(item, path + "/*", look);
  }
  if (!value.has_struct_value()) return;
  look(path, value.struct_value());
  for (const auto& [name, content] : value.struct_value().fields())
    each_object(content, path + "/" + name, look);
}
template <class Look>
void each_object(const Look& look) {
  Value all;
  *all.mutable_struct_value() = document();
  each_object(all, "#", look);
}

const Struct& operation(const std::string& path, const std::string& verb) {
  return member(member(member(document(), "paths"), path), verb);
}

std::set<std::string> parameters_of(const Struct& operation, const std::string& in) {
  std::set<std::string> names;
  const auto at = operation.fields().find("parameters");
  if (at == operation.fields().end()) return names;
  for (const Value& one : at->second.list_value().values()) {
    if (text(one.struct_value(), "in") == in) names.insert(text(one.struct_value(), "name"));
  }
  return names;
}

TEST(OpenApi, HasEveryMethodAndPageOnce) {
  std::set<std::string> ids;
  for (const auto& [path, verbs] : member(document(), "paths").fields()) {
    for (const auto& [verb, operation] : verbs.struct_value().fields()) {
      const std::string id = text(operation.struct_value(), "operationId");
      EXPECT_TRUE(ids.insert(id).second) << id << " twice";
    }
  }
  std::size_t routes = kPages.size();
  for (const MethodInfo& method : kMethods) {
    EXPECT_TRUE(ids.contains(std::string(method.name))) << method.name;
    routes += method.also.empty() ? 1 : 2;
  }
  EXPECT_EQ(ids.size(), routes);
}

// Paths that differ in the names of their fields alone are the same path twice.
TEST(OpenApi, NoPathStandsThereUnderTwoNames) {
  std::set<std::string> forms;
  for (const auto& [path, verbs] : member(document(), "paths").fields()) {
    std::string form;
    bool inside = false;
    for (const char c : path) {
      inside = c == '{' || (inside && c != '}');
      if (!inside) form += c;
    }
    EXPECT_TRUE(forms.insert(form).second) << path;
    for (const auto& [verb, operation] : verbs.struct_value().fields()) {
      for (const std::string& name : parameters_of(operation.struct_value(), "path"))
        EXPECT_NE(path.find("{" + name + "}"), std::string::npos) << path << " " << name;
    }
  }
  EXPECT_TRUE(operation("/api/v1/queues/{task_type}", "put").fields().contains("responses"));
}

TEST(OpenApi, EveryPartOfItIsDescribed) {
  each_object([](const std::string& path, const Struct& object) {
    const bool is_operation = object.fields().contains("operationId");
    const bool is_parameter = object.fields().contains("in") && !path.ends_with("/properties");
    if (is_operation || is_parameter) {
      EXPECT_NE(text(object, "description"), "") << path << " " << text(object, "name");
    }
    if (!path.ends_with("/properties")) return;
    for (const auto& [name, property] : object.fields())
      EXPECT_NE(text(property.struct_value(), "description"), "")
          << path << "/" << name << ": write a comment in the .proto file";
  });
}

TEST(OpenApi, EveryReferenceLeadsSomewhere) {
  std::size_t count = 0;
  each_object([&](const std::string& path, const Struct& object) {
    const std::string reference = text(object, "$ref");
    if (reference.empty()) return;
    ++count;
    std::vector<std::string> parts;
    for (std::size_t at = 1; at < reference.size();) {
      const std::size_t end = std::min(reference.find('/', at + 1), reference.size());
      parts.push_back(reference.substr(at + 1, end - at - 1));
      at = end;
    }
    ASSERT_EQ(parts.size(), 3U) << reference;
    EXPECT_TRUE(member(member(document(), parts[0]), parts[1]).fields().contains(parts[2]))
        << path << " " << reference;
  });
  EXPECT_GT(count, 200U);
}

TEST(OpenApi, HeadersAndWordsOfTheProtoAreThere) {
  EXPECT_EQ(parameters_of(operation("/api/v1/tasks", "post"), "header"),
            std::set<std::string>{"Idempotency-Key"});
  EXPECT_EQ(parameters_of(operation("/api/v1/events", "get"), "header"),
            std::set<std::string>{"Last-Event-ID"});
  EXPECT_TRUE(parameters_of(operation("/api/v1/tasks", "get"), "query").contains("states"));
  const Struct& schemas = member(member(document(), "components"), "schemas");
  const Struct& spec = member(member(schemas, "TaskSpec"), "properties");
  EXPECT_EQ(text(member(spec, "priority"), "description"),
            "-32768 to 32767, higher first, inside one tenant; default 0");
  EXPECT_NE(text(member(schemas, "TaskState"), "description").find("PENDING: eligible"),
            std::string::npos);
}

// What a server always writes a client may rely on; what a client may leave out is not required.
TEST(OpenApi, OnlyAnswersHaveRequiredFields) {
  const Struct& schemas = member(member(document(), "components"), "schemas");
  EXPECT_TRUE(member(schemas, "SubmitTaskResponse").fields().contains("required"));
  EXPECT_FALSE(member(schemas, "TaskSpec").fields().contains("required"));
  EXPECT_TRUE(member(schemas, "TaskSpec").fields().contains("additionalProperties"));
}

}  // namespace
}  // namespace berth::api::openapi_test
