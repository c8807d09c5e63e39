// See submit_problem.h.
#include "api/submit_problem.h"

#include "api/ended_tasks.h"
#include "api/task_finder.h"

namespace berth::api {
namespace {

// Names the first field in which the two tasks differ, when the first one's spec is still there.
void name_difference(const ApiContext& context, const service::SubmitOutcome& outcome,
                     const service::TaskCard& card, Problem& problem) {
  problem.metadata["task_no"] = std::to_string(outcome.task.value);
  const Result<v1::TaskSpec> stored = spec_of(context, outcome.task);
  v1::TaskSpec wanted;
  if (!stored.ok() || !wanted.ParseFromString(card.spec)) return;
  const std::string field = first_difference(*stored, wanted);
  if (field.empty()) return;
  problem.metadata["field"] = field;
  problem.message += ": " + field + " differs";
}

// Whether a task that is named by its number is one of the tenant. The sequencer finds those that
// are named by an id, and knows whose the live ones are; of those that have ended it knows only the
// end, which is nobody else's business.
bool is_own_task(const ApiContext& context, const std::string& tenant, const std::string& name) {
  const TaskNo number = service::numbered_id(name);
  if (!number) return true;
  const auto owner = context.service.view().read([&](const service::Board& board) {
    const service::TaskLine* line = board.tasks().find(number);
    if (line == nullptr) return std::string();
    return board.names().tenants()[line->card->tenant.value].name;
  });
  if (!owner.empty()) return owner == tenant;
  const auto ended = find_ended(context, number, {});
  return ended.ok() && *ended && (*ended)->user_id() == tenant;
}

}  // namespace

std::variant<service::NewTask, Problem> read_submit(const ApiContext& context, const Caller& caller,
                                                    const v1::SubmitTaskRequest& request,
                                                    const std::string& path) {
  if (!request.has_task()) return bad_field(path.substr(0, path.size() - 1), "is required");
  return read_spec(context, caller, request.task(), request.request_id(), path);
}

std::variant<service::NewTask, Problem> read_spec(const ApiContext& context, const Caller& caller,
                                                  const v1::TaskSpec& spec,
                                                  const std::string& request_id,
                                                  const std::string& path) {
  auto tenant = tenant_of(caller, spec.user_id());
  if (auto* problem = std::get_if<Problem>(&tenant)) return std::move(*problem);
  const SpecContext where{.tenant = std::move(std::get<std::string>(tenant)),
                          .path = path,
                          .request_id = request_id,
                          .now = context.now(),
                          .clock = context.clock(),
                          .limits = context.limits};
  auto read = read_task_spec(spec, where);
  if (auto* flaws = std::get_if<1>(&read)) return bad_request(std::move(*flaws));
  service::NewTask& task = std::get<0>(read);
  for (const std::string& name : task.depends_on) {
    if (!is_own_task(context, task.tenant, name)) return unknown_dependency(name, task.tenant);
  }
  if (task.has_command && context.hooks.commands_refused) {
    std::string why = context.hooks.commands_refused(task.tenant);
    if (!why.empty()) {
      return Problem{.code = Code::failed_precondition,
                     .reason = "commands_refused",
                     .message = std::move(why),
                     .metadata = {{"subject", task.tenant}}};
    }
  }
  return std::move(task);
}

Problem submit_problem(const ApiContext& context, const service::SubmitOutcome& outcome,
                       const service::TaskCard& card, const Submitter& submitter) {
  const Time now = context.now();
  Problem problem = context.service.view().read(
      [&](const service::Board& board) { return problem_of(outcome, submitter, board, now); });
  if (outcome.kind == service::SubmitOutcome::Kind::conflict) {
    name_difference(context, outcome, card, problem);
  }
  return problem;
}

Problem not_taken(const ApiContext& context) { return context.serving ? too_busy() : stopping(); }

}  // namespace berth::api
