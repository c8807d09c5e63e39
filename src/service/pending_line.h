// PendingLine: the pending tasks of one queue by the instant since which they could start, so that
// the one that has waited longest is known without a search.
//
// Tasks nearly always join in that order and stand in a row; one that was put back with its earlier
// instant goes to a heap. Entries of tasks that are pending no more are left standing until they
// come first, or until they are more than the others; `is_pending(task, since)` says which those
// are. So a task costs one entry and, on average, a look or two.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"

namespace berth::service {

class PendingLine {
 public:
  void join(Time since, TaskNo task) {
    const Entry entry{since, task};
    ++pending_;
    if (row_.empty() || row_.back() <= entry) return row_.push_back(entry);
    heap_.push_back(entry);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
  }

  // The task is pending no more. REQUIRES that it joined.
  template <class IsPending>
  void leave(TaskNo task, IsPending&& is_pending) {
    --pending_;
    const auto is_over = [&](const Entry& entry) { return !is_pending(entry.second, entry.first); };
    if (!row_.empty() && row_.front().second == task) {
      while (!row_.empty() && is_over(row_.front()))
        row_.pop_front();
    }
    if (!heap_.empty() && heap_.front().second == task) {
      while (!heap_.empty() && is_over(heap_.front())) {
        std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
        heap_.pop_back();
      }
    }
    if (entries() <= 2 * pending_ + kFew) return;
    std::erase_if(row_, is_over);
    std::erase_if(heap_, is_over);
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  }

  // Since when the task could start that has waited longest; none: there is no pending task.
  std::optional<Time> oldest() const {
    if (row_.empty() && heap_.empty()) return std::nullopt;
    if (heap_.empty()) return row_.front().first;
    if (row_.empty()) return heap_.front().first;
    return std::min(row_.front().first, heap_.front().first);
  }

  std::size_t entries() const { return row_.size() + heap_.size(); }

 private:
  using Entry = std::pair<Time, TaskNo>;
  static constexpr std::size_t kFew = 64;

  std::deque<Entry> row_;
  std::vector<Entry> heap_;  // the first is the least
  std::size_t pending_ = 0;
};

}  // namespace berth::service
