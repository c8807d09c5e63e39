// From the service's outcomes to Problems: which status code, which details, in which words.
//
// Functions that take a Board read names from it: call them under the view's lock, never on the
// release thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/problem.h"
#include "berth/v1/scheduler.pb.h"
#include "service/board.h"
#include "service/commands.h"
#include "service/reason_text.h"

namespace berth::api {

v1::Reason reason_message(const core::Reason& reason, const service::Board& board,
                          const service::ReasonFor& whom = {});

// The code under which a refusal for this reason is told.
Code code_of(core::ReasonCode code);

Problem problem_of(const core::Reason& reason, const service::Board& board, Time now);
// Of a submit that was neither accepted nor a duplicate. A conflict's differing field is added by
// the caller, who can read the first task's spec.
struct Submitter {
  std::string tenant;
  bool sees_all = false;  // then the names of other tenants may be told
};
Problem problem_of(const service::SubmitOutcome& outcome, const Submitter& submitter,
                   const service::Board& board, Time now);
Problem problem_of(const service::ControlOutcome& outcome, const service::Board& board, Time now);

// Tasks of the queue that have not ended.
std::uint64_t live_tasks(const service::Board& board, QueueId queue);

// What was deleted, and a queue or model that left the configuration and that nothing uses any
// more, is not shown any more.
bool is_forgotten(const service::Board& board, TenantId tenant);
bool is_forgotten(const service::Board& board, QueueId queue);
bool is_forgotten(const service::Board& board, ModelId model);

// The names of tenants, queues, models or GPUs, but for those that were removed.
template <class Entries>
std::vector<std::string> names_in(const Entries& entries) {
  std::vector<std::string> names;
  names.reserve(entries.size());
  for (const auto& entry : entries) {
    if constexpr (requires { entry.removed; }) {
      if (entry.removed) continue;
    }
    names.push_back(entry.name);
  }
  return names;
}

// NOT_FOUND for `noun "name"`, with the name nearest to it if one is near.
Problem no_such(const std::string& noun, const std::string& name,
                const std::vector<std::string>& known = {});

Problem unknown_dependency(const std::string& name, const std::string& tenant);

// The service takes nothing more for the moment; or, when it stops, at all.
Problem too_busy();
Problem stopping();

}  // namespace berth::api
