// One HTTP connection, as a coroutine on its own strand: read a request, ask the router, write the
// answer, again. Only http_plain.cpp and http_tls.cpp include this.
//
// The router and the sources work on other threads; what they have to say comes back through a
// mailbox: a timer that is cancelled when the letter is there.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include "api/http_head.h"
#include "api/http_message.h"
#include "api/http_shared.h"

namespace berth::api {

namespace beast = boost::beast;
namespace http = boost::beast::http;

// How long what a refused request still sends is read and forgotten.
inline constexpr std::chrono::milliseconds kReadOffTime{1'000};

// ---- Mailbox ------------------------------------------------------------------------------------

// Belongs to its coroutine alone: others hold it weakly, for it must not outlive the io_context.
template <class T>
struct Mailbox {
  explicit Mailbox(const asio::any_io_executor& executor) : timer(executor) {}
  asio::steady_timer timer;
  std::optional<T> letter;
};

// Puts a letter into the box on its strand. May be called on any thread, also after the coroutine
// or the server has ended.
template <class T>
void deliver(const SharedPtr& shared, const std::weak_ptr<Mailbox<T>>& to,
             std::type_identity_t<T>&& letter) {
  // Held until the box is let go of again: the timer in it needs the io_context.
  const std::shared_ptr<asio::io_context> io = shared->io.lock();
  if (io == nullptr) return;
  std::shared_ptr<Mailbox<T>> box = to.lock();
  if (box == nullptr) return;
  const auto executor = box->timer.get_executor();
  asio::post(executor, [box = std::move(box), letter = std::move(letter)]() mutable {
    box->letter = std::move(letter);
    box->timer.cancel();
  });
}

// Waits for the letter; none: it did not come in time.
template <class T>
asio::awaitable<std::optional<T>> wait_for(std::shared_ptr<Mailbox<T>> box,
                                           std::chrono::milliseconds limit) {
  box->timer.expires_after(limit);
  if (!box->letter) {
    boost::system::error_code ignored;
    co_await box->timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }
  std::optional<T> letter = std::move(box->letter);
  box->letter.reset();
  co_return letter;
}

// ---- Answers ------------------------------------------------------------------------------------

struct AnswerStyle {
  unsigned version = 11;
  bool keep_alive = true;
  bool head_only = false;
};

template <class Body>
void set_common_headers(http::response<Body>& response, const AnswerStyle& style) {
  response.version(style.version);
  response.keep_alive(style.keep_alive);
  response.set("X-Content-Type-Options", "nosniff");
  response.set("Referrer-Policy", "no-referrer");
  response.set("X-Frame-Options", "DENY");
  response.set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
  response.set(http::field::cache_control, "no-store");
  response.set(http::field::server, "berth");
}

template <class Stream>
asio::awaitable<bool> write_reply(Stream& stream, SharedPtr shared, HttpReply reply,
                                  AnswerStyle style) {
  http::response<http::string_body> response;
  response.result(static_cast<unsigned>(reply.status));
  set_common_headers(response, style);
  response.set(http::field::content_type, reply.content_type);
  for (const auto& [name, value] : reply.headers)
    response.set(name, value);
  const std::size_t size = reply.body.size();
  if (!style.head_only) response.body() = std::move(reply.body);
  response.content_length(size);
  beast::get_lowest_layer(stream).expires_after(shared->limits.write_time);
  boost::system::error_code error;
  http::response_serializer<http::string_body> serializer(response);
  if (style.head_only) {
    co_await http::async_write_header(stream, serializer,
                                      asio::redirect_error(asio::use_awaitable, error));
  } else {
    co_await http::async_write(stream, serializer,
                               asio::redirect_error(asio::use_awaitable, error));
  }
  co_return !error && style.keep_alive;
}

template <class Stream>
asio::awaitable<bool> write_text(Stream& stream, SharedPtr shared, std::string text, bool last) {
  beast::get_lowest_layer(stream).expires_after(shared->limits.write_time);
  boost::system::error_code error;
  if (!text.empty()) {
    co_await asio::async_write(stream, http::make_chunk(asio::buffer(text)),
                               asio::redirect_error(asio::use_awaitable, error));
  }
  if (!error && last) {
    co_await asio::async_write(stream, http::make_chunk_last(),
                               asio::redirect_error(asio::use_awaitable, error));
  }
  co_return !error;
}

// The pieces of a source, pulled by workers, each asked for when the last one is written.
template <class Stream>
asio::awaitable<bool> write_stream(Stream& stream, SharedPtr shared, const Guest& guest,
                                   HttpStream answer, AnswerStyle style) {
  using Text = Piece<std::string>;
  const auto executor = co_await asio::this_coro::executor;
  const auto pieces = std::make_shared<Mailbox<Text>>(executor);
  const auto news = std::make_shared<Mailbox<bool>>(executor);
  // Rung once until someone looks: a reader that is slow does not get a letter for each event.
  const auto rung = std::make_shared<std::atomic<bool>>(false);
  const auto wake = [shared, rung, to = std::weak_ptr(news)] {
    if (!rung->exchange(true)) deliver(shared, to, true);
  };
  if (const auto refused = guest.begin_stream()) {
    co_return co_await write_reply(stream, shared, problem_reply(*refused), style);
  }
  const auto opened = shared->streams->open(answer.listener, kStreamBytes, wake);
  if (const auto* refused = std::get_if<Problem>(&opened)) {
    co_return co_await write_reply(stream, shared, problem_reply(*refused), style);
  }
  const std::uint64_t open = std::get<std::uint64_t>(opened);
  // What a reader does not read the kernel holds, and by itself it would hold megabytes.
  boost::system::error_code unset;
  beast::get_lowest_layer(stream).socket().set_option(
      asio::socket_base::send_buffer_size(kStreamBytes), unset);
  answer.source->wake_with(wake);
  const auto pull = [shared, to = std::weak_ptr(pieces), source = answer.source] {
    shared->slow->post([shared, to, source] { deliver(shared, to, source->pull()); });
  };
  pull();
  std::optional<Text> piece = co_await wait_for(pieces, shared->limits.answer_time);
  bool going = false;
  if (!piece || (piece->problem && piece->messages.empty())) {
    const Problem late{.code = Code::deadline_exceeded,
                       .reason = "slow_answer",
                       .message = "the server did not begin to answer in time"};
    HttpReply reply = problem_reply(piece ? *piece->problem : late);
    going = co_await write_reply(stream, shared, std::move(reply), style);
    shared->streams->close(open);
    co_return going;
  }
  http::response<http::empty_body> head;
  set_common_headers(head, style);
  head.set(http::field::content_type, answer.content_type);
  head.set("X-Accel-Buffering", "no");
  for (const auto& [name, value] : answer.headers)
    head.set(name, value);
  head.chunked(true);
  http::response_serializer<http::empty_body> serializer(head);
  boost::system::error_code error;
  beast::get_lowest_layer(stream).expires_after(shared->limits.write_time);
  co_await http::async_write_header(stream, serializer,
                                    asio::redirect_error(asio::use_awaitable, error));
  going = !error;
  std::string text = std::move(answer.first);
  while (going && !style.head_only) {
    for (const std::string& message : piece->messages)
      text += message;
    const bool is_empty = std::exchange(piece->messages, {}).empty();
    const bool last = piece->ended || shared->streams->stopping();
    going = co_await write_text(stream, shared, std::move(text), last);
    text.clear();
    if (last || !going) break;
    if (is_empty && !piece->more) {
      const std::optional<bool> woken = co_await wait_for(news, shared->limits.keep_alive_every);
      if (!woken) text = answer.keep_alive;
      if (!woken && answer.keep_alive.empty()) continue;
    }
    rung->store(false);
    pull();
    piece = co_await wait_for(pieces, shared->limits.answer_time);
    if (!piece) break;
  }
  shared->streams->close(open);
  co_return going&& style.keep_alive;
}

// ---- Requests -----------------------------------------------------------------------------------

// Room for a large body, once it was taken; given back at the end.
class RoomTaken {
 public:
  RoomTaken(SharedPtr shared, std::string sender, std::uint64_t bytes)
      : shared_(std::move(shared)), sender_(std::move(sender)), bytes_(bytes) {}
  ~RoomTaken() { shared_->bodies.give_back(sender_, bytes_); }
  RoomTaken(const RoomTaken&) = delete;
  RoomTaken& operator=(const RoomTaken&) = delete;

 private:
  const SharedPtr shared_;
  const std::string sender_;
  const std::uint64_t bytes_;
};

class Busy {
 public:
  explicit Busy(SharedPtr shared) : shared_(std::move(shared)) { ++shared_->busy; }
  ~Busy() { --shared_->busy; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  SharedPtr shared_;
};

using RequestParser = http::request_parser<http::string_body>;

HttpRequest request_of(const http::request<http::string_body>& from);  // without the body
// What to say of a request that could not be read; none: the client is gone.
std::optional<HttpReply> reply_to_unreadable(const boost::system::error_code& error,
                                             const HttpLimits& limits);
HttpReply reply_to_flaw(const HeadFlaw& flaw);
HttpReply header_too_large(const HttpLimits& limits);

// Bytes that were read, as text.
inline std::string_view text_in(const beast::flat_buffer& buffer) {
  return {static_cast<const char*>(buffer.data().data()), buffer.size()};
}

// Reads until a whole head is in the buffer, and hands it to the parser. The reply says why there
// is none; its status is 0 when nobody is there to be told.
template <class Stream>
asio::awaitable<std::optional<HttpReply>> read_head(Stream& stream, SharedPtr shared,
                                                    beast::flat_buffer& buffer,
                                                    RequestParser& parser) {
  boost::system::error_code error;
  if (buffer.size() == 0) {
    beast::get_lowest_layer(stream).expires_after(shared->limits.idle_time);
    const std::size_t read = co_await stream.async_read_some(
        buffer.prepare(2048), asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return HttpReply{.status = 0};
    buffer.commit(read);
  }
  beast::get_lowest_layer(stream).expires_after(shared->limits.header_time);
  std::size_t size = head_size(text_in(buffer));
  while (size == 0) {
    if (const auto flaw = flaw_in_lines(text_in(buffer))) co_return reply_to_flaw(*flaw);
    if (buffer.size() >= shared->limits.header_bytes) co_return header_too_large(shared->limits);
    const std::size_t read = co_await stream.async_read_some(
        buffer.prepare(2048), asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return HttpReply{.status = 0};
    buffer.commit(read);
    size = head_size(text_in(buffer));
  }
  if (const auto flaw = flaw_in_head(text_in(buffer).substr(0, size)))
    co_return reply_to_flaw(*flaw);
  buffer.consume(parser.put(asio::buffer(buffer.data(), size), error));
  if (!error) co_return std::nullopt;
  auto reply = reply_to_unreadable(error, shared->limits);
  co_return reply ? std::move(*reply) : HttpReply{.status = 0};
}

// The body behind it. The reply says why there is none, as above.
template <class Stream>
asio::awaitable<std::optional<HttpReply>> read_body(Stream& stream, SharedPtr shared,
                                                    beast::flat_buffer& buffer,
                                                    RequestParser& parser) {
  boost::system::error_code error;
  beast::get_lowest_layer(stream).expires_after(shared->limits.body_time);
  if (beast::iequals(parser.get()[http::field::expect], "100-continue")) {
    http::response<http::empty_body> go_on(http::status::continue_, parser.get().version());
    co_await http::async_write(stream, go_on, asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return HttpReply{.status = 0};
  }
  co_await http::async_read(stream, buffer, parser,
                            asio::redirect_error(asio::use_awaitable, error));
  if (!error) co_return std::nullopt;
  auto reply = reply_to_unreadable(error, shared->limits);
  co_return reply ? std::move(*reply) : HttpReply{.status = 0};
}

// Before a large body is read: whether its sender may send it at all, and room for it. The reply
// says why not.
inline asio::awaitable<std::optional<HttpReply>> take_room(SharedPtr shared,
                                                           std::shared_ptr<HttpRequest> head,
                                                           std::string address, std::uint64_t bytes,
                                                           std::optional<RoomTaken>& room) {
  using Sender = std::variant<std::string, HttpReply>;
  const auto executor = co_await asio::this_coro::executor;
  const auto box = std::make_shared<Mailbox<Sender>>(executor);
  // On a worker, as the answers: tokens are read from disk.
  shared->workers->post([shared, to = std::weak_ptr(box), head, address] {
    deliver(shared, to, shared->router->sender_of(*head, address));
  });
  std::optional<Sender> sender = co_await wait_for(box, shared->limits.answer_time);
  if (!sender) {
    co_return problem_reply({.code = Code::deadline_exceeded,
                             .reason = "slow_answer",
                             .message = "the server did not come to this request in time; nothing "
                                        "was done, try again"});
  }
  if (auto* refused = std::get_if<HttpReply>(&*sender)) co_return std::move(*refused);
  std::string& name = std::get<std::string>(*sender);
  if (const auto full = shared->bodies.take(name, bytes)) co_return problem_reply(*full);
  room.emplace(shared, std::move(name), bytes);
  co_return std::nullopt;
}

// Reads on for a moment and forgets it: a client that is still sending sees its answer then, where
// a closed connection would have cut it off.
template <class Stream>
asio::awaitable<void> read_off(Stream& stream, std::uint64_t most) {
  beast::get_lowest_layer(stream).expires_after(kReadOffTime);
  std::array<char, 4096> forgotten{};
  boost::system::error_code error;
  for (std::uint64_t read = 0; !error && read < most;) {
    read += co_await stream.async_read_some(asio::buffer(forgotten),
                                            asio::redirect_error(asio::use_awaitable, error));
  }
}

// One request and its answer. False: the connection ends.
template <class Stream>
asio::awaitable<bool> serve_one(Stream& stream, SharedPtr shared, beast::flat_buffer& buffer,
                                const Guest& guest) {
  RequestParser parser;
  parser.header_limit(shared->limits.header_bytes);
  parser.body_limit(shared->limits.body_bytes);
  const AnswerStyle closing{.keep_alive = false};
  std::optional<HttpReply> unreadable = co_await read_head(stream, shared, buffer, parser);
  if (unreadable) {
    if (unreadable->status != 0) {
      co_await write_reply(stream, shared, std::move(*unreadable), closing);
    }
    co_return false;
  }
  const Busy busy(shared);
  const std::uint64_t announced =
      parser.content_length().value_or(parser.chunked() ? shared->limits.body_bytes : 0);
  // Before the body: what trailers behind it say is not believed.
  const auto request = std::make_shared<HttpRequest>(request_of(parser.get()));
  std::optional<RoomTaken> room;
  if (announced > kSmallBodyBytes) {
    auto refused = co_await take_room(shared, request, guest.address(), announced, room);
    if (refused) {
      co_await write_reply(stream, shared, std::move(*refused), closing);
      co_await read_off(stream, announced);
      co_return false;
    }
  }
  unreadable = co_await read_body(stream, shared, buffer, parser);
  if (unreadable) {
    if (unreadable->status != 0) {
      co_await write_reply(stream, shared, std::move(*unreadable), closing);
    }
    co_return false;
  }
  const AnswerStyle style{.version = parser.get().version(),
                          .keep_alive = parser.get().keep_alive() && !shared->stopping,
                          .head_only = parser.get().method() == http::verb::head};
  request->body = std::move(parser.get().body());
  guest.is(Guests::Stage::served);
  const auto executor = co_await asio::this_coro::executor;
  const auto box = std::make_shared<Mailbox<HttpAnswer>>(executor);
  // On a worker: handlers may read from disk. Whether the server lives is asked by others'
  // watchdogs.
  Workers& workers =
      is_probe(request->method, request->target) ? *shared->probes : *shared->workers;
  workers.post([shared, to = std::weak_ptr(box), request] {
    shared->router->answer(
        *request, [shared, to](HttpAnswer&& answer) { deliver(shared, to, std::move(answer)); });
  });
  std::optional<HttpAnswer> answer = co_await wait_for(box, shared->limits.answer_time);
  if (!answer) {
    HttpReply late = problem_reply({.code = Code::deadline_exceeded,
                                    .reason = "slow_answer",
                                    .message = "the server did not answer in time; the request may "
                                               "still be done"});
    co_return co_await write_reply(stream, shared, std::move(late), style);
  }
  if (auto* reply = std::get_if<HttpReply>(&*answer)) {
    co_return co_await write_reply(stream, shared, std::move(*reply), style);
  }
  room.reset();
  co_return co_await write_stream(stream, shared, guest, std::move(std::get<HttpStream>(*answer)),
                                  style);
}

template <class Stream>
asio::awaitable<void> serve(Stream& stream, SharedPtr shared, const Guest& guest) {
  beast::flat_buffer buffer(shared->limits.header_bytes + 65'536);
  while (!shared->stopping) {
    const bool going = co_await serve_one(stream, shared, buffer, guest);
    if (!going) break;
    guest.is(Guests::Stage::quiet);
  }
}

}  // namespace berth::api
