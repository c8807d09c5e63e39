// HttpShared: what the connections of one HTTP server have in common: limits, counters, where
// requests go. And the two kinds of connection, each in a file of its own, since they are slow to
// compile. Only files of the HTTP server include this.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>

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
  Workers* slow = nullptr;     // for pulling streams
  Streams* streams = nullptr;
  std::weak_ptr<asio::io_context> io;

  std::atomic<std::size_t> connections{0};
  std::atomic<std::size_t> busy{0};  // between a request's header and the end of its answer
  std::atomic<std::uint64_t> bodies_bytes{0};
  std::atomic<bool> stopping{false};

  // False: this address has enough already.
  bool enter(const std::string& address);
  void leave(const std::string& address);

 private:
  std::mutex mutex_;
  std::map<std::string, std::size_t> by_address_;
};
using SharedPtr = std::shared_ptr<HttpShared>;

// A connection that is counted as long as it lives; `enter` has let it in.
class Guest {
 public:
  Guest(SharedPtr shared, std::string address)
      : shared_(std::move(shared)), address_(std::move(address)) {}
  ~Guest() { shared_->leave(address_); }
  Guest(const Guest&) = delete;
  Guest& operator=(const Guest&) = delete;

 private:
  SharedPtr shared_;
  std::string address_;
};

asio::awaitable<void> serve_plain(asio::ip::tcp::socket socket, SharedPtr shared,
                                  std::string address);
asio::awaitable<void> serve_tls(asio::ip::tcp::socket socket, SharedPtr shared, std::string address,
                                std::shared_ptr<asio::ssl::context> tls);

}  // namespace berth::api
