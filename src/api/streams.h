// Streams: how many long answers are open, and the bell that ends them when the server stops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

namespace berth::api {

class Streams {
 public:
  explicit Streams(std::size_t most) : most_(most) {}

  // 0: there are too many. `wake` is called when the server stops; it must be cheap.
  std::uint64_t open(std::function<void()> wake);
  void close(std::uint64_t stream);

  void stop();
  bool stopping() const;
  std::size_t size() const;

 private:
  const std::size_t most_;
  mutable std::mutex mutex_;
  bool stopping_ = false;
  std::uint64_t next_ = 1;
  std::map<std::uint64_t, std::function<void()>> open_;
};

}  // namespace berth::api
