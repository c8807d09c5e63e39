// EventSource: the steps of tasks, from the feed; from the journal for a reader that fell behind or
// resumes from long ago; OUT_OF_RANGE when even that no longer has them.
//
// A piece is bounded in events and in bytes; what did not fit comes with the next pull.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "api/context.h"
#include "api/source.h"
#include "api/task_status.h"
#include "berth/v1/scheduler.pb.h"

namespace berth::api {

class EventSource : public Source<v1::TaskEvent> {
 public:
  // `tenant`: only its tasks; "": of all. `sees_all`: reasons may name other tenants' work.
  EventSource(ApiContext& context, const v1::TaskEventsRequest& request, const std::string& tenant,
              bool sees_all);
  ~EventSource() override;

  void wake_with(std::function<void()> wake) override;
  Piece<v1::TaskEvent> pull() override;

 private:
  Problem out_of_range(std::uint64_t oldest) const;

  // What comes behind `after_`; a problem if it is not to be had.
  std::variant<service::Feed::Answer, Problem> read();

  ApiContext& context_;
  const TaskMatcher matcher_;
  const std::vector<int> states_;
  const bool follow_;
  const bool sees_all_;
  std::uint64_t after_;  // everything up to here was given or left out
  std::uint64_t subscription_ = 0;
};

}  // namespace berth::api
