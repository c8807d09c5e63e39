// HTTP requests and answers as plain values: what the router sees of them. Knows no socket.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "api/source.h"
#include "api/streams.h"

namespace berth::api {

struct HttpRequest {
  std::string method;  // "GET"
  std::string target;  // path and query, as they came
  std::string body;
  std::string authorization;
  std::string content_type;
  std::string idempotency_key;
  std::string last_event_id;
  std::string accept;
  std::string host;
  std::string origin;
};

using Headers = std::vector<std::pair<std::string, std::string>>;

struct HttpReply {
  int status = 200;
  std::string content_type;
  std::string body;
  Headers headers;
};

// An answer that goes on: `first`, then what is pulled from the source.
struct HttpStream {
  std::string content_type;
  std::string first;
  SourcePtr<std::string> source;
  std::string keep_alive;  // sent while nothing else is; "": nothing
  Listener listener;
  Headers headers = {};
};

using HttpAnswer = std::variant<HttpReply, HttpStream>;
using HttpDone = std::function<void(HttpAnswer&&)>;

// `status`: where HTTP has a closer one than the problem's code.
HttpReply problem_reply(const Problem& problem, std::optional<int> status = {});

}  // namespace berth::api
