// Fuzz: any bytes as an HTTP request: its head, its route, its path and query, its body as JSON.
// Nothing crashes; a head that is taken reads in one way only; a message that was read is written
// and read again as the same; a refusal is JSON too.
//
// The input is the first line "VERB TARGET", lines of headers, an empty line and the body. The rest
// of HTTP's grammar is Beast's.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/struct.pb.h>

#include "api/http_fill.h"
#include "api/http_head.h"
#include "base/assert.h"
#include "berth/v1/scheduler.pb.h"
#include "tests/fuzz/check.h"

namespace berth::fuzz {
namespace {

using google::protobuf::Message;
using MessagePtr = std::unique_ptr<Message>;

std::string_view take_until(std::string_view& text, std::string_view end) {
  const std::size_t at = text.find(end);
  const std::string_view taken = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view{} : text.substr(at + end.size());
  return taken;
}

api::HttpRequest parse(std::string_view text) {
  api::HttpRequest request;
  std::string_view headers = take_until(text, "\n\n");
  request.body = text;
  std::string_view first = take_until(headers, "\n");
  request.method = take_until(first, " ");
  request.target = first;
  while (!headers.empty()) {
    std::string_view value = take_until(headers, "\n");
    if (take_until(value, ": ") == "Idempotency-Key") request.idempotency_key = value;
  }
  return request;
}

MessagePtr request_of(api::Method method) {
  switch (method) {
#define X(rpc, function, request, response, verb, path, also, role, summary) \
  case api::Method::function:                                                \
    return std::make_unique<v1::request>();
    BERTH_METHODS(X, X, X)
#undef X
  }
  return nullptr;
}
MessagePtr response_of(api::Method method) {
  switch (method) {
#define X(rpc, function, request, response, verb, path, also, role, summary) \
  case api::Method::function:                                                \
    return std::make_unique<v1::response>();
    BERTH_METHODS(X, X, X)
#undef X
  }
  return nullptr;
}

// The same bytes for the same content, whatever the order of its maps.
std::string bytes_of(const Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&out);
  out.Trim();
  return bytes;
}

void check_problem(const api::Problem& problem) {
  check(!problem.message.empty(), "a refusal says why");
  check(api::http_status_of(problem) >= 400, "a refusal has the status of one");
  google::protobuf::Struct any;
  const std::string json = api::problem_json(problem, api::http_status_of(problem));
  check(!api::read_json(json, any), "a refusal is JSON: " + json);
}

void check_written(const Message& message) {
  const std::string json = api::json_of(message);
  const MessagePtr again(message.New());
  const auto problem = api::read_json(json, *again);
  check(!problem, "what is written can be read: " + json + (problem ? problem->message : ""));
  check(bytes_of(*again) == bytes_of(message), "what is written reads as the same: " + json);
}

void check_method(api::Method method, const api::Matched& matched,
                  const api::HttpRequest& request) {
  const MessagePtr asked = request_of(method);
  if (const auto problem = api::fill(*asked, matched, request)) {
    check_problem(*problem);
  } else {
    check_written(*asked);
  }
  const MessagePtr answer = response_of(method);
  if (!api::read_json(request.body, *answer)) check_written(*answer);
}

// Both as it came, and with the line ends of HTTP.
void check_head(std::string_view text) {
  const std::size_t size = api::head_size(text);
  if (const auto flaw = api::flaw_in_head(text.substr(0, size))) {
    check(flaw->status >= 400 && !flaw->message.empty(), "a refusal says why");
    return;
  }
  const std::string_view head = text.substr(0, size);
  check(!api::flaw_in_lines(head), "lines that are refused early are refused late");
  check(head.find("\r\n ") == head.npos && head.find("\r\n\t") == head.npos, "nothing is folded");
}

std::string with_line_ends(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\n') result += '\r';
    result += c;
  }
  return result;
}

}  // namespace
}  // namespace berth::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace berth;
  set_assert_handler(fuzz::print_assert);
  google::protobuf::SetLogHandler(nullptr);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  fuzz::check_head(text);
  fuzz::check_head(fuzz::with_line_ends(text));
  const api::HttpRequest request = fuzz::parse(text);
  const auto route = api::match_route(request.method, request.target);
  const auto* matched = std::get_if<api::Matched>(&route);
  if (matched == nullptr) return 0;
  if (const auto* method = std::get_if<api::Method>(&matched->what)) {
    fuzz::check_method(*method, *matched, request);
  }
  return 0;
}
