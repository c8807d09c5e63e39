// Server-sent events: the text of a stream of task events.
#pragma once

#include <string>

#include "api/problem.h"
#include "berth/v1/scheduler.pb.h"

namespace berth::api {

inline constexpr const char* kSseType = "text/event-stream";
inline constexpr const char* kSseKeepAlive = ": keep-alive\n\n";

// Sent first: how long a client waits before it comes again.
std::string sse_opening();
// With the event's sequence number as its id, so that Last-Event-ID resumes behind it.
std::string sse_event(const v1::TaskEvent& event);
std::string sse_log(const v1::LogChunk& chunk);
std::string sse_problem(const Problem& problem);

}  // namespace berth::api
