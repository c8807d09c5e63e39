// Client: the public API as plain calls. Every call has a deadline; a call that changes nothing
// when it is repeated is tried again while the server cannot be reached.
//
// It knows addresses, tokens and messages; what they mean to people belongs to the caller. A submit
// without a request_id gets one, so that trying again never makes a second task. One thread at a
// time may use a Client.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <grpcpp/channel.h>

#include "base/result.h"
#include "berth/v1/scheduler.grpc.pb.h"
#include "client/failure.h"
#include "client/server_stream.h"
#include "client/submit_stream.h"
#include "client/waiter.h"

namespace berth::client {

struct Endpoint {
  std::string address = "127.0.0.1:50051";
  std::string token;    // "": none
  std::string ca_file;  // certificates that vouch for the server; "": no TLS
  // This client's own, for a server that asks for one; "": none. Both or neither.
  std::string cert_file;
  std::string key_file;
};

struct Limits {
  std::chrono::milliseconds deadline{10'000};  // of a call, all its tries together
  int tries = 5;
  std::chrono::milliseconds pause{100};  // before the second try; doubled after each
  Stop stop;                             // ends any call under way
};

class Client {
 public:
  using Stub = v1::Scheduler::Stub;

  // Reads the certificates; the server is first met by a call. A token is never sent unencrypted
  // to another machine: that is refused here.
  static Result<Client> connect(const Endpoint& endpoint, Limits limits = {});

  Answer<v1::SubmitTaskResponse> submit(v1::SubmitTaskRequest request);
  Answer<v1::SubmitWorkflowResponse> submit_workflow(v1::SubmitWorkflowRequest request);
  Answer<v1::TaskStatus> task_status(const v1::GetTaskStatusRequest& request);
  Answer<v1::ListTasksResponse> list_tasks(const v1::ListTasksRequest& request);
  Answer<v1::ExplainTaskResponse> explain(const v1::ExplainTaskRequest& request);
  Answer<v1::CancelTaskResponse> cancel(const v1::CancelTaskRequest& request);
  Answer<v1::UpdateTaskResponse> update(const v1::UpdateTaskRequest& request);
  Answer<v1::HoldTaskResponse> hold(const v1::HoldTaskRequest& request);
  Answer<v1::ReleaseTaskResponse> release(const v1::ReleaseTaskRequest& request);
  Answer<v1::ResolveDependencyResponse> resolve(const v1::ResolveDependencyRequest& request);
  Answer<v1::ListSignalsResponse> signals(const v1::ListSignalsRequest& request);
  Answer<v1::ResetSignalResponse> reset_signal(const v1::ResetSignalRequest& request);

  Answer<v1::GetGPUStatusResponse> gpus(const v1::GetGPUStatusRequest& request);
  Answer<v1::GetQueueStatusResponse> queues(const v1::GetQueueStatusRequest& request);
  Answer<v1::GetModelStatusResponse> models(const v1::GetModelStatusRequest& request);
  Answer<v1::GetTenantStatusResponse> tenants(const v1::GetTenantStatusRequest& request);
  Answer<v1::GetUsageResponse> usage(const v1::GetUsageRequest& request);
  Answer<v1::ServerInfo> info();

  Answer<v1::DrainGPUResponse> drain_gpu(const v1::DrainGPURequest& request);
  Answer<v1::ResumeGPUResponse> resume_gpu(const v1::ResumeGPURequest& request);
  Answer<v1::PauseResponse> pause(const v1::PauseRequest& request);
  Answer<v1::ResumeResponse> resume(const v1::ResumeRequest& request);
  Answer<v1::PutTenantResponse> put_tenant(const v1::PutTenantRequest& request);
  Answer<v1::PutQueueResponse> put_queue(const v1::PutQueueRequest& request);
  Answer<v1::PutModelResponse> put_model(const v1::PutModelRequest& request);
  Answer<v1::DeleteTenantResponse> delete_tenant(const v1::DeleteTenantRequest& request);
  Answer<v1::DeleteQueueResponse> delete_queue(const v1::DeleteQueueRequest& request);
  Answer<v1::DeleteModelResponse> delete_model(const v1::DeleteModelRequest& request);
  Answer<v1::GetConfigResponse> config();
  Answer<v1::ReloadConfigResponse> reload(const v1::ReloadConfigRequest& request);
  Answer<v1::RevertConfigResponse> revert(const v1::RevertConfigRequest& request);
  // Never tried again: the folder of a backup that was made would be in the way.
  Answer<v1::BackupResponse> backup(const v1::BackupRequest& request);

  // Streams end at the instant; the default lets them go on for as long as the server does.
  using EventStream = ServerStream<v1::TaskEvent>;
  using LogStream = ServerStream<v1::LogChunk>;
  std::unique_ptr<EventStream> events(const v1::TaskEventsRequest& request,
                                      Clock::time_point until = Clock::time_point::max());
  std::unique_ptr<LogStream> logs(const v1::GetTaskLogsRequest& request,
                                  Clock::time_point until = Clock::time_point::max());
  std::unique_ptr<SubmitStream> submit_stream(SubmitStream::Options options = {});

  const Limits& limits() const { return limits_; }

 private:
  enum class Repeat { safe, unsafe };
  template <class Request, class Response>
  using Prepare = std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> (Stub::*)(
      grpc::ClientContext*, const Request&, grpc::CompletionQueue*);

  Client(std::shared_ptr<grpc::Channel> channel, std::string token, Limits limits);

  template <class Request, class Response>
  Answer<Response> call(Prepare<Request, Response> prepare, const Request& request,
                        Repeat repeat = Repeat::safe);
  std::unique_ptr<Waiter> new_call(Clock::time_point deadline) const;
  // Waits before the next try; false: no time is left for one, or stopped.
  bool pause_before_retry(int tries_made, Clock::time_point deadline) const;

  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<Stub> stub_;
  std::string token_;
  Limits limits_;
};

// Whether the address names this machine only: a loopback address or a local socket.
bool is_loopback(std::string_view address);

}  // namespace berth::client
