// Ended tasks: from those the history does not have yet, then from the history. May read from disk.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/context.h"
#include "berth/v1/scheduler.pb.h"

namespace berth::api {

struct EndedDetail {
  bool with_spec = false;
  bool with_history = false;
  bool sees_all = false;  // as in StatusDetail
};

std::optional<v1::TaskStatus> find_ended(const ApiContext& context, TaskNo task,
                                         const EndedDetail& detail);
// By the id its tenant gave it; of several, over time, the newest.
std::optional<v1::TaskStatus> find_ended(const ApiContext& context, const std::string& tenant,
                                         const std::string& task_id, const EndedDetail& detail);

// Newest first, below a number (0: from the newest). `tenant` "": all.
struct EndedPage {
  std::vector<v1::TaskStatus> tasks;
  std::uint64_t next = 0;  // go on below this number; 0: there are no more
};
EndedPage list_ended(const ApiContext& context, const v1::TaskFilter& filter,
                     const std::string& tenant, std::uint64_t below, std::size_t most);

// GPU time by day, tenant and queue, of the last `days` days; each line with the sums of all below
// its tenant.
std::vector<v1::UsageLine> usage_lines(const ApiContext& context, const std::string& tenant,
                                       int days);

}  // namespace berth::api
