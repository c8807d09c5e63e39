// A scenario as read from its file: statements in order of time, and the log that is expected.
//
// tests/scenarios/README.md describes the language. Reading turns names into ids and every line
// into the event it stands for; it knows nothing of what the engine will decide.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/event.h"
#include "tests/scenarios/names.h"

namespace berth::scenario {

// what() is "file:line: what was expected".
struct ScriptError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// How agents treat a task or a model, where it is not as expected.
struct TaskPlan {
  Duration stops{0};  // how long it takes to stop when it is told to
  std::optional<Duration> takes;
  std::uint32_t failing_attempts = 0;
  core::Failure failure = core::Failure::error;
};
struct ModelPlan {
  std::optional<Duration> takes;
  std::uint32_t failing_loads = 0;
};

// Statements that are not events of their own.
struct Explain {
  TaskNo task;
};
struct ShowGroup {
  GroupId group;
};
struct ShowTenant {
  TenantId tenant;
};
// The agent reports one running task ended, now.
struct EndTask {
  core::TaskOutcome outcome;
};
// Nothing after this instant is played.
struct Stop {};

using Deed = std::variant<core::EventBody, Explain, ShowTenant, ShowGroup, EndTask, Stop>;

struct Statement {
  int line = 0;
  Time at;
  Deed deed;
};

struct Script {
  std::string given;  // the text above the line of dashes
  std::vector<Statement> statements;
  std::vector<std::string> expected;
  Names names;
  std::map<TaskNo, TaskPlan> task_plans;
  std::map<ModelId, ModelPlan> model_plans;
  bool shows_charges = false;
};

inline constexpr std::string_view kDivider = "----";

// Throws ScriptError.
Script read_script(const std::string& path, const std::string& text);

}  // namespace berth::scenario
