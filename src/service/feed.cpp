// See feed.h.
#include "service/feed.h"

#include <algorithm>

#include "service/sequence_number.h"

namespace berth::service {

void Feed::add(std::vector<TaskChange>&& changes, std::uint64_t ordinal) {
  std::vector<std::shared_ptr<const std::function<void()>>> wakes;
  {
    const std::lock_guard lock(mutex_);
    for (TaskChange& change : changes)
      ring_.push_back(std::move(change));
    while (ring_.size() > capacity_) {
      before_ring_ = ring_.front().sequence;
      ring_.pop_front();
    }
    last_ = sequence_behind(ordinal);
    if (changes.empty()) return;
    for (const auto& [number, wake] : sleepers_)
      wakes.push_back(wake);
  }
  // Outside the lock: a call may be the last to know its stream, which then forgets its number.
  for (const auto& wake : wakes)
    (*wake)();
}

Feed::Answer Feed::read(std::uint64_t after, std::size_t most) const {
  const std::lock_guard lock(mutex_);
  Answer answer;
  answer.oldest = before_ring_;
  answer.last = last_;
  if (after < before_ring_) {
    answer.too_old = true;
    return answer;
  }
  for (auto at = std::ranges::upper_bound(ring_, after, {}, &TaskChange::sequence);
       at != ring_.end(); ++at) {
    if (answer.changes.size() >= most) {
      answer.last = answer.changes.back().sequence;
      break;
    }
    answer.changes.push_back(*at);
  }
  return answer;
}

std::uint64_t Feed::last() const {
  const std::lock_guard lock(mutex_);
  return last_;
}

void Feed::begin_at(std::uint64_t ordinal) {
  const std::lock_guard lock(mutex_);
  before_ring_ = last_ = sequence_behind(ordinal);
}

std::uint64_t Feed::wake_on_news(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  sleepers_.emplace(next_subscription_,
                    std::make_shared<const std::function<void()>>(std::move(wake)));
  return next_subscription_++;
}

void Feed::forget(std::uint64_t subscription) {
  const std::lock_guard lock(mutex_);
  sleepers_.erase(subscription);
}

}  // namespace berth::service
