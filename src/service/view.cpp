// See view.h.
#include "service/view.h"

#include <algorithm>

namespace berth::service {

GpuReading View::reading(GpuId gpu) const {
  const std::lock_guard lock(readings_mutex_);
  const auto at = readings_.find(gpu);
  return at == readings_.end() ? GpuReading{} : at->second;
}

void View::set_reading(GpuId gpu, const GpuReading& reading) {
  const std::lock_guard lock(readings_mutex_);
  readings_[gpu] = reading;
}

void View::remember_ended(const std::vector<TaskLine>& ended) {
  const std::lock_guard lock(ended_mutex_);
  for (const TaskLine& line : ended)
    ended_.insert_or_assign(line.card->task, line);
}

void View::forget_ended(std::span<const TaskNo> tasks) {
  const std::lock_guard lock(ended_mutex_);
  for (const TaskNo task : tasks)
    ended_.erase(task);
}

std::optional<TaskLine> View::find_ended(TaskNo task) const {
  const std::lock_guard lock(ended_mutex_);
  const auto at = ended_.find(task);
  if (at == ended_.end()) return std::nullopt;
  return at->second;
}

std::uint64_t View::oldest_needed_segment() const {
  std::uint64_t oldest = read([](const Board& board) { return board.oldest_needed_segment(); });
  const std::lock_guard lock(ended_mutex_);
  for (const auto& [task, line] : ended_) {
    if (line.card->spec_at.size > 0) oldest = std::min(oldest, line.card->spec_at.segment);
  }
  return oldest;
}

std::vector<CardPtr> View::large_specs_before(std::uint64_t segment, std::size_t most) const {
  constexpr std::size_t kLinesAtOnce = 16'384;
  std::vector<CardPtr> cards;
  TaskNo next{0};
  for (bool more = true; more && cards.size() < most;) {
    more = read([&](const Board& board) {
      std::size_t looked = 0;
      bool cut = false;
      board.tasks().each_from(next, [&](const TaskLine& line) {
        cut = ++looked > kLinesAtOnce || cards.size() == most;
        if (cut) return false;
        next.value = line.card->task.value + 1;
        const store::BytesAt& at = line.card->spec_at;
        if (at.size > 0 && at.segment < segment) cards.push_back(line.card);
        return true;
      });
      return cut;
    });
  }
  return cards;
}

std::vector<TaskLine> View::ended_below(std::uint64_t below, std::size_t most) const {
  const std::lock_guard lock(ended_mutex_);
  std::vector<TaskLine> lines;
  auto at = below == 0 ? ended_.end() : ended_.lower_bound(TaskNo{below});
  while (at != ended_.begin() && lines.size() < most)
    lines.push_back((--at)->second);
  return lines;
}

}  // namespace berth::service
