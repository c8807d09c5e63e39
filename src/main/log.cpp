// See log.h.
#include "main/log.h"

#include <memory>

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "base/json.h"

namespace berth::main {
namespace {

// Text that came from outside may hold anything; one fact stays on one line.
std::string on_one_line(const std::string& message) {
  std::string out;
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\u{:04x}", byte);
    } else {
      out += c;
    }
  }
  return out;
}

bool as_json = false;

std::string logged_text(const std::string& message) {
  return as_json ? json_quoted(message) : on_one_line(message);
}

}  // namespace

void set_up_log(const std::string& level, const std::string& format) {
  auto logger = std::make_shared<spdlog::logger>(
      "berth", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  as_json = format == "json";
  logger->set_pattern(as_json ? R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","message":%v})"
                              : "%Y-%m-%d %H:%M:%S.%e %^%l%$ %v");
  logger->set_level(spdlog::level::from_str(level));
  logger->flush_on(spdlog::level::trace);
  spdlog::set_default_logger(std::move(logger));
}

void log_info(const std::string& message) { spdlog::info(logged_text(message)); }
void log_warning(const std::string& message) { spdlog::warn(logged_text(message)); }

}  // namespace berth::main
