// Handlers: one function per method of the table, between the doors and the service. Rights beyond
// the role, checks of fields, reads from view and history, commands to the sequencer. No gRPC and
// no HTTP here.
//
// A reply is called exactly once: at once by the calling thread, or later by a worker, never by the
// release thread while the server runs. Reads take the view's lock in pieces of a bounded number of
// lines. A command that is under way keeps the handlers alive, for the service may answer it after
// the doors are closed.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "api/caller.h"
#include "api/context.h"
#include "api/methods.h"
#include "api/problem.h"
#include "api/source.h"
#include "berth/v1/scheduler.pb.h"

namespace berth::api {

class SubmitStream;

class Handlers : public std::enable_shared_from_this<Handlers> {
 public:
  explicit Handlers(std::shared_ptr<ApiContext> context)
      : shared_context_(std::move(context)), context_(*shared_context_) {}

#define UNARY(rpc, function, request_type, response_type, verb, path, also, role, summary) \
  void function(const Caller& caller, const v1::request_type& request,                     \
                Reply<v1::response_type> reply);
#define SERVER_STREAM(rpc, function, request_type, response_type, verb, path, also, role, summary) \
  Answer<SourcePtr<v1::response_type>> function(const Caller& caller,                              \
                                                const v1::request_type& request);
#define BIDI(rpc, function, request_type, response_type, verb, path, also, role, summary) \
  std::shared_ptr<SubmitStream> function(const Caller& caller);
  BERTH_METHODS(UNARY, SERVER_STREAM, BIDI)
#undef BIDI
#undef SERVER_STREAM
#undef UNARY

  ApiContext& context() { return context_; }

 private:
  using Fail = std::function<void(Problem&&)>;
  using Then = std::function<void(const service::ControlOutcome&)>;

  // Sends a command; `then` gets its outcome on a worker if it was done, `fail` what went wrong.
  void control(service::Control what, Fail fail, Then then);
  template <class Response>
  void control_and_answer(service::Control what, Reply<Response> reply);

  // A stream that ends when its caller would no longer be let in.
  template <class Message>
  SourcePtr<Message> guarded(const Caller& caller, SourcePtr<Message> source);

  template <class Request, class Response>
  void put(service::Section section, const Request& request, Reply<Response> reply);
  template <class Response>
  void erase(service::Section section, const std::string& name, Reply<Response> reply);

  struct SpecAt {
    v1::TaskSpec spec;
    std::string path;     // where it stands in the request, for errors
    std::string indices;  // of the array it comes from
  };
  void submit_array(const Caller& caller, const v1::SubmitTaskRequest& request,
                    Reply<v1::SubmitTaskResponse> reply);
  // All or nothing.
  void submit_all(const Caller& caller, const std::vector<SpecAt>& specs,
                  const std::string& request_id, Reply<v1::SubmitWorkflowResponse> reply);

  struct Cancelling;
  void cancel_next(const std::shared_ptr<Cancelling>& cancelling);
  std::vector<TaskNo> collect(const v1::TaskFilter& filter);

  const std::shared_ptr<ApiContext> shared_context_;
  ApiContext& context_;
};

}  // namespace berth::api
