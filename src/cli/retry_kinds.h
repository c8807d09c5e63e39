// The failures of tasks, and those that a retry rule names, in small letters, in the order of the
// API's enumerators.
#pragma once

#include <string>
#include <vector>

#include "berth/v1/task.pb.h"

namespace berth::cli {

// "error", "out_of_memory", …; "": a newer server's, which is not known here.
inline std::string failure_name(v1::FailureKind kind) {
  std::string name = v1::FailureKind_Name(kind);
  for (char& c : name)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

// Those that a retry rule may name.
inline std::vector<std::string> retry_kind_names() {
  std::vector<std::string> names;
  for (int kind = v1::ERROR; kind <= v1::INFRASTRUCTURE; ++kind)
    names.push_back(failure_name(static_cast<v1::FailureKind>(kind)));
  return names;
}

// The one at this place in the list of names.
inline v1::FailureKind retry_kind(std::size_t place) {
  return static_cast<v1::FailureKind>(v1::ERROR + static_cast<int>(place));
}

}  // namespace berth::cli
