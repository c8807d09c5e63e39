// Under authentication a tenant sees and touches its own tasks only: every method, both doors.
#include <functional>

#include <gtest/gtest.h>

#include "api/http_routes.h"
#include "api/testing/doors.h"

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

  template <class Request, class Response>
  void expect_guarded(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                      Role role, const char* name) {
    Response response;
    const Request request;
    EXPECT_EQ(doors_.call(method, request, response).error_code(), grpc::UNAUTHENTICATED) << name;
    if (role == Role::admin) {
      EXPECT_EQ(as_bob(method, request), grpc::PERMISSION_DENIED) << name;
    }
  }

  Doors doors_;
  const std::string alice_ = doors_.secret_of("alice", Role::tenant);
  const std::string bob_ = doors_.secret_of("bob", Role::tenant);
  const std::string admin_ = doors_.secret_of("ops", Role::admin);
  v1::SubmitTaskResponse made_;
};

TEST_F(TenantsApart, TheTenantIsTheTokens) {
  v1::SubmitTaskResponse response;
  EXPECT_EQ(doors_.submit("x", response, "alice", bob_).error_code(), grpc::PERMISSION_DENIED);
  EXPECT_EQ(reason_of(doors_.submit("x", response, "alice", bob_)), "other_tenant");
  EXPECT_TRUE(doors_.submit("x", response, "bob", bob_).ok());
  EXPECT_TRUE(doors_.submit("y", response, "alice", admin_).ok());
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
  const testing::RawReply events = doors_.http("GET", "/v1/events?from_start=true&follow=false", "",
                                               "Authorization: Bearer " + bob_ + "\r\n");
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
  for (const MethodInfo& method : kMethods) {
    std::string path(method.path);
    for (std::size_t at = path.find('{'); at != std::string::npos; at = path.find('{')) {
      path.replace(at, path.find('}') - at + 1, "x");
    }
    const std::string verb(name_of(method.verb));
    EXPECT_EQ(doors_.http(verb, path).status, 401) << verb << " " << path;
    if (method.role != Role::admin) continue;
    const std::string bob = "Authorization: Bearer " + bob_ + "\r\n";
    EXPECT_EQ(doors_.http(verb, path, "", bob).status, 403) << verb << " " << path;
  }
  for (const PageInfo& page : kPages) {
    EXPECT_EQ(doors_.http("GET", std::string(page.path)).status,
              page.role == Role::anyone ? 200 : 401)
        << page.path;
  }
}

TEST_F(TenantsApart, EveryGrpcMethodAsksForAToken) {
#define UNARY(rpc, function, request, response, verb, path, also, role, summary) \
  expect_guarded<v1::request, v1::response>(&Stub::rpc, Role::role, #rpc);
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
