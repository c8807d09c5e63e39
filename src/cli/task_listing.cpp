// See task_listing.h.
#include "cli/task_listing.h"

#include "cli/task_filter.h"
#include "cli/text.h"
#include "config/quantity.h"

namespace berth::cli {

std::string vram_or_nothing(std::int64_t mb) { return mb > 0 ? config::vram_text(mb) : ""; }

std::optional<std::int64_t> ran_ms(const v1::TaskStatus& task, std::int64_t now) {
  if (task.started_unix_ms() == 0) return std::nullopt;
  const std::int64_t end = task.ended_unix_ms() > 0 ? task.ended_unix_ms() : now;
  return end - task.started_unix_ms();
}

namespace {

using Task = v1::TaskStatus;

Cell text_cell(std::string text) { return text; }

constexpr bool kIsNumber = true;
constexpr bool kIsWide = true;
constexpr ColumnOf<Task> kTaskColumns[] = {
    {"TASK", [](const Task& task, auto) { return text_cell(shown_id(task)); }},
    {"NO",
     [](const Task& task, auto) { return integer_cell(static_cast<std::int64_t>(task.task_no())); },
     kIsNumber, kIsWide},
    {"TENANT", [](const Task& task, auto) { return text_cell(task.user_id()); }},
    {"QUEUE", [](const Task& task, auto) { return text_cell(task.task_type()); }},
    {"STATE", [](const Task& task, auto) { return state_cell_of(task); }},
    {"AGE", [](const Task& task, auto now) { return age_cell(now - task.submitted_unix_ms()); },
     kIsNumber},
    {"RAN",
     [](const Task& task, auto now) {
       const auto ran = ran_ms(task, now);
       return ran ? time_cell(*ran) : Cell("");
     },
     kIsNumber, kIsWide},
    {"POSITION",
     [](const Task& task, auto) {
       return task.has_position() ? integer_cell(static_cast<std::int64_t>(task.position()))
                                  : Cell("");
     },
     kIsNumber, kIsWide},
    {"TIER", [](const Task& task, auto) { return integer_cell(task.tier()); }, kIsNumber, kIsWide},
    {"PRIORITY", [](const Task& task, auto) { return integer_cell(task.priority()); }, kIsNumber,
     kIsWide},
    {"VRAM",
     [](const Task& task, auto) {
       return task.gpu_memory_mb() > 0 ? vram_cell(task.gpu_memory_mb()) : Cell("");
     },
     kIsNumber, kIsWide},
    {"ATTEMPTS", [](const Task& task, auto) { return integer_cell(task.attempts()); }, kIsNumber,
     kIsWide},
    {"GROUP", [](const Task& task, auto) { return text_cell(task.group()); }, false, kIsWide},
    {"GPUS", [](const Task& task, auto) { return text_cell(joined(task.gpus())); }},
    {"REASON", [](const Task& task, auto) { return text_cell(reason_text(task)); }},
};

}  // namespace

Listing list_of(const v1::ListTasksResponse& answer, std::int64_t now) {
  return listing_of<Task>(answer.tasks(), kTaskColumns, now);
}

}  // namespace berth::cli
