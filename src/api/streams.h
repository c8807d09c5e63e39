// Streams: how many long answers are open, how much memory they may hold together, and the bell
// that ends them when the server stops.
//
// A stream is promised its memory when it opens and keeps within it. So one that nobody reads keeps
// nobody else waiting; when all is promised, new ones are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <variant>

#include "api/problem.h"

namespace berth::api {

// What a stream of events or output may hold: a piece that is being written, and the next.
inline constexpr std::size_t kStreamBytes = 128U << 10;
inline constexpr std::size_t kStreamPieceBytes = kStreamBytes / 2;

struct StreamLimits {
  std::size_t streams = 1024;
  std::size_t bytes = 128U << 20;
};

class Streams {
 public:
  explicit Streams(const StreamLimits& most) : most_(most) {}

  // The stream's number, or why there is no room for it. `bytes`: what it may hold. `wake` is
  // called when the server stops; it must be cheap.
  std::variant<std::uint64_t, Problem> open(std::size_t bytes, std::function<void()> wake);
  void close(std::uint64_t stream);

  void stop();
  bool stopping() const;
  std::size_t size() const;
  std::size_t bytes() const;  // promised

 private:
  struct Stream {
    std::size_t bytes = 0;
    std::function<void()> wake;
  };

  const StreamLimits most_;
  mutable std::mutex mutex_;
  bool stopping_ = false;
  std::uint64_t next_ = 1;
  std::size_t bytes_ = 0;
  std::map<std::uint64_t, Stream> open_;
};

}  // namespace berth::api
