// See event_source.h.
#include "api/event_source.h"

#include <algorithm>

#include "service/sequence_number.h"

namespace berth::api {
namespace {

constexpr std::size_t kEventsMost = 256;
constexpr std::size_t kBytesMost =
    kStreamPieceBytes / 2;  // as JSON, an event is about twice as long
constexpr std::uint64_t kStart = service::sequence_behind(0);

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
  if (request.after_sequence() != 0) {
    after_ = service::sequence_meant(request.after_sequence());
  } else {
    after_ = request.from_start() ? kStart : context_.service.feed().last();
  }
}

EventSource::~EventSource() {
  if (subscription_ != 0) context_.service.feed().forget(subscription_);
}

void EventSource::wake_with(std::function<void()> wake) {
  if (follow_) subscription_ = context_.service.feed().wake_on_news(std::move(wake));
}

std::variant<service::Feed::Answer, Problem> EventSource::read() {
  service::Feed::Answer answer = context_.service.feed().read(after_, kEventsMost);
  if (after_ > answer.last) return out_of_range(answer.oldest);
  if (!answer.too_old) return answer;
  Result<service::Feed::Answer> older = context_.service.read_journal(after_, kEventsMost);
  if (!older.ok()) return out_of_range(answer.oldest);
  if (older->too_old && after_ == kStart) {  // that means from the oldest that is kept
    after_ = older->oldest;
    older = context_.service.read_journal(after_, kEventsMost);
    if (!older.ok()) return out_of_range(answer.oldest);
  }
  if (older->too_old) return out_of_range(older->oldest);
  return std::move(*older);
}

Piece<v1::TaskEvent> EventSource::pull() {
  auto read_or = read();
  Piece<v1::TaskEvent> piece;
  if (auto* problem = std::get_if<Problem>(&read_or)) {
    piece.ended = true;
    piece.problem = std::move(*problem);
    return piece;
  }
  const auto& answer = std::get<service::Feed::Answer>(read_or);
  std::uint64_t reached = answer.last;
  context_.service.view().read([&](const service::Board& board) {
    std::size_t bytes = 0;
    for (const service::TaskChange& change : answer.changes) {
      const int state = state_message(change.state);
      if (!states_.empty() && std::ranges::count(states_, state) == 0) continue;
      if (!matcher_.matches(*change.card, board.names())) continue;
      v1::TaskEvent& event = piece.messages.emplace_back(event_message(change, sees_all_, board));
      bytes += event.ByteSizeLong();
      if (bytes < kBytesMost) continue;
      reached = change.sequence;
      return;
    }
  });
  piece.more = reached != after_;
  piece.ended = !follow_ && !piece.more;
  after_ = reached;
  return piece;
}

Problem EventSource::out_of_range(std::uint64_t oldest) const {
  const std::string after = std::to_string(after_);
  return {
      .code = Code::out_of_range,
      .reason = "events_gone",
      .message = (after_ > oldest ? "there is no event number " + after + " yet"
                                  : "the events after number " + after + " are no longer kept") +
                 "; the events that are kept come after number " + std::to_string(oldest),
      .metadata = {{"oldest", std::to_string(oldest)}}};
}

}  // namespace berth::api
