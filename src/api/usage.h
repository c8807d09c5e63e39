// Usage: what the history's rows say of tenants, queues and days, summed up the tree of tenants as
// it stands now. Knows rows and parents; reads nothing.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "berth/v1/scheduler.pb.h"
#include "store/history.h"

namespace berth::api {

// The tenant's parent by name; "": it has none, or nobody knows it any more.
using ParentOf = std::function<std::string(const std::string& tenant)>;

// A line for each row, and one for every tenant above that has none of its own; each with the sums
// of its tenant and all below it. The newest day first, then by tenant and queue.
std::vector<v1::UsageLine> usage_with_below(const std::vector<store::UsageLine>& rows,
                                            const ParentOf& parent_of);

}  // namespace berth::api
