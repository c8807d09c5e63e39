// Connections with TLS. See http_session.h.
#include <boost/asio/ssl.hpp>
#include <boost/beast/ssl.hpp>

#include "api/http_session.h"

namespace berth::api {
namespace {

constexpr std::chrono::seconds kGoodbyeTime{1};

}  // namespace

asio::awaitable<void> serve_tls(asio::ip::tcp::socket socket, SharedPtr shared, GuestPtr guest,
                                std::shared_ptr<asio::ssl::context> tls) {
  beast::ssl_stream<beast::tcp_stream> stream(std::move(socket), *tls);
  guest->is_sent_away_by([&stream] { beast::get_lowest_layer(stream).close(); });
  boost::system::error_code error;
  beast::get_lowest_layer(stream).expires_after(shared->limits.handshake_time);
  co_await stream.async_handshake(asio::ssl::stream_base::server,
                                  asio::redirect_error(asio::use_awaitable, error));
  if (error) co_return;
  guest->is(Guests::Stage::quiet);
  co_await serve(stream, shared, *guest);
  beast::get_lowest_layer(stream).expires_after(kGoodbyeTime);
  co_await stream.async_shutdown(asio::redirect_error(asio::use_awaitable, error));
}

}  // namespace berth::api
