// TaskFinder: one task by the id its tenant gave it or by its number, live or ended, if the caller
// may see it. What a caller may not see is not found.
#pragma once

#include <string>
#include <variant>

#include "api/caller.h"
#include "api/context.h"
#include "berth/v1/scheduler.pb.h"

namespace berth::api {

struct FoundTask {
  v1::TaskStatus status;
  bool live = false;
  service::CardPtr card;  // null: read from the history
};

struct TaskQuestion {
  std::string task_id;
  std::string user_id;
  bool with_spec = false;
  bool with_history = false;
};

std::variant<FoundTask, Problem> find_task(const ApiContext& context, const Caller& caller,
                                           const TaskQuestion& question);

// Whose tasks a filter is about: "" for all. What it names must exist, so that a slip of the pen is
// told; a tenant may be yet to come.
std::variant<std::string, Problem> tenant_in_filter(const ApiContext& context, const Caller& caller,
                                                    const v1::TaskFilter& filter);

// The spec with which a task was submitted; an error where it is no longer kept.
Result<v1::TaskSpec> spec_of(const ApiContext& context, TaskNo task);

}  // namespace berth::api
