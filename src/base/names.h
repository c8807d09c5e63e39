// Names of tenants, queues, models, tasks, groups, signals, labels, nodes and GPUs: one rule for
// the configuration, for scenarios and for the API, so that whatever a file names can be asked for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace berth {

inline constexpr std::size_t kNameMax = 200;

// What is wrong with a name; "": nothing.
std::string flaw_in_name(std::string_view name);

}  // namespace berth
