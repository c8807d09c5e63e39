// Feed: the newest steps of tasks, for streams. A bounded ring; the release thread adds, any thread
// reads.
//
// Readers pull: they ask for what comes behind a sequence number, and are woken when there is more.
// One that falls behind the ring is told so, and goes on from the journal (journal_feed.h).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "service/board.h"

namespace berth::service {

class Feed {
 public:
  explicit Feed(std::size_t capacity) : capacity_(capacity) {}

  // What came before stands in the journal only. Before the first add.
  void begin_at(std::uint64_t ordinal);

  // `ordinal`: of the newest message of the group, a task's step or not.
  void add(std::vector<TaskChange>&& changes, std::uint64_t ordinal);

  struct Answer {
    bool too_old = false;      // the ring no longer holds what comes behind `after`
    std::uint64_t oldest = 0;  // what it holds begins behind this number
    std::uint64_t last = 0;    // everything up to here has been read
    std::vector<TaskChange> changes;
  };
  Answer read(std::uint64_t after, std::size_t most) const;
  std::uint64_t last() const;

  // `wake` is called by the release thread after each group that added something, without any lock;
  // it must be cheap. Returns a number for `forget`. A call that has begun by then may still come,
  // so `wake` must not count on who asked for it being there.
  std::uint64_t wake_on_news(std::function<void()> wake);
  void forget(std::uint64_t subscription);

 private:
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::deque<TaskChange> ring_;
  std::uint64_t before_ring_ = 0;
  std::uint64_t last_ = 0;
  std::uint64_t next_subscription_ = 1;
  std::map<std::uint64_t, std::shared_ptr<const std::function<void()>>> sleepers_;
};

}  // namespace berth::service
