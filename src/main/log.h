// The server's log: one line per fact on standard error, as text or as JSON. Never a secret, never
// a task's payload.
#pragma once

#include <string>

namespace berth::main {

// level: debug, info, warning, error. format: text, json.
void set_up_log(const std::string& level, const std::string& format);
void log_info(const std::string& message);
void log_warning(const std::string& message);

}  // namespace berth::main
