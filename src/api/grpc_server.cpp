// See grpc_server.h.
#include "api/grpc_server.h"

#include <chrono>

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>

#include "api/grpc_reactors.h"
#include "api/grpc_reflection.h"
#include "berth/v1/scheduler.grpc.pb.h"
#include "config/diagnostics.h"

namespace berth::api {
namespace {

constexpr int kHandshakeMs = 5'000;
constexpr int kPingEveryMs = 10'000;
constexpr std::size_t kMemoryMax = std::size_t{512} << 20;

// The number of a method in the service, as generated code counts them.
int index_of(const char* rpc) {
  const auto* file = v1::SubmitTaskRequest::descriptor()->file();
  return file->FindServiceByName("Scheduler")->FindMethodByName(rpc)->index();
}

// Every method of the table; each goes through `admit` first. Not generated code's own callback
// service: that one drops a message that cannot be read without a word, see incoming.h.
class SchedulerService final : public v1::Scheduler::Service {
 public:
  SchedulerService(Handlers& handlers, Authenticator& authenticator)
      : handlers_(handlers), authenticator_(authenticator) {
    using grpc::CallbackServerContext;
#define UNARY(rpc, function, request_type, response_type, verb, path, also, role, summary)     \
  MarkMethodCallback(                                                                          \
      index_of(#rpc),                                                                          \
      new grpc::internal::CallbackUnaryHandler<Incoming<v1::request_type>, v1::response_type>( \
          [this](CallbackServerContext* context, const Incoming<v1::request_type>* request,    \
                 v1::response_type* response) {                                                \
            return unary(context, *request, *response, Method::function, &Handlers::function); \
          }));
#define SERVER_STREAM(rpc, function, request_type, response_type, verb, path, also, role, summary) \
  MarkMethodCallback(                                                                              \
      index_of(#rpc),                                                                              \
      new grpc::internal::CallbackServerStreamingHandler<Incoming<v1::request_type>,               \
                                                         v1::response_type>(                       \
          [this](CallbackServerContext* context, const Incoming<v1::request_type>* request) {      \
            return server_stream<v1::response_type>(context, *request, Method::function,           \
                                                    &Handlers::function);                          \
          }));
#define BIDI(rpc, function, request_type, response_type, verb, path, also, role, summary)     \
  MarkMethodCallback(                                                                         \
      index_of(#rpc),                                                                         \
      new grpc::internal::CallbackBidiHandler<Incoming<v1::request_type>, v1::response_type>( \
          [this](CallbackServerContext* context) {                                            \
            return submit_stream(context, Method::function);                                  \
          }));
    BERTH_METHODS(UNARY, SERVER_STREAM, BIDI)
#undef BIDI
#undef SERVER_STREAM
#undef UNARY
  }

 private:
  std::variant<Caller, Problem> admit(grpc::CallbackServerContext* context, Method method) {
    const auto& metadata = context->client_metadata();
    const auto at = metadata.find("authorization");
    const std::string_view header = at == metadata.end()
                                        ? std::string_view{}
                                        : std::string_view(at->second.data(), at->second.size());
    auto caller = authenticator_.admit(header, need_of(info_of(method)));
    if (auto* admitted = std::get_if<Caller>(&caller)) {
      admitted->deadline = context->deadline();
      if (admitted->deadline <= std::chrono::system_clock::now()) {
        return Problem{.code = Code::deadline_exceeded,
                       .reason = "deadline_passed",
                       .message = "the deadline had passed when the request came"};
      }
      if (!handlers_.context().serving) return stopping();
    }
    return caller;
  }

  template <class Request, class Response, class Function>
  grpc::ServerUnaryReactor* unary(grpc::CallbackServerContext* context,
                                  const Incoming<Request>& request, Response& response,
                                  Method method, Function function) {
    const auto call = UnaryCall::start(context);
    auto caller = admit(context, method);
    if (const auto* problem = std::get_if<Problem>(&caller)) {
      call->fail(*problem);
      return call.get();
    }
    if (!request.is_readable) {
      call->fail(request.unreadable());
      return call.get();
    }
    (handlers_.*function)(std::get<Caller>(caller), request.message,
                          [call, &response](Answer<Response>&& answer) {
                            if (const auto* problem = std::get_if<Problem>(&answer)) {
                              return call->fail(*problem);
                            }
                            call->answer(response, std::move(std::get<Response>(answer)));
                          });
    return call.get();
  }

  template <class Response, class Request, class Function>
  grpc::ServerWriteReactor<Response>* server_stream(grpc::CallbackServerContext* context,
                                                    const Incoming<Request>& request, Method method,
                                                    Function function) {
    using Refused = RefusedCall<grpc::ServerWriteReactor<Response>>;
    auto caller = admit(context, method);
    if (const auto* problem = std::get_if<Problem>(&caller)) return new Refused(*problem);
    if (!request.is_readable) return new Refused(request.unreadable());
    auto source = (handlers_.*function)(std::get<Caller>(caller), request.message);
    if (const auto* problem = std::get_if<Problem>(&source)) return new Refused(*problem);
    return SourceWriter<Response>::start(handlers_.context(), std::get<Caller>(caller),
                                         std::move(std::get<SourcePtr<Response>>(source)));
  }

  SubmitReactor* submit_stream(grpc::CallbackServerContext* context, Method method) {
    using Base = SubmitReactor;
    auto caller = admit(context, method);
    if (const auto* problem = std::get_if<Problem>(&caller)) return new RefusedCall<Base>(*problem);
    const auto& who = std::get<Caller>(caller);
    return new SubmitCall(handlers_.context(), who, handlers_.submit_tasks(who));
  }

  Handlers& handlers_;
  Authenticator& authenticator_;
};

// What no service has: gRPC alone would answer without details.
class UnknownMethods final : public grpc::CallbackGenericService {
 public:
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override {
    std::vector<std::string> known;
    for (const MethodInfo& method : kMethods) {
      known.push_back("/" + std::string(v1::Scheduler::service_full_name()) + "/" +
                      std::string(method.name));
    }
    const std::string& name = context->method();
    return new RefusedCall<grpc::ServerGenericBidiReactor>(
        {.code = Code::unimplemented,
         .reason = "unknown_method",
         .message = "there is no method " + config::quoted(name) + config::suggestion(name, known) +
                    (config::nearest_name(name, known).empty() ? "; reflection lists them" : ""),
         .metadata = {{"subject", name}}});
  }
};

std::shared_ptr<grpc::ServerCredentials> credentials_of(const Tls& tls) {
  if (tls.certificates.empty()) return grpc::InsecureServerCredentials();
  grpc::SslServerCredentialsOptions options;
  options.pem_key_cert_pairs.push_back({tls.key, tls.certificates});
  if (!tls.client_ca.empty()) {
    options.pem_root_certs = tls.client_ca;
    options.client_certificate_request = GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
  }
  return grpc::SslServerCredentials(options);
}

}  // namespace

struct GrpcServer::Parts {
  Parts(Handlers& handlers, Authenticator& authenticator) : service(handlers, authenticator) {}
  SchedulerService service;
  ReflectionV1 reflection;
  UnknownMethods unknown;
  std::unique_ptr<grpc::Server> server;
  int port = 0;
};

GrpcServer::GrpcServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
GrpcServer::~GrpcServer() { stop(Duration{0}); }

Result<std::unique_ptr<GrpcServer>> GrpcServer::start(const GrpcOptions& options,
                                                      Handlers& handlers,
                                                      Authenticator& authenticator) {
  // Both are for the whole process, and may be said again.
  grpc::EnableDefaultHealthCheckService(true);
  if (options.reflection) grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  auto parts = std::make_unique<Parts>(handlers, authenticator);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(options.address, credentials_of(options.tls), &parts->port);
  builder.RegisterService(&parts->service);
  if (options.reflection) builder.RegisterService(&parts->reflection);
  builder.RegisterCallbackGenericService(&parts->unknown);
  builder.SetMaxReceiveMessageSize(options.message_bytes_max);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, options.metadata_bytes_max);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.streams_max);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kPingEveryMs);
  // A second server on the same port must fail, not share it.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  grpc::ResourceQuota quota("berth");
  quota.Resize(kMemoryMax);
  builder.SetResourceQuota(quota);
  parts->server = builder.BuildAndStart();
  if (parts->server == nullptr || parts->port == 0) {
    return Error{"cannot listen for gRPC on " + options.address +
                 ": the address is in use, or not one of this machine; set another one"};
  }
  parts->reflection.ask(parts->server.get());
  return std::unique_ptr<GrpcServer>(new GrpcServer(std::move(parts)));
}

int GrpcServer::port() const { return parts_->port; }

void GrpcServer::set_serving(bool serving) {
  if (auto* health = parts_->server->GetHealthCheckService()) {
    health->SetServingStatus(serving);
    health->SetServingStatus(v1::Scheduler::service_full_name(), serving);
  }
}

void GrpcServer::stop(Duration grace) {
  if (parts_->server == nullptr) return;
  parts_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::nanoseconds(grace.ns));
  parts_->server->Wait();
  parts_->server.reset();
}

}  // namespace berth::api
