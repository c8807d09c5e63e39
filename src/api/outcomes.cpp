// See outcomes.h.
#include "api/outcomes.h"

#include <algorithm>

#include "api/caller.h"
#include "api/task_status.h"
#include "config/diagnostics.h"

namespace berth::api {
namespace {

bool is_tenants_limit(core::ReasonCode code) {
  using enum core::ReasonCode;
  return code == tenant_queue_full || code == tokens_short || code == daily_tokens_spent;
}

std::string quoted(const std::string& name) { return "\"" + name + "\""; }

Problem spent_signals(const core::Reason& reason, const std::string& tenant) {
  const std::string most = std::to_string(reason.have);
  return {.code = Code::resource_exhausted,
          .reason = "too_many_signals",
          .message = "tenant " + quoted(tenant) + " has " + std::to_string(reason.need - 1) +
                     " signals that are awaited or given, and may have " + most +
                     "; reset those that are done with (berth signals), or raise "
                     "limits.max_signals",
          .metadata = {{"need", std::to_string(reason.need)}, {"have", most}, {"subject", tenant}},
          .retry_after = seconds(60),
          .quota_subject = "tenant:" + tenant};
}

}  // namespace

v1::Reason reason_message(const core::Reason& reason, const service::Board& board,
                          const service::ReasonFor& whom) {
  v1::Reason message;
  if (!reason) return message;
  const service::ReasonWords words = service::words_of(reason, board, whom);
  message.set_code(words.code);
  message.set_message(words.message);
  message.set_need(reason.need);
  message.set_have(reason.have);
  message.set_unit(words.unit);
  message.set_subject(words.subject);
  message.set_never(words.never);
  message.set_retry_at_unix_ms(unix_ms(reason.at, board));
  return message;
}

Code code_of(core::ReasonCode code) {
  using enum core::ReasonCode;
  switch (code) {
    case unknown_tenant:
    case unknown_queue:
    case unknown_task:
    case dependency_unknown:
      return Code::not_found;
    case bad_spec:
    case dependency_cycle:
      return Code::invalid_argument;
    case bad_number:
      return Code::internal;
    case tenant_queue_full:
    case cluster_queue_full:
    case tokens_short:
    case daily_tokens_spent:
    case would_start_late:
      return Code::resource_exhausted;
    default:
      return Code::failed_precondition;
  }
}

Problem problem_of(const core::Reason& reason, const service::Board& board, Time now) {
  const service::ReasonWords words = service::words_of(reason, board);
  Problem problem{.code = code_of(reason.code), .reason = words.code, .message = words.message};
  if (reason.need != 0 || reason.have != 0) {
    problem.metadata["need"] = std::to_string(reason.need);
    problem.metadata["have"] = std::to_string(reason.have);
  }
  if (!words.unit.empty()) problem.metadata["unit"] = words.unit;
  if (!words.subject.empty()) problem.metadata["subject"] = words.subject;
  if (problem.code == Code::resource_exhausted) {
    if (reason.at != Time::never() && reason.at > now) {
      problem.retry_after = reason.at - now;
      problem.message += "; again in " + service::time_words(*problem.retry_after);
    } else if (reason.code != core::ReasonCode::daily_tokens_spent) {
      problem.retry_after = seconds(1);
    }
  }
  if (is_tenants_limit(reason.code)) problem.quota_subject = "tenant:" + words.subject;
  return problem;
}

std::uint64_t live_tasks(const service::Board& board, QueueId queue) {
  const service::QueueLine& line = board.queues()[queue.value];
  return line.waiting + line.pending + line.running;
}

bool is_forgotten(const service::Board& board, TenantId tenant) {
  return board.names().tenants()[tenant.value].removed;
}

bool is_forgotten(const service::Board& board, QueueId queue) {
  return board.names().queues()[queue.value].removed && live_tasks(board, queue) == 0;
}

bool is_forgotten(const service::Board& board, ModelId model) {
  if (!board.names().models()[model.value].removed) return false;
  for (std::uint32_t i = 0; i < board.names().queues().size(); ++i) {
    const bool names_it = board.names().queues()[i].spec.model == model;
    if (names_it && !is_forgotten(board, QueueId{i})) return false;
  }
  return std::ranges::none_of(board.gpus(),
                              [&](const auto& gpu) { return gpu.models.contains(model); });
}

namespace {

// A tenant that left the configuration is there still, with the defaults.
Problem kept_by_configuration(const std::string& noun, const std::string& name) {
  std::string message = noun + " " + quoted(name);
  if (noun == "tenant" && name == kDefaultTenant) {
    message += " is built in and cannot be deleted";
  } else {
    message +=
        " is in the server's configuration, which would bring it back; take it out of the file";
    if (noun == "queue") message += " (a built-in queue: builtin_queues = false)";
    message += " and run 'berth reload'";
    if (noun == "tenant") message += ", then delete it";
  }
  return {.code = Code::failed_precondition,
          .reason = noun + "_in_configuration",
          .message = std::move(message),
          .metadata = {{"subject", name}}};
}

Problem in_use(const service::ControlOutcome& outcome) {
  return {.code = Code::failed_precondition,
          .reason = outcome.noun + "_in_use",
          .message = outcome.noun + " " + quoted(outcome.name) + " " + outcome.flaw,
          .metadata = {{"subject", outcome.name},
                       {"have", std::to_string(outcome.count)},
                       {"unit", outcome.unit}}};
}

Problem short_of_room(const core::Reason& reason, const std::string& what_to_do) {
  const std::string free = std::to_string(reason.have);
  const std::string reserve = std::to_string(reason.need);
  return {.code = Code::resource_exhausted,
          .reason = "disk_short",
          .message = "the server's data disk has " + free + " MiB free and keeps " + reserve +
                     " MiB for what it has taken already (store.reserve): this was not taken now "
                     "(what was acknowledged before stands); free room on that disk, then " +
                     what_to_do,
          .metadata = {{"need", reserve}, {"have", free}, {"unit", "MiB"}},
          .retry_after = seconds(5)};
}

// `what` is "the task is taken".
Problem in_doubt(const std::string& what, const std::string& what_to_do) {
  return {.code = Code::unavailable,
          .reason = "outcome_unknown",
          .message = "the server cannot write its journal at the moment, and whether " + what +
                     " is not known yet; " + what_to_do,
          .retry_after = seconds(2)};
}

}  // namespace

Problem problem_of(const service::SubmitOutcome& outcome, const Submitter& submitter,
                   const service::Board& board, Time now) {
  const std::string& tenant = submitter.tenant;
  using enum service::SubmitOutcome::Kind;
  switch (outcome.kind) {
    case conflict:
      return {.code = Code::already_exists,
              .reason = outcome.by_request_id ? "request_id_reused" : "task_exists",
              .message = outcome.by_request_id
                             ? "the request_id was used before, for other content"
                             : "the task_id belongs to a task with other content"};
    case unknown_queue:
      return no_such("queue", outcome.what, names_in(board.names().queues()));
    case removed_queue: {
      const std::uint64_t live = live_tasks(board, board.names().queue(outcome.what));
      if (live == 0) return no_such("queue", outcome.what, names_in(board.names().queues()));
      return {.code = Code::failed_precondition,
              .reason = "queue_removed",
              .message = "queue " + quoted(outcome.what) +
                         " is not in the configuration any more: it finishes the " +
                         std::to_string(live) + (live == 1 ? " task" : " tasks") +
                         " it has and takes no new ones",
              .metadata = {{"subject", outcome.what}, {"have", std::to_string(live)}}};
    }
    case run_limit_over_queue:
      return {.code = Code::invalid_argument,
              .reason = "run_limit_over_queue",
              .message = "the run limit is " + service::time_words(Duration{outcome.reason.need}) +
                         "; tasks of queue " + quoted(outcome.what) + " may run for at most " +
                         service::time_words(Duration{outcome.reason.have}),
              .metadata = {{"subject", outcome.what},
                           {"need", std::to_string(outcome.reason.need)},
                           {"have", std::to_string(outcome.reason.have)},
                           {"unit", "ns"}}};
    case unknown_gpu_kind: {
      const std::vector<std::string>& known = board.names().kinds();
      Problem problem = no_such("gpu_kind", outcome.what, known);
      problem.message = "gpu_kinds names " + quoted(outcome.what) + ", and no GPU is of that kind" +
                        config::suggestion(outcome.what, known);
      return problem;
    }
    case unknown_tenant: {
      const std::vector<std::string> known = names_in(board.names().tenants());
      Problem problem =
          no_such("tenant", tenant, submitter.sees_all ? known : std::vector<std::string>());
      problem.message += problem.message.ends_with('?') ? " If not, an admin" : "; an admin";
      problem.message += " makes it with 'berth put tenant " + tenant + "'";
      return problem;
    }
    case unknown_dependency:
      return api::unknown_dependency(outcome.what, tenant);
    case tier_denied:
      return {.code = Code::permission_denied,
              .reason = "tier_denied",
              .message = "tier " + std::to_string(outcome.reason.need) + " is not open to tenant " +
                         quoted(tenant) + "; its best is " + std::to_string(outcome.reason.have),
              .metadata = {{"need", std::to_string(outcome.reason.need)},
                           {"have", std::to_string(outcome.reason.have)},
                           {"subject", tenant}}};
    case queue_forbids_commands:
      return {.code = Code::permission_denied,
              .reason = "commands_forbidden",
              .message = "queue " + quoted(outcome.what) +
                         " takes no commands; submit a payload, use another queue, or ask an "
                         "admin: berth put queue " +
                         outcome.what + " --commands true",
              .metadata = {{"subject", outcome.what}}};
    case queue_needs_command:
      return {.code = Code::failed_precondition,
              .reason = "command_needed",
              .message = "queue " + quoted(outcome.what) +
                         " runs commands (executor \"process\") and this task has none; submit it "
                         "with a command, use another queue, or ask an admin: berth put queue " +
                         outcome.what + " --executor simulated",
              .metadata = {{"subject", outcome.what}}};
    case tenant_forbids_commands:
      return {.code = Code::permission_denied,
              .reason = "commands_forbidden",
              .message =
                  "tenant " + quoted(outcome.what) + " may run no commands" +
                  (outcome.what == tenant ? ""
                                          : ", nor may those below it, such as " + quoted(tenant)) +
                  "; submit a payload, or ask an admin: berth put tenant " + outcome.what +
                  " --commands true",
              .metadata = {{"subject", outcome.what}}};
    case too_many_tenants:
      return {.code = Code::resource_exhausted,
              .reason = "too_many_tenants",
              .message = "tenant " + quoted(tenant) +
                         " is new and no more are made by submitting; use an existing one, or ask "
                         "an admin to make it",
              .metadata = {{"subject", tenant}}};
    case no_room:
      return short_of_room(outcome.reason,
                           "submit again, and if an earlier try may have come through, with the "
                           "same request_id");
    case in_doubt:
      return api::in_doubt("the task is taken",
                           "submit it again with the same request_id: that gives the same task, "
                           "never a second one");
    case too_many_signals:
      return spent_signals(outcome.reason, tenant);
    case too_many_dependencies:
      return {.code = Code::invalid_argument,
              .reason = "too_many_dependencies",
              .message = "with all tasks of array " + quoted(outcome.what) + " this submit has " +
                         std::to_string(outcome.reason.need) + " dependencies; the limit is " +
                         std::to_string(outcome.reason.have) +
                         ". Submit one small task that depends on the array, and let the others "
                         "depend on that task",
              .metadata = {{"subject", outcome.what}}};
    case group_in_use:
      return {.code = Code::already_exists,
              .reason = "group_in_use",
              .message = "group " + quoted(outcome.what) +
                         " has tasks already, and an array is a group of its own; give the array "
                         "another id, or wait for the end of those tasks",
              .metadata = {{"subject", outcome.what}}};
    default:
      return problem_of(outcome.reason, board, now);
  }
}

Problem problem_of(const service::ControlOutcome& outcome, const service::Board& board, Time now) {
  if (outcome.kind == service::ControlOutcome::Kind::refused) {
    return problem_of(outcome.reason, board, now);
  }
  if (outcome.kind == service::ControlOutcome::Kind::not_submittable) {
    return problem_of(outcome.submit, Submitter{}, board, now);
  }
  if (outcome.kind == service::ControlOutcome::Kind::bad_tree) {
    return bad_field("config.parent", outcome.flaw);
  }
  if (outcome.kind == service::ControlOutcome::Kind::too_many_classes) {
    return bad_field("config.work_class", outcome.flaw);
  }
  if (outcome.kind == service::ControlOutcome::Kind::too_many_signals) {
    return spent_signals(outcome.reason, outcome.name);
  }
  if (outcome.kind == service::ControlOutcome::Kind::not_given) {
    return {.code = Code::failed_precondition,
            .reason = "signal_not_given",
            .message = "signal " + quoted(outcome.name) +
                       " was not given, so there is nothing to " + "reset; " +
                       std::to_string(outcome.count) +
                       (outcome.count == 1 ? " task waits" : " tasks wait") + " for it",
            .metadata = {{"subject", outcome.name}, {"have", std::to_string(outcome.count)}}};
  }
  if (outcome.kind == service::ControlOutcome::Kind::bad_setting) {
    return bad_field("config", outcome.flaw);
  }
  if (outcome.kind == service::ControlOutcome::Kind::in_use) return in_use(outcome);
  if (outcome.kind == service::ControlOutcome::Kind::in_configuration) {
    return kept_by_configuration(outcome.noun, outcome.name);
  }
  if (outcome.kind == service::ControlOutcome::Kind::no_room) {
    return short_of_room(outcome.reason, "ask again");
  }
  if (outcome.kind == service::ControlOutcome::Kind::in_doubt) {
    return in_doubt("this is done",
                    "it may still be, when the disk has room; look then (berth status, berth "
                    "config show), or ask again: asking twice does no harm");
  }
  std::vector<std::string> known;  // of tenants nobody is told
  if (outcome.noun == "queue") known = names_in(board.names().queues());
  if (outcome.noun == "model") known = names_in(board.names().models());
  if (outcome.noun == "gpu") known = names_in(board.names().gpus());
  return no_such(outcome.noun, outcome.name, known);
}

Problem no_such(const std::string& noun, const std::string& name,
                const std::vector<std::string>& known) {
  Problem problem{
      .code = Code::not_found,
      .reason = "unknown_" + noun,
      .message = "there is no " + std::string(noun == "gpu" ? "GPU" : noun) + " " + quoted(name),
      .metadata = {{"subject", name}}};
  if (const std::string nearest = config::nearest_name(name, known); !nearest.empty())
    problem.metadata["nearest"] = nearest;
  problem.message += config::suggestion(name, known);
  return problem;
}

Problem unknown_dependency(const std::string& name, const std::string& tenant) {
  Problem problem = no_such("task", name);
  problem.reason = "dependency_unknown";
  problem.message =
      "depends_on names " + quoted(name) + ", and tenant " + quoted(tenant) + " has no such task";
  return problem;
}

Problem too_busy() {
  return {.code = Code::resource_exhausted,
          .reason = "server_busy",
          .message = "the server has more requests than it can take at the moment; try again",
          .retry_after = milliseconds(50)};
}

Problem stopping() {
  return {.code = Code::unavailable,
          .reason = "stopping",
          .message = "the server is stopping; try again when it is back",
          .retry_after = seconds(2)};
}

}  // namespace berth::api
