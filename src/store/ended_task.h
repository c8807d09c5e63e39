// EndedTask: what the history keeps of a task, written once, at its end. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace berth::store {

struct EndedAttempt {
  std::uint32_t number = 0;  // 1 is the first
  std::uint64_t lease = 0;
  std::vector<std::string> gpus;
  std::int64_t started_ns = 0;  // unix time, as all *_ns below but wait_ns
  std::int64_t ended_ns = 0;
  std::string outcome;  // "completed", or the kind of failure
  std::int32_t exit_status = 0;
  std::int64_t charge_us = 0;  // GPU-microseconds
  bool operator==(const EndedAttempt&) const = default;
};

// Why it did not complete; the code is empty when it did.
struct EndedReason {
  std::string code;
  std::int64_t need = 0;
  std::int64_t have = 0;
  std::string unit;
  std::string subject;
  std::string message;
  bool operator==(const EndedReason&) const = default;
};

// What the last attempt gave back, without its bytes.
struct EndedResult {
  bool completed = false;
  std::string failure;
  std::int32_t exit_status = 0;
  std::int32_t term_signal = 0;
  std::string message;
  bool simulated = false;
  bool operator==(const EndedResult&) const = default;
};

// What an attempt cost, where its lease ended after the task had.
struct SettledCharge {
  std::uint64_t task_no = 0;
  std::uint64_t lease = 0;
  std::int64_t charge_us = 0;
};

struct EndedTask {
  std::uint64_t task_no = 0;
  std::string task_id;
  std::string tenant;
  std::string queue;
  std::string group;
  std::string state;  // a terminal one: completed, failed, cancelled, expired
  EndedReason reason;
  std::uint32_t tier = 0;
  std::int32_t priority = 0;
  std::int64_t vram_mb = 0;
  std::uint32_t gpus = 0;
  std::uint32_t share = 0;
  std::int64_t submitted_ns = 0;
  std::int64_t eligible_ns = 0;
  std::int64_t started_ns = 0;  // 0: it never started
  std::int64_t ended_ns = 0;
  std::vector<EndedAttempt> attempts;
  std::int64_t charge_us = 0;
  std::int64_t wait_ns = 0;
  std::map<std::string, std::string> labels;
  EndedResult outcome;
  std::int64_t expires_ns = 0;  // until when spec and result are kept; 0: for good

  // Opaque. Both empty once they have expired, or where the reader was not asked for them.
  std::vector<std::byte> spec;
  std::vector<std::byte> result;

  bool operator==(const EndedTask&) const = default;
};

}  // namespace berth::store
