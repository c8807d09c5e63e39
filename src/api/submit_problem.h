// What the ways of submitting share: reading a request, and the words for what was not accepted.
#pragma once

#include <string>
#include <variant>

#include "api/caller.h"
#include "api/context.h"
#include "api/outcomes.h"
#include "berth/v1/scheduler.pb.h"

namespace berth::api {

std::variant<service::NewTask, Problem> read_submit(const ApiContext& context, const Caller& caller,
                                                    const v1::SubmitTaskRequest& request,
                                                    const std::string& path);
std::variant<service::NewTask, Problem> read_spec(const ApiContext& context, const Caller& caller,
                                                  const v1::TaskSpec& spec,
                                                  const std::string& request_id,
                                                  const std::string& path);

// It is there, now or already before.
inline bool is_good(const service::SubmitOutcome& outcome) {
  using enum service::SubmitOutcome::Kind;
  return outcome.kind == accepted || outcome.kind == duplicate;
}

// The id of a task that is there: the one its client chose, or "t-NUMBER".
inline std::string accepted_id(const service::TaskCard& card, TaskNo task) {
  return card.id.empty() ? "t-" + std::to_string(task.value) : card.id;
}

// `card` is of the task that was not accepted. May read the other task's spec from disk.
Problem submit_problem(const ApiContext& context, const service::SubmitOutcome& outcome,
                       const service::TaskCard& card, const Submitter& submitter);

// Why the service took no command: its ring is full, or it stops.
Problem not_taken(const ApiContext& context);

}  // namespace berth::api
