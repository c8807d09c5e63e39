// ServerStream: the messages of a call that the server answers with a stream.
#pragma once

#include <memory>
#include <optional>

#include <grpcpp/support/async_stream.h>

#include "client/failure.h"
#include "client/waiter.h"

namespace berth::client {

enum class Next { message, ended, timed_out };

template <class Message>
class ServerStream {
 public:
  using Reader = grpc::ClientAsyncReader<Message>;

  // `start` prepares the call with a context and a queue.
  template <class Start>
  ServerStream(std::unique_ptr<Waiter> waiter, Start start) : waiter_(std::move(waiter)) {
    reader_ = start(&waiter_->context(), &waiter_->queue());
    reader_->StartCall(this);
  }
  ServerStream(const ServerStream&) = delete;
  ServerStream& operator=(const ServerStream&) = delete;
  // gRPC may write into the message until the queue is drained; the reader lives in the call, so it
  // must go before the context does.
  ~ServerStream() { waiter_->drain(); }

  // Waits for the next message, for so long at most; after `timed_out` ask again.
  Next next(Clock::time_point until = Clock::time_point::max()) {
    if (step_ == Step::idle) read();
    while (step_ != Step::over) {
      const Waiter::Step step = waiter_->wait(until);
      if (step == Waiter::Step::timed_out) return Next::timed_out;
      const bool ok = step == Waiter::Step::done;
      if (step_ == Step::finishing) {
        step_ = Step::over;
      } else if (!ok) {
        step_ = Step::finishing;
        reader_->Finish(&status_, this);
      } else if (step_ == Step::starting) {
        read();
      } else {
        step_ = Step::idle;
        return Next::message;
      }
    }
    return Next::ended;
  }

  // REQUIRES that next() gave a message.
  const Message& message() const { return message_; }

  // REQUIRES that next() said `ended`. None: the server had no more to say.
  std::optional<Failure> failure() const {
    if (status_.ok()) return std::nullopt;
    return failure_of(status_);
  }

 private:
  enum class Step { starting, reading, idle, finishing, over };

  void read() {
    step_ = Step::reading;
    reader_->Read(&message_, this);
  }

  std::unique_ptr<Waiter> waiter_;
  std::unique_ptr<Reader> reader_;
  Step step_ = Step::starting;
  Message message_;
  grpc::Status status_;
};

}  // namespace berth::client
