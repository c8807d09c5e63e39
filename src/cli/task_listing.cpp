// See task_listing.h.
#include "cli/task_listing.h"

#include "cli/task_filter.h"
#include "cli/text.h"
#include "config/quantity.h"

namespace berth::cli {

std::string vram_or_nothing(std::int64_t mb) { return mb > 0 ? config::vram_text(mb) : ""; }

std::string ran_text(const v1::TaskStatus& task, std::int64_t now) {
  if (task.started_unix_ms() == 0) return {};
  const std::int64_t end = task.ended_unix_ms() > 0 ? task.ended_unix_ms() : now;
  return time_text(end - task.started_unix_ms());
}

Listing list_of(const v1::ListTasksResponse& answer, std::int64_t now) {
  Listing listing({{"TASK"},
                   {"NO", true, true},
                   {"TENANT"},
                   {"QUEUE"},
                   {"STATE"},
                   {"AGE", true},
                   {"RAN", true, true},
                   {"POSITION", true, true},
                   {"TIER", true, true},
                   {"PRIORITY", true, true},
                   {"VRAM", true, true},
                   {"ATTEMPTS", true, true},
                   {"GROUP", false, true},
                   {"GPUS"},
                   {"REASON"}});
  for (const v1::TaskStatus& task : answer.tasks()) {
    listing.add({task.task_id(), std::to_string(task.task_no()), task.user_id(), task.task_type(),
                 state_cell_of(task), age_text(now - task.submitted_unix_ms()), ran_text(task, now),
                 task.has_position() ? std::to_string(task.position()) : "",
                 std::to_string(task.tier()), std::to_string(task.priority()),
                 vram_or_nothing(task.gpu_memory_mb()), std::to_string(task.attempts()),
                 task.group(), joined(task.gpus()), reason_text(task)});
  }
  return listing;
}

}  // namespace berth::cli
