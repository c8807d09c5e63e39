// See event_source.h.
#include "api/event_source.h"

#include <algorithm>

namespace berth::api {
namespace {

constexpr std::size_t kPieceMax = 1'000;
constexpr std::size_t kJournalPieceMax = 20'000;  // each read finds its place anew

v1::TaskFilter without_states(v1::TaskFilter filter) {
  filter.clear_states();
  return filter;
}

}  // namespace

EventSource::EventSource(ApiContext& context, const v1::TaskEventsRequest& request,
                         const std::string& tenant, bool sees_all)
    : context_(context),
      matcher_(without_states(request.filter()), tenant),
      states_(request.filter().states().begin(), request.filter().states().end()),
      follow_(request.follow()),
      sees_all_(sees_all) {
  const bool from_now = !request.from_start() && request.after_sequence() == 0;
  after_ = from_now ? context_.service.feed().last() : request.after_sequence();
}

EventSource::~EventSource() {
  if (subscription_ != 0) context_.service.feed().forget(subscription_);
}

void EventSource::wake_with(std::function<void()> wake) {
  if (follow_) subscription_ = context_.service.feed().wake_on_news(std::move(wake));
}

Piece<v1::TaskEvent> EventSource::pull() {
  service::Feed::Answer answer = context_.service.feed().read(after_, kPieceMax);
  if (after_ > answer.last) return out_of_range(answer.oldest);
  if (answer.too_old) {
    Result<service::Feed::Answer> older = context_.service.read_journal(after_, kJournalPieceMax);
    if (!older.ok()) return out_of_range(answer.oldest);
    if (older->too_old) {
      if (after_ != 0) return out_of_range(older->oldest);
      after_ = older->oldest;  // from the start means from the oldest that is kept
      return {.more = true};
    }
    answer = std::move(*older);
  }
  Piece<v1::TaskEvent> piece;
  piece.more = answer.last != after_;
  piece.ended = !follow_ && !piece.more;
  context_.service.view().read([&](const service::Board& board) {
    for (const service::TaskChange& change : answer.changes) {
      const int state = state_message(change.state);
      if (!states_.empty() && std::ranges::count(states_, state) == 0) continue;
      if (!matcher_.matches(*change.card, board.names())) continue;
      piece.messages.push_back(event_message(change, sees_all_, board));
    }
  });
  for (std::size_t i = 0; i + 1 < piece.messages.size(); ++i) {
    v1::TaskEvent& event = piece.messages[i];
    if (event.sequence() == piece.messages[i + 1].sequence()) {
      event.set_sequence(event.sequence() - 1);
    }
  }
  after_ = answer.last;
  return piece;
}

Piece<v1::TaskEvent> EventSource::out_of_range(std::uint64_t oldest) const {
  Piece<v1::TaskEvent> piece{.ended = true};
  piece.problem =
      Problem{.code = Code::out_of_range,
              .reason = "events_gone",
              .message = "events behind " + std::to_string(after_) +
                         " are not kept; the oldest that are come behind " + std::to_string(oldest),
              .metadata = {{"oldest", std::to_string(oldest)}}};
  return piece;
}

}  // namespace berth::api
