// Ended tasks: from those the history does not have yet, then from the history. May read from disk.
// A row that is damaged is an error that names it: never a task that is not there, nor a shorter
// list.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/context.h"
#include "api/problem.h"
#include "base/result.h"
#include "berth/v1/scheduler.pb.h"

namespace berth::api {

struct EndedDetail {
  bool with_spec = false;
  bool with_history = false;
  bool sees_all = false;  // as in StatusDetail
};

using FoundEnded = Result<std::optional<v1::TaskStatus>>;
FoundEnded find_ended(const ApiContext& context, TaskNo task, const EndedDetail& detail);
// By the id its tenant gave it; of several, over time, the newest.
FoundEnded find_ended(const ApiContext& context, const std::string& tenant,
                      const std::string& task_id, const EndedDetail& detail);

// Newest first, below a number (0: from the newest). `tenant` "": all.
struct EndedPage {
  std::vector<v1::TaskStatus> tasks;
  std::uint64_t next = 0;  // go on below this number; 0: there are no more
};
Result<EndedPage> list_ended(const ApiContext& context, const v1::TaskFilter& filter,
                             const std::string& tenant, std::uint64_t below, std::size_t most);

// GPU time by day, tenant and queue, of the last `days` days; each line with the sums of all below
// its tenant.
Result<std::vector<v1::UsageLine>> usage_lines(const ApiContext& context, const std::string& tenant,
                                               int days);

// What a caller is told of such an error.
Problem damaged_history(const Error& error);

}  // namespace berth::api
