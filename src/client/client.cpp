// See client.h.
#include "client/client.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include "client/request_id.h"

namespace berth::client {
namespace {

constexpr int kMessageBytesMax = 64 << 20;
constexpr int kKeepaliveMs = 60'000;  // the server takes a ping every 10 s
constexpr int kReconnectMs = 100;
constexpr int kReconnectMsMax = 2'000;
constexpr int kHandshakeMs = 5'000;  // gRPC gives a connection so long, whatever the name says
constexpr std::chrono::milliseconds kStopLook{20};  // how often a pause asks whether to stop

grpc::ChannelArguments channel_arguments(const std::string& address) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectMs);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kHandshakeMs);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kReconnectMsMax);
  // A proxy for the world outside would not find this machine's own server.
  if (is_loopback(address)) arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return arguments;
}

// "" is read as "".
Status read_pem(const std::string& what, const std::string& path, std::string& out) {
  if (path.empty()) return Done{};
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file.is_open() || file.bad() || text.str().empty()) {
    const std::string why = file.is_open() ? "it is empty" : std::strerror(errno);
    return Error{"cannot read the " + what + " in " + path + ": " + why};
  }
  out = text.str();
  return Done{};
}

Result<std::shared_ptr<grpc::ChannelCredentials>> encrypted(const Endpoint& endpoint) {
  grpc::SslCredentialsOptions options;
  Status read = read_pem("certificates", endpoint.ca_file, options.pem_root_certs);
  if (read) read = read_pem("client's certificate", endpoint.cert_file, options.pem_cert_chain);
  if (read) read = read_pem("client's key", endpoint.key_file, options.pem_private_key);
  if (!read) return read.error();
  return grpc::SslCredentials(options);
}

Result<std::shared_ptr<grpc::ChannelCredentials>> credentials_for(const Endpoint& endpoint) {
  if (endpoint.cert_file.empty() != endpoint.key_file.empty()) {
    return Error{"a client's certificate and its key belong together: give both"};
  }
  if (!endpoint.ca_file.empty()) return encrypted(endpoint);
  if (!endpoint.cert_file.empty()) {
    return Error{
        "a client's certificate needs TLS: name the certificates of the server's authority"};
  }
  if (!endpoint.token.empty() && !is_loopback(endpoint.address)) {
    return Error{"would send the token unencrypted to " + endpoint.address +
                 ": name the certificates of its authority"};
  }
  return grpc::InsecureChannelCredentials();
}

}  // namespace

bool is_loopback(std::string_view address) {
  for (const std::string_view start : {"127.", "localhost:", "[::1]:", "unix:"}) {
    if (address.starts_with(start)) return true;
  }
  return address == "localhost";
}

Client::Client(std::shared_ptr<grpc::Channel> channel, std::string token, Limits limits)
    : channel_(std::move(channel)),
      stub_(v1::Scheduler::NewStub(channel_)),
      token_(std::move(token)),
      limits_(std::move(limits)) {}

Result<Client> Client::connect(const Endpoint& endpoint, Limits limits) {
  const auto credentials = credentials_for(endpoint);
  if (!credentials) return credentials.error();
  auto channel = grpc::CreateCustomChannel(endpoint.address, *credentials,
                                           channel_arguments(endpoint.address));
  return Client(std::move(channel), endpoint.token, std::move(limits));
}

std::unique_ptr<Waiter> Client::new_call(Clock::time_point deadline) const {
  auto waiter = std::make_unique<Waiter>(limits_.stop);
  if (deadline != Clock::time_point::max()) waiter->context().set_deadline(deadline);
  if (!token_.empty()) waiter->context().AddMetadata("authorization", "Bearer " + token_);
  return waiter;
}

bool Client::pause_before_retry(int tries_made, Clock::time_point deadline) const {
  if (tries_made >= limits_.tries) return false;
  const auto until = Clock::now() + limits_.pause * (1 << std::min(tries_made - 1, 6));
  if (until >= deadline) return false;
  // A server that answers is given time. One that is not there yet is looked for meanwhile: gRPC
  // connects only while somebody waits, so after a sleep the next try would hear of an old failure.
  const bool answers = channel_->GetState(false) == GRPC_CHANNEL_READY;
  while (Clock::now() < until) {
    if (limits_.stop && limits_.stop()) return false;
    const auto slice_end = std::min<Clock::time_point>(until, Clock::now() + kStopLook);
    if (answers) {
      std::this_thread::sleep_until(slice_end);
    } else if (channel_->WaitForConnected(slice_end)) {
      return true;
    }
  }
  return true;
}

template <class Request, class Response>
Answer<Response> Client::call(Prepare<Request, Response> prepare, const Request& request,
                              Repeat repeat) {
  const auto deadline = Clock::now() + limits_.deadline;
  for (int tries = 1;; ++tries) {
    Response response;
    grpc::Status status;
    {
      const auto waiter = new_call(deadline);
      const auto reader = (stub_.get()->*prepare)(&waiter->context(), request, &waiter->queue());
      reader->StartCall();
      reader->Finish(&response, &status, this);
      waiter->wait(Clock::time_point::max());
    }
    if (status.ok()) return response;
    const bool again =
        repeat == Repeat::safe && status.error_code() == grpc::StatusCode::UNAVAILABLE;
    if (!again || !pause_before_retry(tries, deadline)) return failure_of(status);
  }
}

Answer<v1::SubmitTaskResponse> Client::submit(v1::SubmitTaskRequest request) {
  if (request.request_id().empty()) request.set_request_id(make_request_id());
  return call(&Stub::PrepareAsyncSubmitTask, request);
}
Answer<v1::SubmitWorkflowResponse> Client::submit_workflow(v1::SubmitWorkflowRequest request) {
  if (request.request_id().empty()) request.set_request_id(make_request_id());
  return call(&Stub::PrepareAsyncSubmitWorkflow, request);
}
Answer<v1::TaskStatus> Client::task_status(const v1::GetTaskStatusRequest& request) {
  return call(&Stub::PrepareAsyncGetTaskStatus, request);
}
Answer<v1::ListTasksResponse> Client::list_tasks(const v1::ListTasksRequest& request) {
  return call(&Stub::PrepareAsyncListTasks, request);
}
Answer<v1::ExplainTaskResponse> Client::explain(const v1::ExplainTaskRequest& request) {
  return call(&Stub::PrepareAsyncExplainTask, request);
}
Answer<v1::CancelTaskResponse> Client::cancel(const v1::CancelTaskRequest& request) {
  return call(&Stub::PrepareAsyncCancelTask, request);
}
Answer<v1::UpdateTaskResponse> Client::update(const v1::UpdateTaskRequest& request) {
  return call(&Stub::PrepareAsyncUpdateTask, request);
}
Answer<v1::HoldTaskResponse> Client::hold(const v1::HoldTaskRequest& request) {
  return call(&Stub::PrepareAsyncHoldTask, request);
}
Answer<v1::ReleaseTaskResponse> Client::release(const v1::ReleaseTaskRequest& request) {
  return call(&Stub::PrepareAsyncReleaseTask, request);
}
Answer<v1::ResolveDependencyResponse> Client::resolve(const v1::ResolveDependencyRequest& request) {
  return call(&Stub::PrepareAsyncResolveDependency, request);
}
Answer<v1::GetGPUStatusResponse> Client::gpus(const v1::GetGPUStatusRequest& request) {
  return call(&Stub::PrepareAsyncGetGPUStatus, request);
}
Answer<v1::GetQueueStatusResponse> Client::queues(const v1::GetQueueStatusRequest& request) {
  return call(&Stub::PrepareAsyncGetQueueStatus, request);
}
Answer<v1::GetModelStatusResponse> Client::models(const v1::GetModelStatusRequest& request) {
  return call(&Stub::PrepareAsyncGetModelStatus, request);
}
Answer<v1::GetTenantStatusResponse> Client::tenants(const v1::GetTenantStatusRequest& request) {
  return call(&Stub::PrepareAsyncGetTenantStatus, request);
}
Answer<v1::GetUsageResponse> Client::usage(const v1::GetUsageRequest& request) {
  return call(&Stub::PrepareAsyncGetUsage, request);
}
Answer<v1::ServerInfo> Client::info() {
  return call(&Stub::PrepareAsyncGetServerInfo, v1::GetServerInfoRequest());
}
Answer<v1::DrainGPUResponse> Client::drain_gpu(const v1::DrainGPURequest& request) {
  return call(&Stub::PrepareAsyncDrainGPU, request);
}
Answer<v1::ResumeGPUResponse> Client::resume_gpu(const v1::ResumeGPURequest& request) {
  return call(&Stub::PrepareAsyncResumeGPU, request);
}
Answer<v1::PauseResponse> Client::pause(const v1::PauseRequest& request) {
  return call(&Stub::PrepareAsyncPause, request);
}
Answer<v1::ResumeResponse> Client::resume(const v1::ResumeRequest& request) {
  return call(&Stub::PrepareAsyncResume, request);
}
Answer<v1::PutTenantResponse> Client::put_tenant(const v1::PutTenantRequest& request) {
  return call(&Stub::PrepareAsyncPutTenant, request);
}
Answer<v1::PutQueueResponse> Client::put_queue(const v1::PutQueueRequest& request) {
  return call(&Stub::PrepareAsyncPutQueue, request);
}
Answer<v1::PutModelResponse> Client::put_model(const v1::PutModelRequest& request) {
  return call(&Stub::PrepareAsyncPutModel, request);
}
Answer<v1::DeleteTenantResponse> Client::delete_tenant(const v1::DeleteTenantRequest& request) {
  return call(&Stub::PrepareAsyncDeleteTenant, request);
}
Answer<v1::DeleteQueueResponse> Client::delete_queue(const v1::DeleteQueueRequest& request) {
  return call(&Stub::PrepareAsyncDeleteQueue, request);
}
Answer<v1::DeleteModelResponse> Client::delete_model(const v1::DeleteModelRequest& request) {
  return call(&Stub::PrepareAsyncDeleteModel, request);
}
Answer<v1::GetConfigResponse> Client::config() {
  return call(&Stub::PrepareAsyncGetConfig, v1::GetConfigRequest());
}
Answer<v1::ReloadConfigResponse> Client::reload(const v1::ReloadConfigRequest& request) {
  return call(&Stub::PrepareAsyncReloadConfig, request);
}
Answer<v1::ListSignalsResponse> Client::signals(const v1::ListSignalsRequest& request) {
  return call(&Stub::PrepareAsyncListSignals, request);
}
// Never tried again: the signal may have been given anew.
Answer<v1::ResetSignalResponse> Client::reset_signal(const v1::ResetSignalRequest& request) {
  return call(&Stub::PrepareAsyncResetSignal, request, Repeat::unsafe);
}
Answer<v1::RevertConfigResponse> Client::revert(const v1::RevertConfigRequest& request) {
  return call(&Stub::PrepareAsyncRevertConfig, request);
}
Answer<v1::BackupResponse> Client::backup(const v1::BackupRequest& request) {
  return call(&Stub::PrepareAsyncBackup, request, Repeat::unsafe);
}

std::unique_ptr<Client::EventStream> Client::events(const v1::TaskEventsRequest& request,
                                                    Clock::time_point until) {
  return std::make_unique<EventStream>(
      new_call(until), [&](grpc::ClientContext* context, grpc::CompletionQueue* queue) {
        return stub_->PrepareAsyncTaskEvents(context, request, queue);
      });
}

std::unique_ptr<Client::LogStream> Client::logs(const v1::GetTaskLogsRequest& request,
                                                Clock::time_point until) {
  return std::make_unique<LogStream>(
      new_call(until), [&](grpc::ClientContext* context, grpc::CompletionQueue* queue) {
        return stub_->PrepareAsyncGetTaskLogs(context, request, queue);
      });
}

std::unique_ptr<SubmitStream> Client::submit_stream(SubmitStream::Options options) {
  auto context = std::make_unique<grpc::ClientContext>();
  if (!token_.empty()) context->AddMetadata("authorization", "Bearer " + token_);
  return std::make_unique<SubmitStream>(*stub_, std::move(context), options);
}

}  // namespace berth::client
