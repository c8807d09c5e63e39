// See task_end.h.
#include "cli/task_end.h"

#include "cli/task_filter.h"
#include "cli/text.h"

namespace berth::cli {
namespace {

int failure_code(const v1::TaskStatus& task) {
  const v1::TaskResult& result = task.result();
  if (task.attempts() == 0) return kFailed;
  if (result.failure() == v1::TIMEOUT) return kTaskOverran;
  if (result.term_signal() > 0) return kSignalBase + result.term_signal();
  const int status = result.exit_status() & 0xff;
  return status == 0 ? kFailed : status;
}

}  // namespace

bool is_held_by_server(const v1::TaskStatus& task) {
  return task.state() == v1::WAITING && task.reason().code() == "poison_held";
}

bool is_settled(const v1::TaskStatus& task) {
  return has_ended(task.state()) || is_held_by_server(task);
}

int end_code(const v1::TaskStatus& task) {
  switch (task.state()) {
    case v1::COMPLETED:
      return kOk;
    case v1::CANCELLED:
      return kTaskCancelled;
    case v1::EXPIRED:
      return kTaskExpired;
    case v1::FAILED:
      return failure_code(task);
    default:
      return kTaskHeld;
  }
}

int tell_end(const Session& session, const TaskName& name, const v1::TaskStatus& task) {
  const int code = end_code(task);
  if (code == kOk) return code;
  const std::string why = harmless(reason_text(task));
  const std::string words = words_of(name);
  if (task.has_array()) {
    return complain(session.console(),
                    "array " + name.id + ": " + why + "\nnext: berth tasks --unfold --state " +
                        state_name(task.state()) + " --group" + words,
                    code);
  }
  if (code != kTaskHeld) {
    return complain(session.console(),
                    "task " + name.id + " " + state_name(task.state()) + ": " + why +
                        "\nnext: berth status" + words,
                    code);
  }
  const std::string last = result_text(task.result());
  return complain(session.console(),
                  "the server holds task " + name.id + ": " + why +
                      (last.empty() ? "" : "\nits last attempt: " + harmless(last)) +
                      "\nnext: berth release" + words + " lets it start again, berth cancel" +
                      words + " ends it",
                  code);
}

}  // namespace berth::cli
