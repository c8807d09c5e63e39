// Arrays as a whole: found by their ids, and their tasks counted by state. Reads the view, what has
// just ended, and the history. What a caller may not see is not found.
#pragma once

#include <optional>
#include <string>

#include "api/caller.h"
#include "api/context.h"
#include "base/result.h"
#include "berth/v1/scheduler.pb.h"

namespace berth::api {

struct FoundArray {
  std::string id;
  std::string tenant;
  service::ArrayEntry tasks;
};

// None: the tenant has no array of this id, or it was forgotten.
std::optional<FoundArray> find_array(const ApiContext& context, const std::string& tenant,
                                     const std::string& id);
// As a caller asks for it. Where a task has the id, the task is meant: look for that first.
std::optional<FoundArray> find_array(const ApiContext& context, const Caller& caller,
                                     const std::string& task_id, const std::string& user_id);

// The status of the whole. None: nothing is known of its tasks any more. An error: the history
// cannot be read.
Result<std::optional<v1::TaskStatus>> array_status(const ApiContext& context,
                                                   const FoundArray& array);

// Its tasks that have not ended.
std::vector<TaskNo> live_tasks_of(const ApiContext& context, const FoundArray& array);

}  // namespace berth::api
