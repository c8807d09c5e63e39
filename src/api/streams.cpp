// See streams.h.
#include "api/streams.h"

#include <utility>

namespace berth::api {

std::uint64_t Streams::open(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  if (stopping_ || open_.size() >= most_) return 0;
  open_.emplace(next_, std::move(wake));
  return next_++;
}

void Streams::close(std::uint64_t stream) {
  const std::lock_guard lock(mutex_);
  open_.erase(stream);
}

void Streams::stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  for (const auto& [stream, wake] : open_)
    wake();
}

bool Streams::stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

std::size_t Streams::size() const {
  const std::lock_guard lock(mutex_);
  return open_.size();
}

}  // namespace berth::api
