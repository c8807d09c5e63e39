// The arithmetic of simulated batches and the JSON of their results.
#include "agent/simulated.h"

#include <algorithm>
#include <string_view>

#include "base/units.h"

namespace berth::agent {
namespace {

void append_json_string(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out += kHex[static_cast<unsigned char>(c) >> 4];
      out += kHex[static_cast<unsigned char>(c) & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

Duration on_reference(const berth::v1::Lease& lease) {
  if (lease.batch_base_us() > 0 || lease.batch_per_task_us() > 0) {
    return microseconds(lease.batch_base_us() + lease.batch_per_task_us() * lease.tasks_size());
  }
  std::int64_t longest_ms = 0;
  for (const berth::v1::LeasedTask& task : lease.tasks()) {
    longest_ms = std::max(longest_ms, task.spec().expected_run_ms());
  }
  return milliseconds(longest_ms);
}

}  // namespace

Duration simulated_duration(const berth::v1::Lease& lease, std::uint32_t speed_milli,
                            double time_scale) {
  if (time_scale <= 0) return {};
  Duration duration{scale(on_reference(lease).ns, 1000, speed_milli)};
  if (duration.ns <= 0) duration = milliseconds(std::max<std::int64_t>(0, lease.expected_ms()));
  return {static_cast<std::int64_t>(static_cast<double>(duration.ns) * time_scale)};
}

std::string simulated_result(const berth::v1::Lease& lease, const std::string& gpu, Duration ran) {
  std::string json = "{\"simulated\":true,\"queue\":";
  append_json_string(json, lease.queue());
  json += ",\"model\":";
  append_json_string(json, lease.model());
  json += ",\"batch\":" + std::to_string(lease.tasks_size()) + ",\"gpu\":";
  append_json_string(json, gpu);
  json += ",\"run_ms\":" + std::to_string(ran.ns / 1'000'000) + "}";
  return json;
}

}  // namespace berth::agent
