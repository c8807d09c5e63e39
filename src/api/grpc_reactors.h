// Long gRPC calls: a stream that is pulled from a Source, and the stream of submits.
//
// Each keeps itself alive until gRPC says that it is done. No lock is held while gRPC or a source
// is called.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "api/context.h"
#include "api/incoming.h"
#include "api/outcomes.h"
#include "api/source.h"
#include "api/submit_stream.h"

namespace berth::api {

// With the google.rpc details in the trailer.
grpc::Status grpc_status_of(const Problem& problem);

// Ends with the answer, or without it when the caller gives up, its deadline passes or the server
// stops: whichever comes first.
class UnaryCall : public grpc::ServerUnaryReactor {
 public:
  static std::shared_ptr<UnaryCall> start(grpc::CallbackServerContext* context) {
    auto call = std::make_shared<UnaryCall>(context);
    call->self_ = call;
    return call;
  }
  explicit UnaryCall(grpc::CallbackServerContext* context) : context_(context) {}

  // `response` is gRPC's and lives until the end of the call.
  template <class Response>
  void answer(Response& response, std::type_identity_t<Response>&& answer) {
    if (ended_.exchange(true)) return;
    response = std::move(answer);
    Finish(grpc::Status::OK);
  }
  void fail(const Problem& problem);

  void OnCancel() override {
    if (!ended_.exchange(true)) Finish(grpc::Status::CANCELLED);
  }
  void OnDone() override { const std::shared_ptr<UnaryCall> last = std::move(self_); }

 private:
  grpc::CallbackServerContext* const context_;
  std::atomic<bool> ended_{false};
  std::shared_ptr<UnaryCall> self_;
};

// Answers a stream with a problem and nothing else.
template <class Base>
class RefusedCall : public Base {
 public:
  explicit RefusedCall(const Problem& problem) { this->Finish(grpc_status_of(problem)); }
  void OnDone() override { delete this; }
};

// ---- Server streams -----------------------------------------------------------------------------

template <class Message>
class SourceWriter : public grpc::ServerWriteReactor<Message>,
                     public std::enable_shared_from_this<SourceWriter<Message>> {
 public:
  static grpc::ServerWriteReactor<Message>* start(ApiContext& context, const Caller& caller,
                                                  SourcePtr<Message> source) {
    auto writer = std::make_shared<SourceWriter>(context, std::move(source));
    SourceWriter* raw = writer.get();
    const std::weak_ptr<SourceWriter> weak = writer;
    const auto wake = [weak] {
      if (auto alive = weak.lock()) alive->wake();
    };
    writer->self_ = writer;
    writer->busy_ = true;  // until all is set up: whoever wakes it meanwhile does not pull
    writer->opened_ = context.streams.open(listener_of(caller), kStreamBytes, wake);
    writer->source_->wake_with(wake);
    // So that a client knows that it hears everything from now on.
    raw->StartSendInitialMetadata();
    writer->post_pull();
    return raw;
  }

  SourceWriter(ApiContext& context, SourcePtr<Message> source)
      : context_(context), source_(std::move(source)) {}

  void OnWriteDone(bool ok) override {
    if (!ok) cancelled_ = true;
    ++written_;
    write_or_pull();
  }
  void OnCancel() override {
    cancelled_ = true;
    wake();
  }
  void OnDone() override {
    if (const auto* stream = std::get_if<std::uint64_t>(&opened_)) context_.streams.close(*stream);
    ApiContext& context = context_;
    std::shared_ptr<SourceWriter> last;
    {
      const std::lock_guard lock(mutex_);
      last.swap(self_);
      gone_ = true;
    }
    // Let go of on a worker: the source's end may wait for a lock that someone who wakes us holds.
    context.slow.post([last = std::move(last)] {});
  }

 private:
  // Only one of pulling and writing goes on at a time; who begins sets busy_.
  void wake() {
    const std::lock_guard lock(mutex_);
    if (gone_ || finished_) return;
    if (std::exchange(busy_, true)) {
      again_ = true;
      return;
    }
    post_pull();
  }
  void post_pull() {
    context_.slow.post([self = this->shared_from_this()] { self->pull(); });
  }

  void pull() {
    {
      const std::lock_guard lock(mutex_);
      again_ = false;
    }
    if (context_.streams.stopping()) return finish(stopping());
    if (const auto* refused = std::get_if<Problem>(&opened_)) return finish(*refused);
    if (cancelled_) return this->finish_with(grpc::Status::CANCELLED);
    piece_ = source_->pull();
    written_ = 0;
    write_or_pull();
  }

  void write_or_pull() {
    if (!cancelled_ && written_ < piece_.messages.size()) {
      if (const auto problem = source_->objection()) return finish(*problem);
      return this->StartWrite(&piece_.messages[written_]);
    }
    if (piece_.problem) return finish(*piece_.problem);
    if (piece_.ended) return finish_with(grpc::Status::OK);
    const bool pull_again = piece_.more || !piece_.messages.empty() || cancelled_;
    piece_ = {};
    written_ = 0;
    const std::lock_guard lock(mutex_);
    if (pull_again || again_) return post_pull();
    busy_ = false;
  }

  void finish(const Problem& problem) { finish_with(grpc_status_of(problem)); }
  void finish_with(const grpc::Status& status) {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(finished_, true)) return;
    }
    this->Finish(status);
  }

  ApiContext& context_;
  SourcePtr<Message> source_;
  std::variant<std::uint64_t, Problem> opened_;  // as one of the server's streams
  Piece<Message> piece_;
  std::size_t written_ = 0;
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  bool busy_ = false;
  bool again_ = false;
  bool finished_ = false;
  bool gone_ = false;
  std::shared_ptr<SourceWriter> self_;
};

// ---- Submits ------------------------------------------------------------------------------------

using SubmitReactor =
    grpc::ServerBidiReactor<Incoming<v1::SubmitTasksRequest>, v1::SubmitTasksResponse>;

class SubmitCall : public SubmitReactor {
 public:
  SubmitCall(ApiContext& context, const Caller& caller, std::shared_ptr<SubmitStream> stream);

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void answer(v1::SubmitTasksResponse&& response);
  void finish(const grpc::Status& status);

  ApiContext& context_;
  const std::shared_ptr<SubmitStream> submits_;
  std::uint64_t stream_ = 0;
  Incoming<v1::SubmitTasksRequest> request_;
  std::mutex mutex_;
  v1::SubmitTasksResponse writing_;
  v1::SubmitTasksResponse next_;
  bool busy_ = false;
  bool finished_ = false;
  std::optional<grpc::Status> last_;
};

}  // namespace berth::api
