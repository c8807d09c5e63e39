// Attempts and labels as JSON text, which SQL can look into, and back.
//
// Reads exactly what it writes (one spelling for each value), since only the history writes it.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/ended_task.h"

namespace berth::store {

std::string attempts_to_json(std::span<const EndedAttempt> attempts);
std::optional<std::vector<EndedAttempt>> attempts_from_json(std::string_view json);

std::string labels_to_json(const std::map<std::string, std::string>& labels);
std::optional<std::map<std::string, std::string>> labels_from_json(std::string_view json);

}  // namespace berth::store
