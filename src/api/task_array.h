// Arrays: one spec that stands for many tasks, and the tasks it stands for.
//
// Pure: reads and makes specs, knows neither names nor doors. What is wrong with a spec otherwise
// is said by task_spec_reader.h, of the tasks.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/problem.h"
#include "berth/v1/task.pb.h"

namespace berth::api {

// It stands for many tasks; one of an array's tasks does not.
bool is_array(const v1::TaskSpec& spec);

// The tasks in the order of their indices, or what is wrong with the array. REQUIRES
// is_array(spec). `path` stands before the fields in errors, `most` is how many tasks there may be.
std::variant<std::vector<v1::TaskSpec>, std::vector<FieldFlaw>> tasks_of_array(
    const v1::TaskSpec& spec, std::string_view path, std::size_t most);

}  // namespace berth::api
