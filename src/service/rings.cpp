// See rings.h.
#include "service/rings.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace berth::service {

namespace {

std::size_t bytes_of(const SubmitCommand& command) {
  std::size_t bytes = 0;
  for (const NewTask& task : command.tasks)
    bytes += task.card->spec.size();
  return bytes;
}

// At most `most` from the front.
template <class T>
std::vector<T> take_front(std::deque<T>& from, std::size_t most) {
  const auto end = from.begin() + static_cast<std::ptrdiff_t>(std::min(most, from.size()));
  std::vector<T> taken(std::make_move_iterator(from.begin()), std::make_move_iterator(end));
  from.erase(from.begin(), end);
  return taken;
}

}  // namespace

bool Rings::offer(SubmitCommand&& command) {
  const std::size_t bytes = bytes_of(command);
  const std::lock_guard lock(mutex_);
  // One command larger than the whole ring still fits into an empty one.
  const bool full = tasks_ > 0 && (tasks_ + command.tasks.size() > most_.tasks ||
                                   task_bytes_ + bytes > most_.task_bytes);
  if (closed_ || full) {
    ++refused_;
    return false;
  }
  tasks_ += command.tasks.size();
  task_bytes_ += bytes;
  submits_.push_back(std::move(command));
  wake();
  return true;
}

bool Rings::offer(ControlCommand&& command) {
  const bool is_question = std::holds_alternative<ExplainTask>(command.what) ||
                           std::holds_alternative<ReadSignals>(command.what);
  const std::lock_guard lock(mutex_);
  std::deque<ControlCommand>& ring = is_question ? questions_ : controls_;
  if (closed_ || ring.size() >= (is_question ? most_.questions : most_.controls)) {
    ++refused_;
    return false;
  }
  ring.push_back(std::move(command));
  wake();
  return true;
}

void Rings::push(AgentSaid&& said) { push_report(std::move(said)); }
void Rings::push(SessionEnded&& ended) { push_report(ended); }

void Rings::push_report(FromAgent&& report) {
  const std::lock_guard lock(mutex_);
  reports_.push_back(std::move(report));
  wake();
}

void Rings::wake() {
  if (asleep_) ready_.notify_one();
}

Rings::Helping Rings::take(Duration wait, Room room) {
  std::unique_lock lock(mutex_);
  const auto has_work = [&] {
    return poked_ || (closed_ && !told_closed_) || !reports_.empty() ||
           (room.controls && !(controls_.empty() && questions_.empty())) ||
           (room.submits && !submits_.empty());
  };
  if (!has_work() && wait.ns > 0) {
    asleep_ = true;
    constexpr std::int64_t kLongest = 3'600'000'000'000;
    ready_.wait_for(lock, std::chrono::nanoseconds(std::min(wait.ns, kLongest)), has_work);
    asleep_ = false;
  }
  poked_ = false;
  Helping helping;
  helping.reports = take_front(reports_, kUrgentHelping);
  if (room.controls) helping.controls = take_front(controls_, kUrgentHelping);
  for (std::size_t tasks = 0; room.submits && !submits_.empty() && tasks < kHelping;) {
    tasks += submits_.front().tasks.size();
    tasks_ -= submits_.front().tasks.size();
    task_bytes_ -= bytes_of(submits_.front());
    helping.submits.push_back(std::move(submits_.front()));
    submits_.pop_front();
  }
  if (room.controls) helping.questions = take_front(questions_, kQuestionHelping);
  told_closed_ = closed_;  // from now on only pokes and what is left are news
  helping.closed =
      closed_ && reports_.empty() && controls_.empty() && submits_.empty() && questions_.empty();
  return helping;
}

void Rings::poke() {
  const std::lock_guard lock(mutex_);
  poked_ = true;
  wake();
}

void Rings::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  ready_.notify_one();
}

bool Rings::is_closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
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
