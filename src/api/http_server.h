// HttpServer: HTTP/1.1 on sockets, for the router. Everything a client may take too much of has a
// limit: bytes of header and body, time for each, connections, connections of one address,
// handshakes, connections that carry streams, bytes of all bodies together and of one sender's. A
// slow client costs its own connection only.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "api/body_room.h"
#include "api/context.h"
#include "api/guests.h"
#include "api/http_router.h"
#include "api/limits.h"
#include "api/tls.h"
#include "base/result.h"

namespace berth::api {

struct HttpLimits {
  std::uint32_t header_bytes = kHttpHeaderBytes;
  std::uint64_t body_bytes = static_cast<std::uint64_t>(kConfigurable.max_message);
  BodyLimits bodies;  // of all requests that are being read
  GuestLimits guests;
  std::chrono::milliseconds handshake_time{5'000};
  std::chrono::milliseconds header_time{kConfigurable.http_header_timeout.ns / 1'000'000};
  std::chrono::milliseconds body_time{kConfigurable.http_body_timeout.ns / 1'000'000};
  std::chrono::milliseconds answer_time{60'000};
  std::chrono::milliseconds write_time{30'000};  // for each piece of an answer
  std::chrono::milliseconds idle_time{60'000};   // between requests
  std::chrono::milliseconds keep_alive_every{15'000};
};

struct HttpOptions {
  std::string address;                             // "127.0.0.1:8080"; port 0: a free one
  std::shared_ptr<boost::asio::ssl::context> tls;  // null: none
  HttpLimits limits;
};

class HttpServer {
 public:
  static Result<std::unique_ptr<HttpServer>> start(const HttpOptions& options, HttpRouter& router,
                                                   ApiContext& context);
  ~HttpServer();

  int port() const;
  std::size_t connections() const;
  // Takes no new connections; answers that are under way may end within `grace`.
  void stop(Duration grace);

 private:
  struct Parts;
  explicit HttpServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace berth::api
