// See streams.h.
#include "api/streams.h"

#include <utility>

#include "api/outcomes.h"

namespace berth::api {
namespace {

Problem no_room(std::string reason, std::string message, std::size_t need, std::size_t have) {
  return {.code = Code::resource_exhausted,
          .reason = std::move(reason),
          .message = std::move(message),
          .metadata = {{"need", std::to_string(need)}, {"have", std::to_string(have)}},
          .retry_after = seconds(1)};
}

}  // namespace

std::variant<std::uint64_t, Problem> Streams::open(std::size_t bytes, std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return api::stopping();
  if (open_.size() >= most_.streams) {
    return no_room("too_many_streams",
                   std::to_string(open_.size()) +
                       " streams are open on this server, as many as limits.max_streams allows; "
                       "try again when one has ended",
                   open_.size() + 1, most_.streams);
  }
  if (bytes_ + bytes > most_.bytes) {
    return no_room("stream_memory",
                   "the streams of this server may hold " + std::to_string(bytes_) +
                       " bytes; one more would pass the " + std::to_string(most_.bytes) +
                       " of limits.max_stream_memory; try again when one has ended",
                   bytes_ + bytes, most_.bytes);
  }
  bytes_ += bytes;
  open_.emplace(next_, Stream{bytes, std::move(wake)});
  return next_++;
}

void Streams::close(std::uint64_t stream) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(stream);
  if (found == open_.end()) return;
  bytes_ -= found->second.bytes;
  open_.erase(found);
}

void Streams::stop() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  for (const auto& [number, stream] : open_)
    stream.wake();
}

bool Streams::stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

std::size_t Streams::size() const {
  const std::lock_guard lock(mutex_);
  return open_.size();
}

std::size_t Streams::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace berth::api
