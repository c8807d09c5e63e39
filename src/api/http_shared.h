// HttpShared: what the connections of one HTTP server have in common: limits, counters, where
// requests go. And the two kinds of connection, each in a file of its own, since they are slow to
// compile. Only files of the HTTP server include this.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>

#include "api/http_server.h"

namespace berth::api {

namespace asio = boost::asio;

// What the sessions of a server share; it outlives them.
struct HttpShared {
  HttpLimits limits;
  HttpRouter* router = nullptr;
  Workers* workers = nullptr;  // for requests
  Workers* probes = nullptr;   // for those that ask whether the server lives
  Workers* slow = nullptr;     // for pulling streams
  Streams* streams = nullptr;
  std::weak_ptr<asio::io_context> io;

  Guests guests;
  std::atomic<std::size_t> busy{0};  // between a request's header and the end of its answer
  BodyRoom bodies;
  std::atomic<bool> stopping{false};
};
using SharedPtr = std::shared_ptr<HttpShared>;

// A connection that is counted as long as it lives.
class Guest {
 public:
  // Null: there is no place. `strand`: of its connection, on which it is sent away.
  static std::shared_ptr<Guest> let_in(SharedPtr shared, const std::string& address,
                                       Guests::Stage stage, const asio::any_io_executor& strand);

  Guest(SharedPtr shared, std::string address)
      : shared_(std::move(shared)), address_(std::move(address)) {}
  ~Guest() {
    if (number_ != 0) shared_->guests.leave(number_);
  }
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

  // How its connection is ended; on its strand, and as long as the guest lives.
  void is_sent_away_by(std::function<void()> close) { close_ = std::move(close); }
  void is(Guests::Stage stage) const { shared_->guests.move(number_, stage); }
  std::optional<Problem> begin_stream() const { return shared_->guests.begin_stream(number_); }
  const std::string& address() const { return address_; }

 private:
  SharedPtr shared_;
  const std::string address_;
  std::uint64_t number_ = 0;
  std::function<void()> close_;
};
using GuestPtr = std::shared_ptr<Guest>;

asio::awaitable<void> serve_plain(asio::ip::tcp::socket socket, SharedPtr shared, GuestPtr guest);
asio::awaitable<void> serve_tls(asio::ip::tcp::socket socket, SharedPtr shared, GuestPtr guest,
                                std::shared_ptr<asio::ssl::context> tls);

}  // namespace berth::api
