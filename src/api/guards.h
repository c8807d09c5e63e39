// Guards: who may no longer listen is told so. A stream lives longer than the check at its door, so
// each has a guard that checks its caller again: at every piece it gives, and several times a
// second while it gives none.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "api/problem.h"
#include "api/source.h"

namespace berth::api {

// Why the stream must end; none: it may go on.
using Guard = std::function<std::optional<Problem>()>;

class Guards {
 public:
  // `wake` is called when the guard objects, on any thread, until it is forgotten, and once more
  // perhaps.
  std::uint64_t add(Guard guard, std::function<void()> wake);
  void forget(std::uint64_t number);

  void review();

 private:
  struct Watched {
    Guard guard;
    std::function<void()> wake;
  };
  std::mutex mutex_;
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, Watched> watched_;
};

// Another source as long as its guard lets it: then it ends with the guard's problem.
template <class Message>
class GuardedSource : public Source<Message> {
 public:
  GuardedSource(Guards& guards, Guard guard, SourcePtr<Message> from)
      : guards_(guards), guard_(std::move(guard)), from_(std::move(from)) {}
  ~GuardedSource() override {
    if (number_ != 0) guards_.forget(number_);
  }

  void wake_with(std::function<void()> wake) override {
    number_ = guards_.add(guard_, wake);
    from_->wake_with(std::move(wake));
  }
  std::optional<Problem> objection() override { return guard_(); }
  Piece<Message> pull() override {
    if (auto problem = guard_()) return {.ended = true, .problem = std::move(problem)};
    return from_->pull();
  }

 private:
  Guards& guards_;
  const Guard guard_;
  const SourcePtr<Message> from_;
  std::uint64_t number_ = 0;
};

}  // namespace berth::api
