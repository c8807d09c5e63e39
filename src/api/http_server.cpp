// See http_server.h.
#include "api/http_server.h"

#include <thread>

#include <boost/asio.hpp>
#include <boost/asio/ssl.hpp>

#include "api/http_shared.h"

namespace berth::api {
namespace {

using asio::ip::tcp;

constexpr int kThreads = 2;
constexpr std::chrono::milliseconds kAfterFailedAccept{50};
constexpr std::string_view kFull =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n"
    "Connection: close\r\n\r\n";

asio::awaitable<void> accept_all(tcp::acceptor& acceptor, SharedPtr shared,
                                 std::shared_ptr<asio::ssl::context> tls) {
  const auto executor = co_await asio::this_coro::executor;
  while (acceptor.is_open()) {
    boost::system::error_code error;
    const auto strand = asio::make_strand(acceptor.get_executor());
    tcp::socket socket(strand);
    co_await acceptor.async_accept(socket, asio::redirect_error(asio::use_awaitable, error));
    if (!acceptor.is_open() || shared->stopping) co_return;
    if (error) {  // no file descriptors left, or a client that went away again
      asio::steady_timer pause(executor, kAfterFailedAccept);
      co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, error));
      continue;
    }
    const std::string address = socket.remote_endpoint(error).address().to_string();
    const auto stage = tls != nullptr ? Guests::Stage::greeting : Guests::Stage::quiet;
    const GuestPtr guest = Guest::let_in(shared, address, stage, strand);
    if (guest == nullptr) {
      socket.non_blocking(true, error);
      if (tls == nullptr) socket.write_some(asio::buffer(kFull), error);
      continue;
    }
    socket.set_option(tcp::no_delay(true), error);
    if (tls != nullptr) {
      asio::co_spawn(strand, serve_tls(std::move(socket), shared, guest, tls), asio::detached);
    } else {
      asio::co_spawn(strand, serve_plain(std::move(socket), shared, guest), asio::detached);
    }
  }
}

Error cannot_listen(const std::string& address, const std::string& why) {
  return {"cannot listen for HTTP on " + address + ": " + why};
}

Result<tcp::endpoint> endpoint_of(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) return cannot_listen(address, "expected HOST:PORT");
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  asio::io_context io;
  tcp::resolver resolver(io);
  boost::system::error_code error;
  const auto found =
      resolver.resolve(host, address.substr(colon + 1),
                       tcp::resolver::passive | tcp::resolver::numeric_service, error);
  if (error || found.empty()) return cannot_listen(address, error.message());
  return found.begin()->endpoint();
}

}  // namespace

GuestPtr Guest::let_in(SharedPtr shared, const std::string& address, Guests::Stage stage,
                       const asio::any_io_executor& strand) {
  auto guest = std::make_shared<Guest>(std::move(shared), address);
  const auto send_away = [strand, weak = std::weak_ptr(guest)] {
    asio::post(strand, [weak] {
      const GuestPtr here = weak.lock();
      if (here != nullptr && here->close_) here->close_();
    });
  };
  guest->number_ = guest->shared_->guests.enter(address, stage, send_away);
  return guest->number_ == 0 ? nullptr : guest;
}

struct HttpServer::Parts {
  SharedPtr shared = std::make_shared<HttpShared>();
  std::vector<std::thread> threads;
  std::shared_ptr<asio::io_context> io = std::make_shared<asio::io_context>(kThreads);
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> work;
  std::optional<tcp::acceptor> acceptor;
  int port = 0;
};

HttpServer::HttpServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
HttpServer::~HttpServer() { stop(Duration{0}); }

Result<std::unique_ptr<HttpServer>> HttpServer::start(const HttpOptions& options,
                                                      HttpRouter& router, ApiContext& context) {
  const Result<tcp::endpoint> endpoint = endpoint_of(options.address);
  if (!endpoint.ok()) return endpoint.error();
  auto parts = std::make_unique<Parts>();
  parts->shared->limits = options.limits;
  parts->shared->guests.set_limits(options.limits.guests);
  parts->shared->bodies.set_limits(options.limits.bodies);
  parts->shared->router = &router;
  parts->shared->workers = &context.workers;
  parts->shared->slow = &context.slow;
  parts->shared->probes = &context.probes;
  parts->shared->streams = &context.streams;
  parts->shared->io = parts->io;
  parts->work.emplace(asio::make_work_guard(*parts->io));
  boost::system::error_code error;
  tcp::acceptor& acceptor = parts->acceptor.emplace(asio::make_strand(*parts->io));
  acceptor.open(endpoint->protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(*endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return cannot_listen(options.address, error.message());
  parts->port = acceptor.local_endpoint().port();
  asio::co_spawn(acceptor.get_executor(), accept_all(acceptor, parts->shared, options.tls),
                 asio::detached);
  for (int i = 0; i < kThreads; ++i) {
    parts->threads.emplace_back([io = parts->io.get()] { io->run(); });
  }
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(parts)));
}

int HttpServer::port() const { return parts_->port; }
std::size_t HttpServer::connections() const { return parts_->shared->guests.size(); }

void HttpServer::stop(Duration grace) {
  if (parts_->io == nullptr) return;
  parts_->shared->stopping = true;
  asio::post(*parts_->io, [this] {
    boost::system::error_code ignored;
    parts_->acceptor->close(ignored);
  });
  const auto until = std::chrono::steady_clock::now() + std::chrono::nanoseconds(grace.ns);
  while (parts_->shared->busy > 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  parts_->work.reset();
  parts_->io->stop();
  for (std::thread& thread : parts_->threads)
    thread.join();
  parts_->acceptor.reset();
  parts_->io.reset();  // with it go the sessions that were left
}

}  // namespace berth::api
