// Release: lets a durable group out. The view changes, streams and history hear of it, those who
// asked are answered, agents get their leases. In that order, on the store's thread.
#pragma once

#include <functional>
#include <vector>

#include "service/courier.h"
#include "service/feed.h"
#include "service/group.h"
#include "service/view.h"
#include "store/journal_types.h"

namespace berth::service {

class Release {
 public:
  using OnEnded = std::function<void(Ended&&, std::uint64_t ordinal)>;

  // Of each task whose lease has left: since when it could start.
  using OnStarted = std::function<void(const std::vector<Time>& since)>;

  Release(View& view, Feed& feed, Courier& courier, OnEnded on_ended, OnStarted on_started = {})
      : view_(view),
        feed_(feed),
        courier_(courier),
        on_ended_(std::move(on_ended)),
        on_started_(std::move(on_started)) {}

  // `at`: where the group stands in the journal.
  void run(Group& group, store::GroupAt at);
  // Answers those who wait, once. Part of run.
  static void answer(Group& group);

 private:
  void apply(Group& group, store::GroupAt at, Board& board, Board::Changes& changes,
             std::vector<Courier::Errand>& errands);

  View& view_;
  Feed& feed_;
  Courier& courier_;
  OnEnded on_ended_;
  OnStarted on_started_;
  Time decided_at_;
};

}  // namespace berth::service
