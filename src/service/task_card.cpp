// See task_card.h.
#include "service/task_card.h"

#include <charconv>

namespace berth::service {

std::string id_of(const TaskCard& card) {
  return card.id.empty() ? "t-" + std::to_string(card.task.value) : card.id;
}

TaskNo numbered_id(std::string_view id) {
  if (!id.starts_with("t-") || id.size() == 2) return TaskNo::none();
  TaskNo task;
  const char* end = id.data() + id.size();
  const auto [rest, error] = std::from_chars(id.data() + 2, end, task.value);
  return error == std::errc{} && rest == end ? task : TaskNo::none();
}

}  // namespace berth::service
