// Ended tasks with every field filled, for the tests of the history.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "journal/testing/random_values.h"
#include "store/ended_task.h"

namespace berth::store::testing {

inline constexpr std::int64_t kSecond = 1'000'000'000;
inline constexpr std::int64_t kDay = 86'400 * kSecond;
inline constexpr std::int64_t kStart = 20'000 * kDay;  // 2024-10-04

inline EndedTask ended_task(std::uint64_t no) {
  journal::testing::Random random(no);
  EndedTask task;
  task.task_no = no;
  task.task_id = "task-" + std::to_string(no);
  task.tenant = no % 3 == 0 ? "ann" : "bob";
  task.queue = no % 2 == 0 ? "llm" : "embedding";
  task.group = no % 5 == 0 ? "night" : "";
  task.state = no % 4 == 0 ? "failed" : "completed";
  if (no % 4 == 0) task.reason = {"run_limit", 10, 12, "ns", "gpu-0", "ran \"too\" long\n\x01"};
  task.tier = 1;
  task.priority = -3;
  task.vram_mb = 8'192;
  task.gpus = 1;
  task.share = 500;
  task.submitted_ns = kStart + static_cast<std::int64_t>(no) * kSecond;
  task.eligible_ns = task.submitted_ns + 5;
  task.started_ns = task.submitted_ns + 2 * kSecond;
  task.ended_ns = task.started_ns + kSecond;
  task.attempts = {{1, no * 10, {"n1/0", "n1/1"}, task.started_ns, task.ended_ns, "lost", 1, 700},
                   {2, no * 10 + 1, {}, task.started_ns, task.ended_ns, "completed", 0, 1'300}};
  task.charge_us = 2'000;
  task.wait_ns = 2 * kSecond;
  task.labels = {{"team", "vision \\ \"a\""}, {"x", ""}};
  task.outcome = {task.state == "completed", "", 3, 15, "ended", no % 2 == 0};
  task.expires_ns = no % 10 == 0 ? 0 : task.ended_ns + kDay;
  task.spec = journal::testing::random_bytes(random, 40);
  task.result = journal::testing::random_bytes(random, no % 7);
  return task;
}

inline std::vector<EndedTask> ended_tasks(std::uint64_t from, std::uint64_t to) {
  std::vector<EndedTask> tasks;
  for (std::uint64_t no = from; no <= to; ++no) {
    tasks.push_back(ended_task(no));
  }
  return tasks;
}

inline EndedTask without_body(EndedTask task) {
  task.spec.clear();
  task.result.clear();
  return task;
}

}  // namespace berth::store::testing
