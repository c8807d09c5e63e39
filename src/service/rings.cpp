// See rings.h.
#include "service/rings.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace berth::service {

bool Rings::offer(SubmitCommand&& command) {
  const std::lock_guard lock(mutex_);
  // One command larger than the whole ring still fits into an empty one.
  const bool full = tasks_ > 0 && tasks_ + command.tasks.size() > most_tasks_;
  if (closed_ || full) {
    ++refused_;
    return false;
  }
  tasks_ += command.tasks.size();
  submits_.push_back(std::move(command));
  if (asleep_) ready_.notify_one();
  return true;
}

bool Rings::offer(ControlCommand&& command) {
  const std::lock_guard lock(mutex_);
  if (closed_ || urgent_.size() >= most_controls_) {
    ++refused_;
    return false;
  }
  push_urgent(std::move(command));
  return true;
}

void Rings::push(AgentSaid&& said) {
  const std::lock_guard lock(mutex_);
  push_urgent(std::move(said));
}

void Rings::push(SessionEnded&& ended) {
  const std::lock_guard lock(mutex_);
  push_urgent(ended);
}

void Rings::push_urgent(Urgent&& urgent) {
  urgent_.push_back(std::move(urgent));
  if (asleep_) ready_.notify_one();
}

Rings::Helping Rings::take(Duration wait, bool submits) {
  std::unique_lock lock(mutex_);
  const auto has_work = [&] {
    return poked_ || closed_ || !urgent_.empty() || (submits && !submits_.empty());
  };
  if (!has_work() && wait.ns > 0) {
    asleep_ = true;
    constexpr std::int64_t kLongest = 3'600'000'000'000;
    ready_.wait_for(lock, std::chrono::nanoseconds(std::min(wait.ns, kLongest)), has_work);
    asleep_ = false;
  }
  poked_ = false;
  Helping helping;
  while (!urgent_.empty() && helping.urgent.size() < kUrgentHelping) {
    helping.urgent.push_back(std::move(urgent_.front()));
    urgent_.pop_front();
  }
  std::size_t tasks = 0;
  while (submits && !submits_.empty() && tasks < kHelping) {
    tasks += submits_.front().tasks.size();
    helping.submits.push_back(std::move(submits_.front()));
    submits_.pop_front();
  }
  tasks_ -= tasks;
  helping.closed = closed_ && urgent_.empty() && submits_.empty();
  return helping;
}

void Rings::poke() {
  const std::lock_guard lock(mutex_);
  poked_ = true;
  if (asleep_) ready_.notify_one();
}

void Rings::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  ready_.notify_one();
}

std::size_t Rings::waiting_tasks() const {
  const std::lock_guard lock(mutex_);
  return tasks_;
}

std::uint64_t Rings::refused() const {
  const std::lock_guard lock(mutex_);
  return refused_;
}

}  // namespace berth::service
