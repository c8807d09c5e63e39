// BodyRoom: what the large bodies that are being read may hold together, and each of their senders.
// May be called from any thread; knows no socket.
//
// A body is promised its announced size before a byte of it is read. One sender gets a share only,
// so that whoever announces much and sends nothing keeps its own requests waiting. One body of a
// sender always counts as its share, and one of all as the room: else a limit that is smaller than
// a message would let none in. Small bodies are bounded by the connections and need no promise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "api/problem.h"

namespace berth::api {

inline constexpr std::uint64_t kSmallBodyBytes = 64U << 10;

struct BodyLimits {
  std::uint64_t all = 256ULL << 20;
  std::uint64_t per_sender = 64ULL << 20;
};

class BodyRoom {
 public:
  void set_limits(const BodyLimits& limits) { limits_ = limits; }

  // None: it is promised, and must be given back. Else why not.
  std::optional<Problem> take(const std::string& sender, std::uint64_t bytes);
  void give_back(const std::string& sender, std::uint64_t bytes);

  std::uint64_t bytes() const;

 private:
  BodyLimits limits_;
  mutable std::mutex mutex_;
  std::uint64_t bytes_ = 0;
  std::map<std::string, std::uint64_t> senders_;
};

}  // namespace berth::api
