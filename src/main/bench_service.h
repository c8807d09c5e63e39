// berth bench service: a server of its own as a process, on free ports and a real disk, and a load
// from this process. Figures are what a client sees: every acknowledged task is durable.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "base/result.h"

namespace berth::main {

struct ServiceBenchOptions {
  std::filesystem::path folder;  // made and removed; on the disk to be measured
  int outstanding = 256;         // unary calls under way
  std::uint64_t unary_tasks = 60'000;
  std::uint64_t stream_tasks = 940'000;
  int streams = 2;
  int per_message = 256;
  std::uint64_t end_to_end_tasks = 300'000;
  std::uint64_t paced_rate = 10'000;  // tasks a second, for the time to dispatch
  int paced_seconds = 5;
  std::function<void(const std::string&)> progress;
};

struct Percentiles {
  double p50 = 0.0;
  double p99 = 0.0;
};

struct ServiceBenchResult {
  double submit_unary_per_s = 0.0;
  double submit_stream_per_s = 0.0;
  double end_to_end_per_s = 0.0;
  double restart_s = 0.0;  // from the start of the process until it serves, after an orderly stop
  std::uint64_t restart_live_tasks = 0;
  Percentiles submit_ms;
  Percentiles dispatch_ms;
  double paced_per_s = 0.0;  // what the pace really was
};

Result<ServiceBenchResult> bench_service(const ServiceBenchOptions& options);

}  // namespace berth::main
