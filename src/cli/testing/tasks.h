// Tasks as a server tells of them. For tests.
#pragma once

#include "berth/v1/scheduler.pb.h"
#include "cli/testing/shell.h"

namespace berth::cli::testing {

inline v1::TaskStatus pending_task() {
  v1::TaskStatus task;
  task.set_task_id("train-1");
  task.set_task_no(12);
  task.set_user_id("research");
  task.set_task_type("llm");
  task.set_state(v1::PENDING);
  task.set_submitted_unix_ms(kNow - 192'000);
  task.set_gpu_memory_mb(8192);
  task.set_position(3);
  task.mutable_reason()->set_code("vram_short");
  task.mutable_reason()->set_message("no GPU has enough free VRAM: needs 8192 MiB, a0 has 512");
  return task;
}

inline v1::TaskStatus running_task() {
  v1::TaskStatus task = pending_task();
  task.set_task_id("run");
  task.set_state(v1::RUNNING);
  task.clear_reason();
  task.clear_position();
  task.add_gpus("a0");
  task.set_attempts(1);
  task.set_started_unix_ms(kNow - 5000);
  return task;
}

}  // namespace berth::cli::testing
