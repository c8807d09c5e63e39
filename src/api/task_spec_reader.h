// From a berth.v1.TaskSpec to a service::NewTask: checks every field and says every error at once.
//
// Pure: no clock, no names, no network; the same input gives the same answer. Names of queues and
// of other tasks are resolved later, by the sequencer. Knows neither gRPC nor HTTP.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/limits.h"
#include "api/problem.h"
#include "base/names.h"
#include "base/time.h"
#include "berth/v1/task.pb.h"
#include "service/commands.h"
#include "service/notes.h"

namespace berth::api {

// What is wrong with an id that a client chose, beside what is wrong with any name; "": nothing.
// Those of the form t-NUMBER belong to the server.
std::string flaw_in_task_id(std::string_view id);

struct SpecContext {
  std::string tenant;  // whose task it is
  std::string path;    // stands before the fields in errors: "task."
  std::string request_id;
  Time now;                    // absolute instants are compared with it
  service::ClockMapped clock;  // by which they become engine time
  SpecLimits limits;
};

std::variant<service::NewTask, std::vector<FieldFlaw>> read_task_spec(const v1::TaskSpec& spec,
                                                                      const SpecContext& context);

// The first field in which two specs differ, "retry.attempts"; "": none does.
std::string first_difference(const v1::TaskSpec& a, const v1::TaskSpec& b);

}  // namespace berth::api
