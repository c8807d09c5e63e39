// See disk_room.h.
#include "service/disk_room.h"

#include "store/file.h"

namespace berth::service {

namespace {

template <class Outcome>
Outcome with_numbers(const ShortRoom& room, typename Outcome::Kind kind) {
  Outcome outcome;
  outcome.kind = kind;
  outcome.reason.need = static_cast<std::int64_t>(room.reserve_bytes >> 20);
  outcome.reason.have = static_cast<std::int64_t>(room.free_bytes >> 20);
  return outcome;
}

}  // namespace

SubmitOutcome outcome_without(const ShortRoom& room, SubmitOutcome::Kind kind) {
  return with_numbers<SubmitOutcome>(room, kind);
}
ControlOutcome outcome_without(const ShortRoom& room, ControlOutcome::Kind kind) {
  return with_numbers<ControlOutcome>(room, kind);
}

// A disk that cannot be asked keeps nobody out: the journal's own writes will tell.
bool DiskRoom::look(std::uint64_t segment, Clock::time_point now) {
  if (looked_ && now - *looked_ < kEvery && segment == segment_) return false;
  looked_ = now;
  segment_ = segment;
  const Result<std::uint64_t> free = store::free_bytes(folder_);
  free_.store(free ? *free : UINT64_MAX, std::memory_order_relaxed);
  return true;
}

void DiskRoom::stall(Clock::time_point now) {
  if (!stalled_.exchange(true, std::memory_order_relaxed)) stalled_since_ = now;
}

bool DiskRoom::is_out_of_patience(Clock::time_point now) const {
  return is_stalled() && now - stalled_since_ >= kPatience;
}

std::optional<ShortRoom> DiskRoom::shortage() const {
  const ShortRoom room{free_bytes(), reserve_};
  const bool enough = !is_stalled() && has_spare_.load(std::memory_order_relaxed) &&
                      room.free_bytes >= room.reserve_bytes;
  return enough ? std::nullopt : std::optional(room);
}

}  // namespace berth::service
