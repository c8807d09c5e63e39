// Source: a stream of messages that its reader pulls, so that a slow reader costs nobody but
// itself.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "api/problem.h"

namespace berth::api {

template <class Message>
struct Piece {
  std::vector<Message> messages;
  bool ended = false;              // nothing follows
  std::optional<Problem> problem;  // it ended badly
  bool more = false;               // pull again at once: there may be more already
};

template <class Message>
class Source {
 public:
  virtual ~Source() = default;

  // `wake` is called, on any thread, whenever there may be more than the last pull gave. It must be
  // cheap and must not pull. Given once, before the first pull; not called after the destructor.
  virtual void wake_with(std::function<void()> wake) = 0;

  // What there is now, a bounded amount; may read from disk, so not for network threads. Never by
  // two threads at once.
  virtual Piece<Message> pull() = 0;

  // Why what was pulled may no longer be given; cheap, on any thread.
  virtual std::optional<Problem> objection() { return std::nullopt; }
};

template <class Message>
using SourcePtr = std::shared_ptr<Source<Message>>;

}  // namespace berth::api
