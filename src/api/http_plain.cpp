// Connections without TLS, and what both kinds share. See http_session.h.
#include "api/http_session.h"

namespace berth::api {
namespace {

std::string field(const http::request<http::string_body>& request, http::field name) {
  const auto value = request[name];
  return {value.data(), value.size()};
}

}  // namespace

HttpRequest request_of(const http::request<http::string_body>& from) {
  HttpRequest request;
  request.method = std::string(from.method_string());
  request.target = std::string(from.target());
  request.authorization = field(from, http::field::authorization);
  request.content_type = field(from, http::field::content_type);
  request.accept = field(from, http::field::accept);
  request.host = field(from, http::field::host);
  request.origin = field(from, http::field::origin);
  request.idempotency_key = std::string(from["Idempotency-Key"]);
  request.last_event_id = std::string(from["Last-Event-ID"]);
  return request;
}

HttpReply header_too_large(const HttpLimits& limits) {
  return reply_to_flaw({431, "header_too_large",
                        "the header is larger than this server takes: " +
                            std::to_string(limits.header_bytes) + " bytes"});
}

HttpReply reply_to_flaw(const HeadFlaw& flaw) {
  return problem_reply(
      {.code = Code::invalid_argument, .reason = flaw.reason, .message = flaw.message},
      flaw.status);
}

std::optional<HttpReply> reply_to_unreadable(const boost::system::error_code& error,
                                             const HttpLimits& limits) {
  Problem problem{.code = Code::invalid_argument};
  int status = 400;
  if (error == http::error::body_limit || error == http::error::buffer_overflow) {
    status = 413;
    problem.reason = "body_too_large";
    problem.message = "the body is larger than this server takes: limits.max_message is " +
                      std::to_string(limits.body_bytes) + " bytes";
    problem.metadata["limit"] = std::to_string(limits.body_bytes);
  } else if (error == http::error::header_limit) {
    return header_too_large(limits);
  } else if (error.category() == http::make_error_code(http::error::bad_method).category() &&
             error != http::error::end_of_stream && error != http::error::partial_message) {
    problem.reason = "bad_http";
    problem.message = "this is not an HTTP/1.1 request: " + error.message();
  } else {
    return std::nullopt;
  }
  return problem_reply(problem, status);
}

asio::awaitable<void> serve_plain(asio::ip::tcp::socket socket, SharedPtr shared, GuestPtr guest) {
  beast::tcp_stream stream(std::move(socket));
  guest->is_sent_away_by([&stream] { stream.close(); });
  co_await serve(stream, shared, *guest);
  boost::system::error_code ignored;
  stream.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
}

}  // namespace berth::api
