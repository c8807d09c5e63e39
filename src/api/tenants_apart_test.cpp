// Under authentication a tenant sees and touches its own tasks only: every method, both doors.
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "api/http_routes.h"
#include "api/testing/doors.h"
#include "service/reason_text.h"

namespace berth::api::tenants_apart_test {
namespace {

using testing::Doors;
using testing::reason_of;
using Stub = v1::Scheduler::Stub;

ApiOptions guarded() {
  ApiOptions options;
  options.authentication = true;
  return options;
}

class TenantsApart : public ::testing::Test {
 protected:
  TenantsApart() : doors_(guarded()) {
    doors_.pause();
    EXPECT_TRUE(doors_.submit("hers", made_, "", alice_, "g").ok());
  }
  template <class Request, class Response>
  grpc::StatusCode as_bob(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                       Response*),
                          const Request& request) {
    Response response;
    return doors_.call(method, request, response, bob_).error_code();
  }

  // Who may, as the guide says it.
  static bool may(Role has, Role needs, Verb verb) {
    if (needs == Role::anyone) return true;
    switch (has) {
      case Role::tenant:
        return needs == Role::tenant;
      case Role::reader:
        return verb == Verb::get;
      case Role::admin:
        return true;
      default:
        return false;
    }
  }

  template <class Request, class Response>
  void expect_guarded(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                      Role role, Verb verb, const char* name) {
    Response response;
    const Request request;
    EXPECT_EQ(doors_.call(method, request, response).error_code(), grpc::UNAUTHENTICATED) << name;
    for (const auto& [has, secret] : all_) {
      const grpc::Status status = doors_.call(method, request, response, secret);
      EXPECT_EQ(reason_of(status) != "role_denied", may(has, role, verb))
          << name << " by " << name_of(has) << ": " << status.error_message();
    }
  }

  service::ReasonWords words_for_bob(core::ReasonCode code, TaskNo subject) {
    return doors_.running.service().view().read([&](const service::Board& board) {
      const core::Reason reason{.code = code, .subject = subject.value};
      return service::words_of(reason, board, {TaskNo{}, board.names().tenant("bob")});
    });
  }

  Doors doors_;
  const std::string alice_ = doors_.secret_of("alice", Role::tenant);
  const std::string bob_ = doors_.secret_of("bob", Role::tenant);
  const std::string admin_ = doors_.secret_of("", Role::admin);
  const std::string reader_ = doors_.secret_of("", Role::reader);
  const std::map<Role, std::string> all_ = {{Role::tenant, bob_},
                                            {Role::reader, reader_},
                                            {Role::agent, doors_.secret_of("", Role::agent)},
                                            {Role::admin, admin_}};
  v1::SubmitTaskResponse made_;
};

TEST_F(TenantsApart, TheTenantIsTheTokens) {
  v1::SubmitTaskResponse response;
  EXPECT_EQ(doors_.submit("x", response, "alice", bob_).error_code(), grpc::PERMISSION_DENIED);
  EXPECT_EQ(reason_of(doors_.submit("x", response, "alice", bob_)), "other_tenant");
  EXPECT_TRUE(doors_.submit("x", response, "bob", bob_).ok());
  EXPECT_TRUE(doors_.submit("y", response, "alice", admin_).ok());
}

// The README's task belongs to a tenant that the next command does not name.
TEST_F(TenantsApart, WhoSeesAllIsToldWhoseTaskItIs) {
  v1::GetTaskStatusRequest request;
  request.set_task_id("hers");
  v1::TaskStatus response;
  for (const std::string& secret : {admin_, reader_}) {
    const grpc::Status status = doors_.call(&Stub::GetTaskStatus, request, response, secret);
    EXPECT_EQ(status.error_code(), grpc::NOT_FOUND);
    EXPECT_EQ(status.error_message(),
              "there is no task \"hers\" of tenant \"default\"; tenant \"alice\" has one");
    EXPECT_EQ(testing::detail_of<google::rpc::ErrorInfo>(status)->metadata().at("tenant"), "alice");
  }
  const grpc::Status status = doors_.call(&Stub::GetTaskStatus, request, response, bob_);
  EXPECT_EQ(status.error_message(), "there is no task \"hers\" of tenant \"bob\"");
  EXPECT_FALSE(status.error_details().find("alice") != std::string::npos);
}

TEST_F(TenantsApart, OthersTasksAreNotFound) {
  for (const std::string& id : {std::string("hers"), "t-" + std::to_string(made_.task_no())}) {
    v1::GetTaskStatusRequest status;
    status.set_task_id(id);
    EXPECT_EQ(as_bob(&Stub::GetTaskStatus, status), grpc::NOT_FOUND);
    v1::ExplainTaskRequest explain;
    explain.set_task_id(id);
    EXPECT_EQ(as_bob(&Stub::ExplainTask, explain), grpc::NOT_FOUND);
    v1::CancelTaskRequest cancel;
    cancel.set_task_id(id);
    EXPECT_EQ(as_bob(&Stub::CancelTask, cancel), grpc::NOT_FOUND);
    v1::HoldTaskRequest hold;
    hold.set_task_id(id);
    EXPECT_EQ(as_bob(&Stub::HoldTask, hold), grpc::NOT_FOUND);
    v1::ReleaseTaskRequest release;
    release.set_task_id(id);
    EXPECT_EQ(as_bob(&Stub::ReleaseTask, release), grpc::NOT_FOUND);
    v1::GetTaskLogsRequest logs;
    logs.set_task_id(id);
    grpc::ClientContext context;
    context.AddMetadata("authorization", "Bearer " + bob_);
    auto reader = doors_.stub->GetTaskLogs(&context, logs);
    v1::LogChunk chunk;
    EXPECT_FALSE(reader->Read(&chunk));
    EXPECT_EQ(reader->Finish().error_code(), grpc::NOT_FOUND);
  }
}

TEST_F(TenantsApart, ListsGroupsAndEventsAreOnesOwn) {
  v1::ListTasksResponse list;
  ASSERT_TRUE(doors_.call(&Stub::ListTasks, {}, list, bob_).ok());
  EXPECT_EQ(list.tasks_size(), 0);
  ASSERT_TRUE(doors_.call(&Stub::ListTasks, {}, list, alice_).ok());
  EXPECT_EQ(list.tasks_size(), 1);
  ASSERT_TRUE(doors_.call(&Stub::ListTasks, {}, list, admin_).ok());
  EXPECT_EQ(list.tasks_size(), 1);
  v1::ListTasksRequest hers;
  hers.mutable_filter()->set_user_id("alice");
  EXPECT_EQ(as_bob(&Stub::ListTasks, hers), grpc::PERMISSION_DENIED);
  v1::CancelTaskRequest group;
  group.set_group("g");
  v1::CancelTaskResponse cancelled;
  ASSERT_TRUE(doors_.call(&Stub::CancelTask, group, cancelled, bob_).ok());
  EXPECT_EQ(cancelled.matched(), 0U);
  const testing::RawReply events = doors_.http("GET", "/api/v1/events?from_start=true&follow=false",
                                               "", "Authorization: Bearer " + bob_ + "\r\n");
  EXPECT_EQ(events.status, 200);
  EXPECT_EQ(events.body.find("hers"), std::string::npos);
  v1::GetTenantStatusRequest tenant;
  tenant.set_user_id("alice");
  EXPECT_EQ(as_bob(&Stub::GetTenantStatus, tenant), grpc::PERMISSION_DENIED);
  v1::GetUsageRequest usage;
  usage.set_user_id("alice");
  EXPECT_EQ(as_bob(&Stub::GetUsage, usage), grpc::PERMISSION_DENIED);
}

TEST_F(TenantsApart, EveryRouteAsksForATokenAndItsRole) {
  const auto expect = [&](const std::string& verb, const std::string& path, const Need& need) {
    EXPECT_EQ(doors_.http(verb, path).status, need.role == Role::anyone ? 200 : 401) << path;
    for (const auto& [has, secret] : all_) {
      const auto reply = doors_.http(verb, path, "", "Authorization: Bearer " + secret + "\r\n");
      const bool let_in = reply.body.find("\"role_denied\"") == std::string::npos;
      EXPECT_EQ(let_in, may(has, need.role, need.reads ? Verb::get : Verb::post))
          << verb << " " << path << " by " << name_of(has) << ": " << reply.body;
    }
  };
  for (const MethodInfo& method : kMethods) {
    std::string path(method.path);
    for (std::size_t at = path.find('{'); at != std::string::npos; at = path.find('{')) {
      path.replace(at, path.find('}') - at + 1, "x");
    }
    if (method.name == "TaskEvents") path += "?follow=false";
    expect(std::string(name_of(method.verb)), path, need_of(method));
  }
  for (const PageInfo& page : kPages)
    expect("GET", std::string(page.path), need_of(page));
}

TEST_F(TenantsApart, AReaderSeesAllAndATenantItsOwn) {
  v1::ListTasksResponse list;
  ASSERT_TRUE(doors_.call(&Stub::ListTasks, {}, list, reader_).ok());
  EXPECT_EQ(list.tasks_size(), 1);
  const std::string bob = "Authorization: Bearer " + bob_ + "\r\n";
  const std::string reader = "Authorization: Bearer " + reader_ + "\r\n";
  EXPECT_EQ(doors_.http("GET", "/metrics", "", bob).status, 403);
  const testing::RawReply metrics = doors_.http("GET", "/metrics", "", reader);
  EXPECT_EQ(metrics.status, 200);
  EXPECT_NE(metrics.body.find("tenant=\"alice\""), std::string::npos);
  v1::SubmitTaskResponse response;
  EXPECT_EQ(doors_.submit("x", response, "alice", reader_).error_code(), grpc::PERMISSION_DENIED);
}

TEST_F(TenantsApart, WorkOfOthersIsNotNamedInReasons) {
  v1::SubmitTaskResponse his;
  ASSERT_TRUE(doors_.submit("his", his, "", bob_).ok());
  using enum core::ReasonCode;
  for (const auto code : {behind_in_order, behind_reservation, preempted, waits_for_task}) {
    const service::ReasonWords words = words_for_bob(code, TaskNo{made_.task_no()});
    EXPECT_EQ(words.subject, "");
    EXPECT_TRUE(words.message.ends_with(" (other work)")) << words.message;
    const service::ReasonWords own = words_for_bob(code, TaskNo{his.task_no()});
    EXPECT_EQ(own.subject, "his");
  }
  // Whose it was that has ended, nobody knows here.
  EXPECT_EQ(words_for_bob(preempted, TaskNo{1'000'000}).subject, "");
  EXPECT_EQ(words_for_bob(waits_for_task, TaskNo{1'000'000}).subject, "t-1000000");
}

TEST_F(TenantsApart, NobodyDependsOnTasksOfOthers) {
  doors_.pause(false);
  const auto depend = [&](std::uint64_t number, const std::string& secret) {
    v1::SubmitTaskRequest request;
    request.mutable_task()->set_task_type("llm");
    request.mutable_task()->set_payload("x");
    request.mutable_task()->set_gpu_memory_mb(1000);
    request.mutable_task()->add_depends_on("t-" + std::to_string(number));
    v1::SubmitTaskResponse response;
    return doors_.call(&Stub::SubmitTask, request, response, secret);
  };
  doors_.running.settle();
  EXPECT_TRUE(depend(made_.task_no(), alice_).ok());
  const grpc::Status his = depend(made_.task_no(), bob_);
  const grpc::Status nobodys = depend(1'000'000, bob_);
  EXPECT_EQ(reason_of(his), "dependency_unknown");
  EXPECT_EQ(reason_of(nobodys), "dependency_unknown");
  EXPECT_EQ(his.error_code(), nobodys.error_code());
}

TEST_F(TenantsApart, EveryGrpcMethodAsksForATokenAndItsRole) {
#define UNARY(rpc, function, request, response, verb, path, also, role, summary) \
  expect_guarded<v1::request, v1::response>(&Stub::rpc, Role::role, Verb::verb, #rpc);
#define STREAM(rpc, function, request, response, verb, path, also, role, summary)
  BERTH_METHODS(UNARY, STREAM, STREAM)
#undef STREAM
#undef UNARY
  grpc::ClientContext events;
  auto reader = doors_.stub->TaskEvents(&events, {});
  EXPECT_EQ(reader->Finish().error_code(), grpc::UNAUTHENTICATED);
  grpc::ClientContext submits;
  auto stream = doors_.stub->SubmitTasks(&submits);
  EXPECT_EQ(stream->Finish().error_code(), grpc::UNAUTHENTICATED);
}

// ---- Tenants that nobody has made
// ----------------------------------------------------------------

TEST(UnknownTenants, AreRefusedWithTheNearestNameForThoseWhoSeeIt) {
  service::ServiceOptions service;
  service.make_unknown_tenants = false;
  Doors doors(guarded(), std::move(service));
  doors.running.control(service::DefineTenant{.name = "alice"});
  const std::string admin = doors.secret_of("", Role::admin);
  const std::string stranger = doors.secret_of("alicia", Role::tenant);
  v1::SubmitTaskResponse response;
  EXPECT_TRUE(doors.submit("a", response, "alice", admin).ok());
  const grpc::Status typo = doors.submit("b", response, "alcie", admin);
  EXPECT_EQ(typo.error_code(), grpc::NOT_FOUND);
  EXPECT_EQ(reason_of(typo), "unknown_tenant");
  EXPECT_NE(typo.error_message().find("did you mean \"alice\"?"), std::string::npos)
      << typo.error_message();
  const grpc::Status own = doors.submit("c", response, "", stranger);
  EXPECT_EQ(reason_of(own), "unknown_tenant");
  EXPECT_EQ(own.error_message().find("did you mean"), std::string::npos) << own.error_message();
  EXPECT_NE(own.error_message().find("berth put tenant alicia"), std::string::npos);
}

TEST(Addresses, OthersThanLoopbackNeedTlsAndAuthentication) {
  Doors doors;
  ApiOptions options;
  options.grpc_address = "0.0.0.0:0";
  options.http_address = "127.0.0.1:0";
  auto started = ApiServer::start(options, doors.running.service());
  ASSERT_FALSE(started.ok());
  EXPECT_NE(started.error().message.find("TLS and authentication"), std::string::npos);
  options.authentication = true;
  EXPECT_FALSE(ApiServer::start(options, doors.running.service()).ok());
}

}  // namespace
}  // namespace berth::api::tenants_apart_test
