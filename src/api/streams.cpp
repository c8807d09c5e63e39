// See streams.h.
#include "api/streams.h"

#include <utility>

#include "api/outcomes.h"

namespace berth::api {
namespace {

// One of so many is kept for admins and readers.
constexpr std::size_t kKeptPart = 8;

Problem no_room(std::string reason, std::string message, std::size_t need, std::size_t have) {
  return {.code = Code::resource_exhausted,
          .reason = std::move(reason),
          .message = std::move(message),
          .metadata = {{"need", std::to_string(need)}, {"have", std::to_string(have)}},
          .retry_after = seconds(1)};
}

}  // namespace

// Called under the lock.
std::optional<Problem> Streams::refusal(const Listener& listener, std::size_t bytes) const {
  if (stopping_) return api::stopping();
  const auto own = of_tenant_.find(listener.tenant);
  if (!listener.sees_all && own != of_tenant_.end() && own->second >= most_.per_tenant) {
    Problem problem =
        no_room("too_many_streams",
                "tenant \"" + listener.tenant + "\" has " + std::to_string(own->second) +
                    " streams of events, output and submits open, and may have " +
                    std::to_string(most_.per_tenant) +
                    " (limits.max_streams_per_tenant); close one, or ask an admin to raise that",
                own->second + 1, most_.per_tenant);
    problem.metadata["subject"] = listener.tenant;
    problem.quota_subject = "tenant:" + listener.tenant;
    return problem;
  }
  const auto open_to = [&](std::size_t most) {
    return listener.sees_all ? most : most - most / kKeptPart;
  };
  const std::string kept =
      listener.sees_all ? "" : ", the last eighth for admins and readers alone";
  if (open_.size() >= open_to(most_.streams)) {
    return no_room("too_many_streams",
                   std::to_string(open_.size()) +
                       " streams are open on this server, and limits.max_streams allows " +
                       std::to_string(most_.streams) + kept + "; try again when one has ended",
                   open_.size() + 1, open_to(most_.streams));
  }
  if (bytes > 0 && bytes_ + bytes > open_to(most_.bytes)) {
    return no_room("stream_memory",
                   "the streams of this server may hold " + std::to_string(bytes_) +
                       " bytes, and " + std::to_string(bytes) +
                       " more would pass what limits.max_stream_memory "
                       "allows, " +
                       std::to_string(most_.bytes) + kept + "; try again when one has ended",
                   bytes_ + bytes, open_to(most_.bytes));
  }
  return std::nullopt;
}

std::variant<std::uint64_t, Problem> Streams::open(const Listener& listener, std::size_t bytes,
                                                   std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  if (auto refused = refusal(listener, bytes)) return std::move(*refused);
  bytes_ += bytes;
  std::string tenant = listener.sees_all ? "" : listener.tenant;
  if (!tenant.empty()) ++of_tenant_[tenant];
  open_.emplace(next_, Stream{std::move(tenant), bytes, std::move(wake)});
  return next_++;
}

void Streams::close(std::uint64_t stream) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(stream);
  if (found == open_.end()) return;
  bytes_ -= found->second.bytes;
  const auto own = of_tenant_.find(found->second.tenant);
  if (own != of_tenant_.end() && --own->second == 0) of_tenant_.erase(own);
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
