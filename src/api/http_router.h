// HttpRouter: from an HTTP request to a handler and back. JSON in and out, problem+json for errors,
// events and output as streams. Knows no socket; may be called from any thread, and calls `done`
// once, on any thread.
#pragma once

#include <string>
#include <variant>

#include "api/auth.h"
#include "api/handlers.h"
#include "api/http_message.h"
#include "api/http_routes.h"

namespace berth::api {

struct RouterOptions {
  bool loopback_only = true;  // then Host must name this machine, against DNS rebinding
};

class HttpRouter {
 public:
  HttpRouter(RouterOptions options, Handlers& handlers, Authenticator& authenticator);

  void answer(const HttpRequest& request, const HttpDone& done);
  // Whose room a large body takes, by its head alone, before it is read; or why it is not read.
  std::variant<std::string, HttpReply> sender_of(const HttpRequest& head,
                                                 const std::string& address);

 private:
  struct Admitted {
    Matched matched;
    Caller caller;
  };
  // May ask no further than the head: a body may not be there yet.
  std::variant<Admitted, HttpReply> admit(const HttpRequest& request);
  std::optional<Problem> refuse(const HttpRequest& request) const;
  void call(Method method, const Caller& caller, const Matched& matched, const HttpRequest& request,
            const HttpDone& done);
  void show(Page page, const Caller& caller, const HttpDone& done);

  template <class Request, class Response, class Function>
  void unary(const Caller& caller, const Matched& matched, const HttpRequest& request,
             const HttpDone& done, Function function);
  void submit_tasks(const Caller& caller, const Matched& matched, const HttpRequest& request,
                    const HttpDone& done);
  void events(const Caller& caller, const Matched& matched, const HttpRequest& request,
              const HttpDone& done);
  void logs(const Caller& caller, const Matched& matched, const HttpRequest& request,
            const HttpDone& done);

  const RouterOptions options_;
  Handlers& handlers_;
  Authenticator& authenticator_;
};

// Whether a Host header names this machine by a loopback name or address, with or without a port.
bool is_loopback_host(std::string_view host);

}  // namespace berth::api
