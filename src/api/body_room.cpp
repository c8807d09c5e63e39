// See body_room.h.
#include "api/body_room.h"

namespace berth::api {
namespace {

Problem no_room_for_body(const std::string& whose, std::uint64_t held, std::uint64_t bytes,
                         std::uint64_t most) {
  return {.code = Code::unavailable,
          .reason = "server_busy",
          .message = "the large requests of " + whose + " that are being read announce " +
                     std::to_string(held) + " bytes; " + std::to_string(bytes) +
                     " more would pass the " + std::to_string(most) +
                     " that they may; try again, or send less at once: a body of up to " +
                     std::to_string(kSmallBodyBytes) + " bytes is always read",
          .metadata = {{"need", std::to_string(held + bytes)}, {"have", std::to_string(most)}},
          .retry_after = seconds(1)};
}

}  // namespace

std::optional<Problem> BodyRoom::take(const std::string& sender, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto known = senders_.find(sender);
  const std::uint64_t own = known == senders_.end() ? 0 : known->second;
  if (own > 0 && own + bytes > limits_.per_sender) {
    return no_room_for_body(sender, own, bytes, limits_.per_sender);
  }
  if (bytes_ > 0 && bytes_ + bytes > limits_.all) {
    return no_room_for_body("all senders", bytes_, bytes, limits_.all);
  }
  bytes_ += bytes;
  senders_[sender] += bytes;
  return std::nullopt;
}

void BodyRoom::give_back(const std::string& sender, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto at = senders_.find(sender);
  bytes_ -= bytes;
  at->second -= bytes;
  if (at->second == 0) senders_.erase(at);
}

std::uint64_t BodyRoom::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace berth::api
