// Both doors on free ports before a real service in a temporary folder, with a quick agent.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include "api/server.h"
#include "api/testing/raw_http.h"
#include "api/token_file.h"
#include "berth/v1/scheduler.grpc.pb.h"
#include "service/testing/running_service.h"
#include "store/testing/temp_folder.h"

namespace berth::api::testing {

// Nothing but what every task must have.
inline v1::TaskSpec plain_task() {
  v1::TaskSpec task;
  task.set_task_type("llm");
  task.set_payload("x");
  return task;
}

class Doors {
 public:
  explicit Doors(ApiOptions options = {}, service::ServiceOptions service = {})
      : running(folder.path() / "data", std::move(service)) {
    EXPECT_EQ(running.error, "");
    while (!cluster_is_seen())
      std::this_thread::yield();
    options.grpc_address = "127.0.0.1:0";
    options.http_address = "127.0.0.1:0";
    options.version = "test";
    options.tokens = tokens();
    auto started = ApiServer::start(options, running.service());
    EXPECT_TRUE(started.ok()) << (started.ok() ? "" : started.error().message);
    server = std::move(*started);
    stub = v1::Scheduler::NewStub(channel());
  }
  ~Doors() {
    stub.reset();
    server.reset();
    running.stop();
  }

  std::shared_ptr<grpc::Channel> channel() const {
    return grpc::CreateChannel("127.0.0.1:" + std::to_string(server->grpc_port()),
                               grpc::InsecureChannelCredentials());
  }
  std::filesystem::path tokens() const { return folder.path() / "tokens"; }
  std::string secret_of(const std::string& tenant, Role role) {
    auto made = create_token(tokens(), tenant, role, 0, 1);
    EXPECT_TRUE(made.ok());
    return made->secret;
  }
  RawReply http(const std::string& verb, const std::string& target, const std::string& body = "",
                const std::string& headers = "") {
    return RawHttp(server->http_port()).ask(verb, target, body, headers);
  }
  // So that tasks stay where they are until the test lets them go.
  void pause(bool paused = true) { running.control(service::SetQueuePaused{"llm", paused}); }

  // One call; the token is sent if there is one.
  template <class Request, class Response>
  grpc::Status call(grpc::Status (v1::Scheduler::Stub::*method)(grpc::ClientContext*,
                                                                const Request&, Response*),
                    const Request& request, Response& response, const std::string& secret = "") {
    grpc::ClientContext context;
    if (!secret.empty()) context.AddMetadata("authorization", "Bearer " + secret);
    return (stub.get()->*method)(&context, request, &response);
  }
  grpc::Status submit(const std::string& id, v1::SubmitTaskResponse& response,
                      const std::string& user = "", const std::string& secret = "",
                      const std::string& group = "") {
    v1::SubmitTaskRequest request;
    *request.mutable_task() = plain_task();
    request.mutable_task()->set_task_id(id);
    request.mutable_task()->set_user_id(user);
    request.mutable_task()->set_group(group);
    request.mutable_task()->set_gpu_memory_mb(1000);
    return call(&v1::Scheduler::Stub::SubmitTask, request, response, secret);
  }
  v1::TaskStatus status_of(const std::string& id, const std::string& user = "") {
    v1::GetTaskStatusRequest request;
    request.set_task_id(id);
    request.set_user_id(user);
    v1::TaskStatus status;
    const grpc::Status result = call(&v1::Scheduler::Stub::GetTaskStatus, request, status);
    EXPECT_TRUE(result.ok()) << result.error_message();
    return status;
  }
  // Waits until the task has ended.
  v1::TaskStatus end_of(const std::string& id, const std::string& user = "") {
    while (true) {
      v1::TaskStatus status = status_of(id, user);
      if (status.state() >= v1::COMPLETED || ::testing::Test::HasFailure()) return status;
      std::this_thread::yield();
    }
  }

  bool cluster_is_seen() {
    return running.service().view().read([](const service::Board& board) {
      return board.gpus().size() == 2 && !board.queues().empty();
    });
  }

  store::testing::TempFolder folder;
  service::testing::RunningService running;
  std::unique_ptr<ApiServer> server;
  std::unique_ptr<v1::Scheduler::Stub> stub;
};

template <class Detail>
std::optional<Detail> detail_of(const grpc::Status& status) {
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return std::nullopt;
  for (const auto& any : details.details()) {
    Detail detail;
    if (any.UnpackTo(&detail)) return detail;
  }
  return std::nullopt;
}
inline std::string reason_of(const grpc::Status& status) {
  const auto info = detail_of<google::rpc::ErrorInfo>(status);
  return info ? info->reason() : "";
}

}  // namespace berth::api::testing
