// See waiter.h.
#include "client/waiter.h"

#include <algorithm>
#include <utility>

namespace berth::client {

constexpr std::chrono::milliseconds kGlance{20};  // between two looks at `stop`

Waiter::~Waiter() { drain(); }

void Waiter::drain() {
  if (std::exchange(drained_, true)) return;
  context_.TryCancel();
  queue_.Shutdown();
  void* tag = nullptr;
  bool ok = false;
  while (queue_.Next(&tag, &ok)) {
  }
}

Waiter::Step Waiter::wait(Clock::time_point until) {
  for (;;) {
    void* tag = nullptr;
    bool ok = false;
    const auto glance = stop_ ? std::min(until, Clock::now() + kGlance) : until;
    if (queue_.AsyncNext(&tag, &ok, glance) == grpc::CompletionQueue::GOT_EVENT)
      return ok ? Step::done : Step::failed;
    if (stop_ && !cancelled_ && stop_()) {
      context_.TryCancel();
      cancelled_ = true;
    }
    if (Clock::now() >= until) return Step::timed_out;
  }
}

}  // namespace berth::client
