// JournalPieces: what was last read of the journal for streams, so that many readers, or one that
// takes little at a time, cost one reading. Holds a fixed number of steps. Any thread; one reads at
// a time, and those who wait mostly find what they want in what it read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

#include "base/result.h"
#include "service/feed.h"

namespace berth::service {

class JournalPieces {
 public:
  // Reads what comes behind a sequence number, at most about so many steps.
  using Read = std::function<Result<Feed::Answer>(std::uint64_t after, std::size_t most)>;
  explicit JournalPieces(Read read) : read_(std::move(read)) {}

  static constexpr std::size_t kPieceSteps = 20'000;  // each reading finds its place anew
  static constexpr std::size_t kPieces = 2;

  Result<Feed::Answer> read(std::uint64_t after, std::size_t most);

 private:
  struct Piece {
    std::uint64_t after = 0;
    Feed::Answer answer;
  };
  const Piece* find(std::uint64_t after) const;

  const Read read_;
  std::mutex mutex_;
  std::deque<Piece> pieces_;  // the newest last
};

}  // namespace berth::service
