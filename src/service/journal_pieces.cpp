// See journal_pieces.h.
#include "service/journal_pieces.h"

#include <algorithm>
#include <utility>

namespace berth::service {

Result<Feed::Answer> JournalPieces::read(std::uint64_t after, std::size_t most) {
  const std::lock_guard lock(mutex_);
  const Piece* piece = find(after);
  if (piece == nullptr) {
    Result<Feed::Answer> found = read_(after, kPieceSteps);
    if (!found || found->too_old) return found;
    if (pieces_.size() == kPieces) pieces_.pop_front();
    piece = &pieces_.emplace_back(Piece{after, std::move(*found)});
  }
  const std::vector<TaskChange>& changes = piece->answer.changes;
  const auto first = std::ranges::upper_bound(changes, after, {}, &TaskChange::sequence);
  const auto count = std::min(most, static_cast<std::size_t>(changes.end() - first));
  Feed::Answer answer{.oldest = piece->answer.oldest, .last = piece->answer.last};
  answer.changes.assign(first, first + static_cast<std::ptrdiff_t>(count));
  if (first + static_cast<std::ptrdiff_t>(count) != changes.end()) {
    answer.last = answer.changes.back().sequence;
  }
  return answer;
}

const JournalPieces::Piece* JournalPieces::find(std::uint64_t after) const {
  const auto at = std::ranges::find_if(pieces_, [&](const Piece& piece) {
    return piece.after <= after && after < piece.answer.last;
  });
  return at == pieces_.end() ? nullptr : &*at;
}

}  // namespace berth::service
