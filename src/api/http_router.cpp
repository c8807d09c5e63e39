// See http_router.h.
#include "api/http_router.h"

#include <algorithm>
#include <charconv>

#include "api/http_fill.h"
#include "api/json_messages.h"
#include "api/metrics_text.h"
#include "api/openapi.h"
#include "api/outcomes.h"
#include "api/sse.h"
#include "api/submit_stream.h"
#include "api/text_source.h"
#include "base/json.h"

namespace berth::api {
namespace {

constexpr const char* kJson = "application/json";
constexpr const char* kText = "text/plain; charset=utf-8";
constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

HttpReply json_reply(const google::protobuf::Message& message) {
  return {.content_type = kJson, .body = json_of(message) + "\n"};
}

template <class Response>
void answer_with(const HttpDone& done, Answer<Response>&& answer) {
  if (const auto* problem = std::get_if<Problem>(&answer)) return done(problem_reply(*problem));
  done(json_reply(std::get<Response>(answer)));
}

bool has_parameter(const Parameters& parameters, std::string_view name) {
  return std::ranges::any_of(parameters, [&](const auto& one) { return one.first == name; });
}

Problem no_route(const NoRoute& none) {
  if (none.allowed.empty()) {
    return {.code = Code::not_found,
            .reason = "unknown_path",
            .message = "there is no such path; /openapi.json lists them"};
  }
  return {.code = Code::unimplemented,
          .reason = "method_not_allowed",
          .message = "this path does not take that method"};
}

HttpReply no_route_reply(const NoRoute& none) {
  if (none.allowed.empty()) return problem_reply(no_route(none));
  HttpReply reply = problem_reply(no_route(none), 405);
  std::string allow;
  for (const Verb verb : none.allowed) {
    allow += (allow.empty() ? "" : ", ") + std::string(name_of(verb));
  }
  reply.headers.emplace_back("Allow", allow);
  return reply;
}

// Says with each answer that another path has taken the place of the one that was asked for.
HttpDone with_successor(const HttpDone& done, const std::string& successor) {
  if (successor.empty()) return done;
  return [done, successor](HttpAnswer&& answer) {
    Headers& headers = std::visit([](auto& one) -> Headers& { return one.headers; }, answer);
    headers.emplace_back("Deprecation", "true");
    headers.emplace_back("Link", "<" + successor + ">; rel=\"successor-version\"");
    done(std::move(answer));
  };
}

std::string_view host_of(std::string_view authority) {
  const std::size_t slashes = authority.find("://");
  if (slashes != std::string_view::npos) authority.remove_prefix(slashes + 3);
  return authority;
}

}  // namespace

HttpReply problem_reply(const Problem& problem, std::optional<int> status) {
  HttpReply reply{.status = status.value_or(http_status_of(problem)),
                  .content_type = "application/problem+json"};
  reply.body = problem_json(problem, reply.status);
  if (problem.retry_after) {
    const std::int64_t whole = (problem.retry_after->ns + 999'999'999) / 1'000'000'000;
    reply.headers.emplace_back("Retry-After", std::to_string(std::max<std::int64_t>(1, whole)));
  }
  if (problem.code == Code::unauthenticated) {
    reply.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"berth\"");
  }
  return reply;
}

bool is_loopback_host(std::string_view host) {
  std::string_view name = host;
  if (name.starts_with('[')) {
    const std::size_t end = name.find(']');
    if (end == std::string_view::npos) return false;
    const std::string_view rest = name.substr(end + 1);
    return name.substr(0, end + 1) == "[::1]" && (rest.empty() || rest.starts_with(':'));
  }
  name = name.substr(0, name.find(':'));
  if (name == "localhost" || name == "127.0.0.1") return true;
  return name.starts_with("127.") &&
         std::ranges::all_of(name, [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
}

HttpRouter::HttpRouter(RouterOptions options, Handlers& handlers, Authenticator& authenticator)
    : options_(options), handlers_(handlers), authenticator_(authenticator) {}

// What a browser may be talked into by a foreign page is refused before anything is looked at.
std::optional<Problem> HttpRouter::refuse(const HttpRequest& request) const {
  if (options_.loopback_only && !is_loopback_host(request.host)) {
    return Problem{
        .code = Code::permission_denied,
        .reason = "foreign_host",
        .message = "the Host header must name this machine: localhost, 127.0.0.1 or ::1"};
  }
  if (request.method == "GET" || request.method == "HEAD") return std::nullopt;
  if (!request.origin.empty() && host_of(request.origin) != request.host) {
    return Problem{.code = Code::permission_denied,
                   .reason = "foreign_origin",
                   .message = "requests from pages of another origin change nothing here"};
  }
  const bool json = request.content_type.starts_with(kJson);
  if (!json && (!request.body.empty() || !request.content_type.empty())) {
    return Problem{.code = Code::invalid_argument,
                   .reason = "not_json",
                   .message = "the body must be JSON: send \"Content-Type: application/json\""};
  }
  return std::nullopt;
}

std::variant<HttpRouter::Admitted, HttpReply> HttpRouter::admit(const HttpRequest& request) {
  if (auto problem = refuse(request)) return problem_reply(*problem);
  auto route = match_route(request.method, request.target);
  if (const auto* none = std::get_if<NoRoute>(&route)) return no_route_reply(*none);
  auto& matched = std::get<Matched>(route);
  const auto* method = std::get_if<Method>(&matched.what);
  const Need need = method != nullptr
                        ? need_of(info_of(*method))
                        : need_of(kPages[static_cast<std::size_t>(std::get<Page>(matched.what))]);
  auto caller = authenticator_.admit(request.authorization, need);
  if (const auto* problem = std::get_if<Problem>(&caller)) return problem_reply(*problem);
  return Admitted{std::move(matched), std::move(std::get<Caller>(caller))};
}

std::variant<std::string, HttpReply> HttpRouter::sender_of(const HttpRequest& head,
                                                           const std::string& address) {
  auto admitted = admit(head);
  if (auto* refused = std::get_if<HttpReply>(&admitted)) return std::move(*refused);
  const auto& [matched, caller] = std::get<Admitted>(admitted);
  if (std::holds_alternative<Page>(matched.what)) {
    return problem_reply({.code = Code::invalid_argument,
                          .reason = "body_too_large",
                          .message = "this path takes no body; leave it out"},
                         413);
  }
  if (!caller.authenticated) return "address " + address;
  if (!caller.tenant.empty()) return "tenant \"" + caller.tenant + "\"";
  return "role " + std::string(name_of(caller.role));
}

void HttpRouter::answer(const HttpRequest& request, const HttpDone& done) {
  auto admitted = admit(request);
  if (auto* refused = std::get_if<HttpReply>(&admitted)) return done(std::move(*refused));
  const auto& [matched, caller] = std::get<Admitted>(admitted);
  if (const auto* page = std::get_if<Page>(&matched.what)) return show(*page, caller, done);
  const HttpDone told = with_successor(done, matched.successor);
  if (!handlers_.context().serving) return told(problem_reply(stopping()));
  call(std::get<Method>(matched.what), caller, matched, request, told);
}

template <class Request, class Response, class Function>
void HttpRouter::unary(const Caller& caller, const Matched& matched, const HttpRequest& request,
                       const HttpDone& done, Function function) {
  Request message;
  if (auto problem = fill(message, matched, request)) return done(problem_reply(*problem));
  (handlers_.*function)(
      caller, message, [done](Answer<Response>&& answer) { answer_with(done, std::move(answer)); });
}

void HttpRouter::call(Method method, const Caller& caller, const Matched& matched,
                      const HttpRequest& request, const HttpDone& done) {
  switch (method) {
#define UNARY(rpc, function, request_type, response_type, verb, path, also, role, summary) \
  case Method::function:                                                                   \
    return unary<v1::request_type, v1::response_type>(caller, matched, request, done,      \
                                                      &Handlers::function);
#define NOT_HERE(rpc, function, request_type, response_type, verb, path, also, role, summary)
    BERTH_METHODS(UNARY, NOT_HERE, NOT_HERE)
#undef NOT_HERE
#undef UNARY
    case Method::submit_tasks:
      return submit_tasks(caller, matched, request, done);
    case Method::task_events:
      return events(caller, matched, request, done);
    case Method::get_task_logs:
      return logs(caller, matched, request, done);
  }
}

// One message, answered when all of it is on disk.
void HttpRouter::submit_tasks(const Caller& caller, const Matched& matched,
                              const HttpRequest& request, const HttpDone& done) {
  v1::SubmitTasksRequest message;
  if (auto problem = fill(message, matched, request)) return done(problem_reply(*problem));
  if (message.sequence() == 0) message.set_sequence(1);
  if (!message.has_want_ids()) message.set_want_ids(true);
  const auto stream = handlers_.submit_tasks(caller);
  const auto response = std::make_shared<v1::SubmitTasksResponse>();
  stream->open({.ready = [] {},
                .answer = [response](v1::SubmitTasksResponse&& part) { response->MergeFrom(part); },
                .finished =
                    [done, response](std::optional<Problem>&& problem) {
                      done(problem ? problem_reply(*problem) : json_reply(*response));
                    }});
  stream->take(message);
  stream->no_more();
}

void HttpRouter::events(const Caller& caller, const Matched& matched, const HttpRequest& request,
                        const HttpDone& done) {
  v1::TaskEventsRequest message;
  if (auto problem = fill(message, matched, request)) return done(problem_reply(*problem));
  if (!has_parameter(matched.query, "follow")) message.set_follow(true);
  if (!request.last_event_id.empty()) {
    if (auto problem = set_field(message, "after_sequence", request.last_event_id)) {
      return done(problem_reply(*problem));
    }
  }
  auto source = handlers_.task_events(caller, message);
  if (const auto* problem = std::get_if<Problem>(&source)) return done(problem_reply(*problem));
  done(HttpStream{.content_type = kSseType,
                  .first = sse_opening(),
                  .source = std::make_shared<TextSource<v1::TaskEvent>>(
                      std::get<SourcePtr<v1::TaskEvent>>(source), sse_event, sse_problem),
                  .keep_alive = kSseKeepAlive,
                  .listener = listener_of(caller)});
}

void HttpRouter::logs(const Caller& caller, const Matched& matched, const HttpRequest& request,
                      const HttpDone& done) {
  v1::GetTaskLogsRequest message;
  if (auto problem = fill(message, matched, request)) return done(problem_reply(*problem));
  auto answer = handlers_.get_task_logs(caller, message);
  if (const auto* problem = std::get_if<Problem>(&answer)) return done(problem_reply(*problem));
  auto& source = std::get<SourcePtr<v1::LogChunk>>(answer);
  if (request.accept.find(kSseType) != std::string::npos) {
    return done(HttpStream{
        .content_type = kSseType,
        .source = std::make_shared<TextSource<v1::LogChunk>>(source, sse_log, sse_problem),
        .keep_alive = kSseKeepAlive,
        .listener = listener_of(caller)});
  }
  const auto plain = [](const v1::LogChunk& chunk) {
    return chunk.data() + (chunk.truncated() ? "\n[output was cut here]\n" : "");
  };
  const auto last_word = [](const Problem& problem) { return "\n[" + problem.message + "]\n"; };
  done(HttpStream{.content_type = kText,
                  .source = std::make_shared<TextSource<v1::LogChunk>>(source, plain, last_word),
                  .listener = listener_of(caller)});
}

namespace {

struct Health {
  std::string status;
  std::string message;  // "": it takes all work
};

Health health_of(const ApiContext& context) {
  if (!context.serving) return {"stopping", "the server is stopping"};
  const service::ServiceStats stats = context.service.stats();
  const std::string room = "the data disk has " + std::to_string(stats.disk_free_bytes >> 20) +
                           " MiB free, store.reserve is " +
                           std::to_string(stats.disk_reserve_bytes >> 20) + " MiB: ";
  if (stats.stalled) {
    return {"stalled", room + "the journal cannot be written, nothing is acknowledged"};
  }
  if (stats.short_of_room) return {"short_of_room", room + "no new task is taken"};
  return {"ok", ""};
}

}  // namespace

void HttpRouter::show(Page page, const Caller& caller, const HttpDone& done) {
  ApiContext& context = handlers_.context();
  switch (page) {
    case Page::health: {
      const Health health = health_of(context);
      JsonWriter json(0);
      json.begin_object().member("status", health.status);
      json.member("version", context.hooks.version);
      if (!health.message.empty()) json.member("message", health.message);
      return done(HttpReply{.content_type = kJson, .body = json.end_object().text() + "\n"});
    }
    case Page::healthz:
      return done(HttpReply{.content_type = kText, .body = "ok\n"});
    case Page::readyz: {
      const Health health = health_of(context);
      if (health.message.empty()) {
        return done(HttpReply{.content_type = kText, .body = "ready\n"});
      }
      return done(HttpReply{.status = 503, .content_type = kText, .body = health.message + "\n"});
    }
    case Page::openapi:
      return done(HttpReply{.content_type = kJson, .body = openapi_json(context.hooks.version)});
    case Page::metrics:
      return done(HttpReply{.content_type = kMetricsType,
                            .body = metrics_text(context) + gpu_metrics_text(context)});
    case Page::gpu_metrics:
      return done(HttpReply{.content_type = kMetricsType, .body = gpu_metrics_text(context)});
    case Page::queue_status:
      return handlers_.get_queue_status(caller, {},
                                        [done](Answer<v1::GetQueueStatusResponse>&& answer) {
                                          answer_with(done, std::move(answer));
                                        });
  }
}

}  // namespace berth::api
