// Connections with TLS. See http_session.h.
#include <boost/asio/ssl.hpp>
#include <boost/beast/ssl.hpp>

#include "api/http_session.h"

namespace berth::api {
namespace {

constexpr std::chrono::seconds kHandshakeTime{10};
constexpr std::chrono::seconds kGoodbyeTime{1};

}  // namespace

asio::awaitable<void> serve_tls(asio::ip::tcp::socket socket, SharedPtr shared, std::string address,
                                std::shared_ptr<asio::ssl::context> tls) {
  const Guest guest(shared, std::move(address));
  beast::ssl_stream<beast::tcp_stream> stream(std::move(socket), *tls);
  boost::system::error_code error;
  beast::get_lowest_layer(stream).expires_after(kHandshakeTime);
  co_await stream.async_handshake(asio::ssl::stream_base::server,
                                  asio::redirect_error(asio::use_awaitable, error));
  if (error) co_return;
  co_await serve(stream, shared);
  beast::get_lowest_layer(stream).expires_after(kGoodbyeTime);
  co_await stream.async_shutdown(asio::redirect_error(asio::use_awaitable, error));
}

}  // namespace berth::api
