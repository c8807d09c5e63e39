// Waiter: one call under way. Waits for its next step, and gives up the call when told to stop.
//
// `stop` is asked every few milliseconds while nothing arrives, so that an interrupted command ends
// at once whatever the server does. One step at a time is under way; the destructor cancels the
// call and waits for the step to come back, so memory lent to gRPC outlives its use.
#pragma once

#include <chrono>
#include <functional>

#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>

namespace berth::client {

using Stop = std::function<bool()>;  // empty: never
using Clock = std::chrono::system_clock;

class Waiter {
 public:
  explicit Waiter(Stop stop) : stop_(std::move(stop)) {}
  ~Waiter();
  // Gives up the call and waits until gRPC has let go of everything. Nothing may be asked after it.
  void drain();
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  grpc::ClientContext& context() { return context_; }
  grpc::CompletionQueue& queue() { return queue_; }

  enum class Step { done, failed, timed_out };
  // Waits until the step under way is over, or until the instant; then it stays under way.
  Step wait(Clock::time_point until);

 private:
  Stop stop_;
  grpc::ClientContext context_;
  grpc::CompletionQueue queue_;
  bool drained_ = false;
  bool cancelled_ = false;
};

}  // namespace berth::client
