// How long the oldest pending task of each queue has waited.
//
// Looks at the oldest live tasks only, a bounded number: tasks become eligible nearly in the order
// of their numbers. With more live tasks than that, a queue whose tasks are all newer is left out.
#pragma once

#include <map>
#include <string>

#include "api/context.h"

namespace berth::api {

std::map<std::string, Duration> oldest_waits(const ApiContext& context);

}  // namespace berth::api
