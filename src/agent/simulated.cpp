// The arithmetic of simulated batches and the JSON of their results.
#include "agent/simulated.h"

#include <algorithm>

#include "base/json.h"
#include "base/units.h"

namespace berth::agent {
namespace {

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
  JsonWriter json(0);
  json.begin_object();
  json.member("simulated", true).member("queue", lease.queue()).member("model", lease.model());
  json.member("batch", lease.tasks_size()).member("gpu", gpu);
  json.member("run_ms", ran.ns / 1'000'000);
  return json.end_object().text();
}

}  // namespace berth::agent
