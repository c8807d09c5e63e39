// See server.h.
#include "api/server.h"

#include <fstream>
#include <sstream>

#include "api/auth.h"
#include "api/grpc_server.h"
#include "api/handlers.h"

namespace berth::api {
namespace {

Result<std::string> read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) return Error{"cannot read " + path.string()};
  return text.str();
}

Result<TlsText> read_tls(const ApiOptions& options) {
  TlsText tls;
  if (options.tls_certificate.empty() != options.tls_key.empty()) {
    return Error{"TLS needs both a certificate and its key"};
  }
  if (options.tls_certificate.empty()) return tls;
  Result<std::string> certificates = read_text(options.tls_certificate);
  if (!certificates.ok()) return certificates.error();
  Result<std::string> key = read_text(options.tls_key);
  if (!key.ok()) return key.error();
  tls.certificates = std::move(*certificates);
  tls.key = std::move(*key);
  return tls;
}

Status check_addresses(const ApiOptions& options) {
  const bool guarded = options.authentication && !options.tls_certificate.empty();
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
      : context(std::make_shared<ApiContext>(service, std::move(hooks), options.streams_max)),
        authenticator(options.authentication, options.tokens, options.log),
        handlers(std::make_shared<Handlers>(context)),
        router({.loopback_only = is_loopback_address(options.http_address)}, *handlers,
               authenticator) {
    context->limits.payload_bytes = options.payload_bytes_max;
  }

  const std::shared_ptr<ApiContext> context;
  Authenticator authenticator;
  const std::shared_ptr<Handlers> handlers;
  HttpRouter router;
  std::unique_ptr<GrpcServer> grpc;
  std::unique_ptr<HttpServer> http;
};

ApiServer::ApiServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
ApiServer::~ApiServer() { stop(Duration{0}); }

Result<std::unique_ptr<ApiServer>> ApiServer::start(ApiOptions options, service::Service& service) {
  if (const Status status = check_addresses(options); !status.ok()) return status.error();
  Result<TlsText> tls = read_tls(options);
  if (!tls.ok()) return tls.error();
  MainHooks hooks{.version = options.version,
                  .authentication = options.authentication,
                  .simulated_gpus = options.simulated_gpus,
                  .config = options.config,
                  .reload = options.reload,
                  .backup = options.backup,
                  .log = options.log};
  auto parts = std::make_unique<Parts>(options, service, std::move(hooks));
  auto grpc = GrpcServer::start(
      {.address = options.grpc_address, .tls = *tls, .reflection = options.reflection},
      *parts->handlers, parts->authenticator);
  if (!grpc.ok()) return grpc.error();
  parts->grpc = std::move(*grpc);
  auto http = HttpServer::start(
      {.address = options.http_address, .tls = *tls, .limits = options.http_limits}, parts->router,
      *parts->context);
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
  parts_->context->replies.stop();
}

}  // namespace berth::api
