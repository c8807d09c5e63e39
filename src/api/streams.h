// Streams: how many long answers are open, how much memory they may hold together, and the bell
// that ends them when the server stops.
//
// A stream is promised its memory when it opens and keeps within it. So one that nobody reads keeps
// nobody else waiting; when all is promised, new ones are refused. A tenant has a limit of its own,
// and the last eighth of streams and memory is for those who see all: admins and readers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <variant>

#include "api/limits.h"
#include "api/problem.h"

namespace berth::api {

// What a stream of events or output may hold: a piece that is being written, and the next.
inline constexpr std::size_t kStreamBytes = 128U << 10;
inline constexpr std::size_t kStreamPieceBytes = kStreamBytes / 2;

// Who reads or writes a stream.
struct Listener {
  std::string tenant;
  bool sees_all = true;  // an admin or a reader: not bound by the tenant's limit
};

struct StreamLimits {
  std::size_t streams = kConfigurable.max_streams;
  std::size_t per_tenant = kConfigurable.max_streams_per_tenant;
  std::size_t bytes = static_cast<std::size_t>(kConfigurable.max_stream_memory);
};

class Streams {
 public:
  explicit Streams(const StreamLimits& most) : most_(most) {}

  // The stream's number, or why there is no room for it. `bytes`: what it may hold. `wake` is
  // called when the server stops; it must be cheap.
  std::variant<std::uint64_t, Problem> open(const Listener& listener, std::size_t bytes,
                                            std::function<void()> wake);
  void close(std::uint64_t stream);

  void stop();
  bool stopping() const;
  std::size_t size() const;
  std::size_t bytes() const;  // promised

 private:
  struct Stream {
    std::string tenant;  // "": bound by no tenant's limit
    std::size_t bytes = 0;
    std::function<void()> wake;
  };

  std::optional<Problem> refusal(const Listener& listener, std::size_t bytes) const;

  const StreamLimits most_;
  mutable std::mutex mutex_;
  bool stopping_ = false;
  std::uint64_t next_ = 1;
  std::size_t bytes_ = 0;
  std::map<std::uint64_t, Stream> open_;
  std::map<std::string, std::size_t> of_tenant_;  // how many are open
};

}  // namespace berth::api
