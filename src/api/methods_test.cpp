// The table against the service's descriptor, its routes, and the guide.
#include "api/methods.h"

#include <fstream>
#include <set>
#include <sstream>

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include "api/http_routes.h"
#include "berth/v1/scheduler.pb.h"

namespace berth::api::methods_test {
namespace {

const google::protobuf::ServiceDescriptor* service() {
  return v1::SubmitTaskRequest::descriptor()->file()->FindServiceByName("Scheduler");
}

MethodKind kind_of(const google::protobuf::MethodDescriptor& method) {
  if (method.client_streaming()) return MethodKind::bidi;
  return method.server_streaming() ? MethodKind::server_stream : MethodKind::unary;
}

// A path of this form, with something in the place of each field.
std::string example_of(std::string_view pattern) {
  std::string path;
  bool inside = false;
  for (const char c : pattern) {
    if (c == '{') path += "some%20thing";
    inside = c == '{' || (inside && c != '}');
    if (!inside && c != '}') path += c;
  }
  return path;
}

TEST(MethodTable, HasEveryMethodOfTheServiceAndNoOther) {
  ASSERT_NE(service(), nullptr);
  ASSERT_EQ(static_cast<std::size_t>(service()->method_count()), kMethods.size());
  for (int i = 0; i < service()->method_count(); ++i) {
    const auto* method = service()->method(i);
    const auto row = std::ranges::find(kMethods, method->name(), &MethodInfo::name);
    ASSERT_NE(row, kMethods.end()) << method->name() << " has no row";
    EXPECT_EQ(row->kind, kind_of(*method)) << method->name();
    EXPECT_EQ(row->request, method->input_type()->name());
    EXPECT_EQ(row->response, method->output_type()->name());
    EXPECT_FALSE(row->path.empty()) << method->name() << " has no route";
    EXPECT_NE(row->role, Role::anyone) << method->name() << " needs no token";
    EXPECT_FALSE(row->summary.empty()) << method->name();
  }
}

TEST(MethodTable, ChangesNeedAnAdminUnlessTheyAreOfTasks) {
  for (const MethodInfo& method : kMethods) {
    if (method.verb == Verb::get) continue;
    const bool of_tasks = method.path.starts_with("/api/v1/tasks") ||
                          method.path.starts_with("/api/v1/workflows") ||
                          method.path.starts_with("/api/v1/signals");
    EXPECT_EQ(method.role, of_tasks ? Role::tenant : Role::admin) << method.name;
  }
}

TEST(MethodTable, WhoeverMayReadSomethingNeedsNoAdmin) {
  for (const MethodInfo& method : kMethods) {
    EXPECT_FALSE(method.verb == Verb::get && method.role == Role::admin) << method.name;
  }
}

TEST(MethodTable, EveryPathLeadsToItsMethodAndFillsFieldsOfItsRequest) {
  for (std::size_t i = 0; i < kMethods.size(); ++i) {
    const MethodInfo& method = kMethods[i];
    const auto* request = service()->file()->FindMessageTypeByName(std::string(method.request));
    for (const std::string_view pattern : {method.path, method.also}) {
      if (pattern.empty()) continue;
      const auto route = match_route(name_of(method.verb), example_of(pattern));
      const auto* matched = std::get_if<Matched>(&route);
      ASSERT_NE(matched, nullptr) << pattern;
      EXPECT_EQ(std::get<Method>(matched->what), static_cast<Method>(i)) << pattern;
      for (const auto& [field, value] : matched->path) {
        ASSERT_NE(request->FindFieldByName(field), nullptr) << pattern << " " << field;
        EXPECT_EQ(request->FindFieldByName(field)->type(),
                  google::protobuf::FieldDescriptor::TYPE_STRING);
        EXPECT_EQ(value, "some thing");
      }
    }
  }
}

TEST(Routes, NothingElseMatches) {
  for (const char* path : {"/", "/v1", "/api/v1/tasks/", "/api/v1/tasks/a/b", "/v2/tasks",
                           "/api/v1/tasks/a/", "tasks", "", "*", "/api/v1/tasks:nothing"}) {
    const auto route = match_route("GET", path);
    ASSERT_TRUE(std::holds_alternative<NoRoute>(route)) << path;
    EXPECT_TRUE(std::get<NoRoute>(route).allowed.empty()) << path;
  }
  const auto wrong = match_route("DELETE", "/api/v1/tasks");
  EXPECT_EQ(std::get<NoRoute>(wrong).allowed.size(), 2U);
}

TEST(Routes, PagesMatchAndHeadIsAGet) {
  for (std::size_t i = 0; i < kPages.size(); ++i) {
    const auto route = match_route("HEAD", kPages[i].path);
    ASSERT_TRUE(std::holds_alternative<Matched>(route)) << kPages[i].path;
    EXPECT_EQ(std::get<Page>(std::get<Matched>(route).what), static_cast<Page>(i));
  }
}

TEST(Guide, NamesEveryMethodWithItsRouteAndRole) {
  std::ifstream file(std::string(BERTH_SOURCE_DIR) + "/docs/guide/api.md");
  std::set<std::string> lines;
  for (std::string line; std::getline(file, line);)
    lines.insert(line);
  for (const MethodInfo& method : kMethods) {
    std::string route =
        "`" + std::string(name_of(method.verb)) + " " + std::string(method.path) + "`";
    if (!method.also.empty()) route += ", `" + std::string(method.also) + "`";
    const std::string row = "| " + std::string(method.name) + " | " + route + " | " +
                            std::string(name_of(method.role)) + " | " +
                            std::string(method.summary) + " |";
    EXPECT_TRUE(lines.contains(row)) << "docs/guide/api.md lacks this line:\n" << row;
  }
  for (const PageInfo& page : kPages) {
    const std::string row = "| `GET " + std::string(page.path) + "` | " +
                            std::string(name_of(page.role)) + " | " + std::string(page.summary) +
                            " |";
    EXPECT_TRUE(lines.contains(row)) << "docs/guide/api.md lacks this line:\n" << row;
  }
}

}  // namespace
}  // namespace berth::api::methods_test
