// See release.h.
#include "service/release.h"

#include <utility>

#include "store/crash_points.h"

namespace berth::service {

void Release::run(Group& group, store::GroupAt at) {
  store::crash_point(store::CrashPoint::release_before);
  Board::Changes changes;
  std::vector<Courier::Errand> errands;
  view_.change([&](Board& board) {
    apply(group, at, board, changes, errands);
    // Before anyone can see that they left the board: a task is always found somewhere.
    view_.remember_ended(changes.ended.tasks);
  });
  feed_.add(std::move(changes.tasks), group.last_ordinal);
  answer(group);
  store::crash_point(store::CrashPoint::release_replied);
  courier_.run(std::move(errands));
  if (on_started_ && !changes.started.empty()) on_started_(changes.started);
  on_ended_(std::move(changes.ended), group.last_ordinal);
}

void Release::answer(Group& group) {
  for (SubmitReply& reply : std::exchange(group.submits, {}))
    reply.done(reply.outcomes);
  for (ControlReply& reply : std::exchange(group.controls, {}))
    reply.done(reply.outcome);
}

void Release::apply(Group& group, store::GroupAt at, Board& board, Board::Changes& changes,
                    std::vector<Courier::Errand>& errands) {
  std::uint64_t ordinal = group.first_ordinal - 1;
  for (Item& item : group.items) {
    if (auto* note = std::get_if<Note>(&item.what)) {
      const store::BytesAt stands{at.segment, at.offset + item.note_at, item.note_size};
      if (const auto* described = std::get_if<TaskDescribed>(note)) {
        keep_spec_on_disk(*described->card, stands);
      } else if (const auto* again = std::get_if<TaskRedescribed>(note)) {
        keep_spec_on_disk(*again->card, stands);
      } else if (auto* carried = std::get_if<SpecCarried>(note)) {
        keep_spec_on_disk(*carried, stands);
      }
      board.apply(*note);
    } else if (const auto* event = std::get_if<core::Event>(&item.what)) {
      decided_at_ = event->now;
      board.apply(*event, ++ordinal, changes);
    } else if (auto* action = std::get_if<core::Action>(&item.what)) {
      if (const auto* instant = std::get_if<core::Instant>(action)) decided_at_ = instant->at;
      board.apply(*action, {decided_at_, ++ordinal}, changes);
      Courier::note(*action, decided_at_, board, errands);
    } else if (auto* message = std::get_if<ToAgentMessage>(&item.what)) {
      Courier::Errand errand;
      errand.what = std::move(*message);
      errands.push_back(std::move(errand));
    }
  }
}

}  // namespace berth::service
