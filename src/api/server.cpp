// See server.h.
#include "api/server.h"

#include "api/auth.h"
#include "api/grpc_server.h"
#include "api/handlers.h"

namespace berth::api {
namespace {

// How often those who listen are looked at again; the tokens file is, five times a second.
constexpr auto kReviewEvery = std::chrono::milliseconds(250);

void review_later(ApiContext& context) {
  context.replies.after(kReviewEvery, [&context] {
    context.guards.review();
    review_later(context);
  });
}

Status check_addresses(const ApiOptions& options) {
  const bool guarded = options.authentication && !options.tls.certificate.empty();
  for (const std::string& address : {options.grpc_address, options.http_address}) {
    if (guarded || is_loopback_address(address)) continue;
    return Error{"refusing to listen on " + address +
                 ": others could reach it, so it needs TLS and authentication; set both, or a "
                 "loopback address"};
  }
  return Done{};
}

}  // namespace

bool is_loopback_address(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  return colon != std::string::npos && is_loopback_host(address.substr(0, colon));
}

struct ApiServer::Parts {
  Parts(const ApiOptions& options, service::Service& service, MainHooks hooks)
      : context(std::make_shared<ApiContext>(service, std::move(hooks), options.stream_limits)),
        authenticator(
            std::make_shared<Authenticator>(options.authentication, options.tokens, options.log)),
        handlers(std::make_shared<Handlers>(context)),
        router({.loopback_only = is_loopback_address(options.http_address)}, *handlers,
               *authenticator) {
    context->limits.payload_bytes = options.payload_bytes_max;
    if (!options.authentication) return;
    context->objection = [guard = authenticator](const Caller& caller) {
      return guard->objection(caller);
    };
    review_later(*context);
  }

  const std::shared_ptr<ApiContext> context;
  const std::shared_ptr<Authenticator> authenticator;
  const std::shared_ptr<Handlers> handlers;
  HttpRouter router;
  std::unique_ptr<GrpcServer> grpc;
  std::unique_ptr<HttpServer> http;
};

ApiServer::ApiServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
ApiServer::~ApiServer() { stop(Duration{0}); }

Result<std::unique_ptr<ApiServer>> ApiServer::start(const ApiOptions& options,
                                                    service::Service& service) {
  if (const Status status = check_addresses(options); !status.ok()) return status.error();
  const Result<Tls> tls = load_tls(options.tls);
  if (!tls.ok()) return tls.error();
  MainHooks hooks{.version = options.version,
                  .authentication = options.authentication,
                  .simulated_gpus = options.simulated_gpus,
                  .config = options.config,
                  .reload = options.reload,
                  .backup = options.backup,
                  .log = options.log,
                  .commands_refused = options.commands_refused};
  auto parts = std::make_unique<Parts>(options, service, std::move(hooks));
  auto grpc = GrpcServer::start({.address = options.grpc_address,
                                 .tls = *tls,
                                 .message_bytes_max = options.message_bytes_max,
                                 .reflection = options.reflection},
                                *parts->handlers, *parts->authenticator);
  if (!grpc.ok()) return grpc.error();
  parts->grpc = std::move(*grpc);
  auto http = HttpServer::start(
      {.address = options.http_address, .tls = tls->context, .limits = options.http_limits},
      parts->router, *parts->context);
  if (!http.ok()) return http.error();
  parts->http = std::move(*http);
  parts->grpc->set_serving(true);
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(parts)));
}

int ApiServer::grpc_port() const { return parts_->grpc->port(); }
int ApiServer::http_port() const { return parts_->http->port(); }

void ApiServer::not_serving() { parts_->grpc->set_serving(false); }

void ApiServer::stop(Duration grace) {
  if (!parts_->context->serving.exchange(false)) return;
  parts_->grpc->set_serving(false);
  parts_->context->streams.stop();
  parts_->grpc->stop(grace);
  parts_->http->stop(grace);
  parts_->context->slow.stop();
  parts_->context->workers.stop();
  parts_->context->probes.stop();
  parts_->context->replies.stop();
}

}  // namespace berth::api
