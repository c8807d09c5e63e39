// See sse.h.
#include "api/sse.h"

#include "api/json_messages.h"

namespace berth::api {

std::string sse_opening() { return "retry: 2000\n\n"; }

std::string sse_event(const v1::TaskEvent& event) {
  return "id: " + std::to_string(event.sequence()) + "\nevent: task\ndata: " + json_of(event) +
         "\n\n";
}

std::string sse_log(const v1::LogChunk& chunk) {
  return "event: log\ndata: " + json_of(chunk) + "\n\n";
}

std::string sse_problem(const Problem& problem) {
  std::string json = problem_json(problem, http_status_of(problem));
  json.pop_back();  // its line end
  return "event: problem\ndata: " + json + "\n\n";
}

}  // namespace berth::api
