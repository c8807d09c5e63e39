// Live tasks and their steps as messages of the public API. Reads names from the board: under the
// view's lock.
#pragma once

#include <string>

#include "berth/v1/scheduler.pb.h"
#include "service/board.h"
#include "service/reason_text.h"

namespace berth::api {

v1::TaskState state_message(core::TaskState state);

// How much of a task is told. Reasons name work of other tenants only to those who see all.
struct StatusDetail {
  bool with_history = false;
  bool sees_all = false;
};

// For whom a reason about the task is.
service::ReasonFor reader_of(const service::TaskCard& card, bool sees_all);

// Everything but the spec, and what only the engine knows: the expected start, and why a task waits
// unless that was recorded or is seen from here.
void fill_status(v1::TaskStatus& status, const service::TaskLine& line, const StatusDetail& detail,
                 const service::Board& board);
v1::TaskEvent event_message(const service::TaskChange& change, bool sees_all,
                            const service::Board& board);

// By the wall clock; 0 for never, and for what has not been.
std::int64_t unix_ms(Time time, const service::Board& board);

// Which tasks a filter means. `tenant`: only its tasks; "": of all tenants.
class TaskMatcher {
 public:
  TaskMatcher(const v1::TaskFilter& filter, std::string tenant)
      : filter_(filter), tenant_(std::move(tenant)) {}

  bool matches(const service::TaskCard& card, core::TaskState state,
               const service::Names& names) const;
  // The same without the state, for what may change it.
  bool matches(const service::TaskCard& card, const service::Names& names) const;

 private:
  v1::TaskFilter filter_;
  std::string tenant_;
};

}  // namespace berth::api
