// FieldNames: the API's names of fields as the person at the shell knows them. What the server says
// of "task.deadline_unix_ms" is said of --deadline, or of the key of a workflow's file.
//
// One table holds the three names of each field of a task. A name that the command does not know
// stays as the server said it.
#pragma once

#include <string>
#include <string_view>

#include "cli/commands.h"

namespace berth::cli {

class FieldNames {
 public:
  explicit FieldNames(const Command& command) : command_(command) {}

  // "task.deadline_unix_ms" -> "--deadline"; "tasks[1].gpu_memory_mb" -> "tasks[1].vram".
  std::string of(std::string_view field) const;
  // A sentence with each such name in it; what stands in quotes is a person's and stays.
  std::string in_sentence(std::string_view text) const;

 private:
  bool has_flag(std::string_view flag) const;
  std::string flag_of(std::string_view field) const;  // "": the command has none
  std::string known_name(std::string_view field) const;

  const Command& command_;
};

}  // namespace berth::cli
