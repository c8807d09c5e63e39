// See task_filter.h.
#include "cli/task_filter.h"

#include "cli/listing.h"
#include "cli/retry_kinds.h"
#include "cli/text.h"
#include "config/diagnostics.h"

namespace berth::cli {
namespace {

std::optional<v1::TaskState> read_state(const std::string& name, Values& values) {
  std::vector<std::string> names;
  for (int number = v1::WAITING; number <= v1::EXPIRED; ++number) {
    const auto state = static_cast<v1::TaskState>(number);
    names.push_back(state_name(state));
    if (names.back() == name) return state;
  }
  values.note("--state: no state is named " + config::quoted(name) +
              config::suggestion(name, names));
  return std::nullopt;
}

}  // namespace

v1::TaskFilter read_filter(const Call& call, Values& values) {
  v1::TaskFilter filter;
  filter.set_user_id(values.text("--tenant"));
  filter.set_task_type(values.text("--queue"));
  filter.set_group(values.text("--group"));
  for (const std::string& name : call.args.values("--state")) {
    if (const auto state = read_state(name, values)) filter.add_states(*state);
  }
  for (auto& [key, value] : values.pairs("--label"))
    (*filter.mutable_labels())[key] = value;
  for (const std::string& id : call.args.values("--task"))
    filter.add_task_ids(id);
  return filter;
}

std::string tenant_words(const Call& call) {
  const auto tenant = call.args.value("--tenant");
  return tenant ? " --tenant " + shell_word(*tenant) : "";
}

std::string sentence_of(const v1::Reason& reason) {
  std::string text = reason.message().empty() ? reason.code() : reason.message();
  if (!reason.message().empty() || (reason.need() == 0 && reason.have() == 0)) return text;
  // Whether `have` is what there is or what is allowed, the message would say.
  const std::string unit = reason.unit().empty() ? "" : " " + reason.unit();
  text += ": asked for " + std::to_string(reason.need()) + unit;
  text += ", available or allowed: " + std::to_string(reason.have()) + unit;
  return reason.subject().empty() ? text : text + " (" + reason.subject() + ")";
}

std::string result_text(const v1::TaskResult& result) {
  std::string text = result.message();
  if (text.ends_with('.')) text.pop_back();
  if (text.empty() && result.term_signal() != 0)
    text = "ended by signal " + std::to_string(result.term_signal());
  if (text.empty() && result.exit_status() != 0)
    text = "exit status " + std::to_string(result.exit_status());
  if (text.empty() && result.failure() != v1::FAILURE_KIND_UNSPECIFIED)
    text = failure_name(result.failure());
  if (result.simulated()) text += text.empty() ? "simulated" : " (simulated)";
  return text;
}

// What the task's own work gave, if it ran: more than that it failed.
static std::string failure_text(const v1::TaskStatus& task) {
  const bool ran = task.attempts() > 0 && task.has_result() && !task.result().completed();
  return ran ? result_text(task.result()) : "";
}

std::string counts_text(const v1::ArrayStatus& array) {
  std::string ended;
  std::string live;
  for (const v1::StateCount& count : array.states()) {
    std::string& text = has_ended(count.state()) ? ended : live;
    const std::string part = std::to_string(count.tasks()) + " " + state_name(count.state());
    // Of those that live, the nearest to its end comes first.
    if (&text == &live)
      live = part + (live.empty() ? "" : ", " + live);
    else
      ended += (ended.empty() ? "" : ", ") + part;
  }
  return ended + (ended.empty() || live.empty() ? "" : ", ") + live;
}

std::string shown_id(const v1::TaskStatus& task) {
  constexpr std::size_t kIndicesMax = 40;
  if (!task.has_array() || task.array().indices().empty()) return task.task_id();
  const std::string& indices = task.array().indices();
  return task.task_id() + "[" +
         (indices.size() > kIndicesMax ? indices.substr(0, kIndicesMax) + "…" : indices) + "]";
}

std::string reason_text(const v1::TaskStatus& task) {
  if (task.has_array()) return counts_text(task.array());
  if (task.state() == v1::FAILED) {
    if (std::string why = failure_text(task); !why.empty()) return why;
  }
  const std::string given = sentence_of(task.reason());
  if (!given.empty()) return given;
  switch (task.state()) {
    case v1::WAITING:
      return "waits for a task, a signal or an instant, or is held";
    case v1::PENDING:
      return task.has_position() ? "waits for its turn, position " + std::to_string(task.position())
                                 : "waits for its turn";
    case v1::STARTING:
      return "the agent has not confirmed its start yet";
    case v1::FAILED:
      return "failed";
    case v1::CANCELLED:
      return "cancelled by request";
    case v1::EXPIRED:
      return "waited longer than its tolerated wait";
    default:
      return {};
  }
}

}  // namespace berth::cli
