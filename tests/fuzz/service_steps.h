// A life of a service as bytes: steps one after another, each a byte for its kind, two for its
// length, and its content: a request or an agent's message as protobuf, or a number. Bytes that are
// no steps end the life; content that is no message is a step that does nothing, as at the door.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "api/task_spec_reader.h"
#include "berth/v1/scheduler.pb.h"
#include "core/model/ranges.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/message_mutator.h"
#include "tests/fuzz/service_world.h"

namespace berth::fuzz {

enum class StepKind : std::uint8_t {
  submit,
  workflow,
  report,    // of the agent
  stranger,  // an agent's message by one who is none
  cooperate,
  wait,
  cancel,
  hold,
  release,
  resolve,
  drain_gpu,
  return_gpu,
  end_session,
};
inline constexpr std::uint64_t kStepKinds = 13;

struct Step {
  StepKind kind = StepKind::cooperate;
  std::string content;
};

inline std::vector<Step> steps_of(std::string_view bytes) {
  constexpr std::size_t kHead = 3;
  constexpr std::size_t kMost = 100;
  std::vector<Step> steps;
  while (bytes.size() >= kHead && steps.size() < kMost) {
    const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
    const std::size_t size = std::min<std::size_t>(byte(1) + 256U * byte(2), bytes.size() - kHead);
    steps.push_back(
        {static_cast<StepKind>(byte(0) % kStepKinds), std::string(bytes.substr(kHead, size))});
    bytes.remove_prefix(kHead + size);
  }
  return steps;
}

inline std::string bytes_of(const std::vector<Step>& steps) {
  std::string bytes;
  for (const Step& step : steps) {
    const std::string content = step.content.substr(0, 0xffff);
    bytes += static_cast<char>(step.kind);
    bytes += static_cast<char>(content.size() & 0xff);
    bytes += static_cast<char>(content.size() >> 8);
    bytes += content;
  }
  return bytes;
}

// ---- Living -------------------------------------------------------------------------------------

inline std::optional<service::NewTask> read_task(const v1::TaskSpec& spec,
                                                 const std::string& request_id, Time now) {
  const std::string tenant = spec.user_id().empty() ? "default" : spec.user_id();
  auto read = api::read_task_spec(
      spec, {.tenant = tenant, .path = "task.", .request_id = request_id, .now = now});
  if (const auto* flaws = std::get_if<std::vector<api::FieldFlaw>>(&read)) {
    check(!flaws->empty(), "a refusal says why");
    for (const api::FieldFlaw& flaw : *flaws)
      check(!flaw.field.empty() && !flaw.flaw.empty(), "a flaw names its field and says what");
    return std::nullopt;
  }
  auto& task = std::get<service::NewTask>(read);
  check(core::flaw_in(task.spec) == nullptr, "what was read is in range for the core");
  return std::move(task);
}

inline void submit(ServiceWorld& world, const std::string& content) {
  v1::SubmitTaskRequest request;
  if (!request.ParseFromString(content)) return;
  std::vector<service::NewTask> tasks;
  if (auto task = read_task(request.task(), request.request_id(), world.now())) {
    tasks.push_back(std::move(*task));
    world.submit(std::move(tasks), false);
  }
}

inline void submit_workflow(ServiceWorld& world, const std::string& content) {
  v1::SubmitWorkflowRequest request;
  if (!request.ParseFromString(content) || request.tasks().empty()) return;
  std::vector<service::NewTask> tasks;
  for (const v1::TaskSpec& spec : request.tasks()) {
    auto task = read_task(spec, tasks.empty() ? request.request_id() : "", world.now());
    if (!task) return;
    tasks.push_back(std::move(*task));
  }
  world.submit(std::move(tasks), true);
}

inline void live(ServiceWorld& world, const Step& step) {
  std::uint64_t number = 0;  // of microseconds an hour or so: what runs is charged by the minute
  for (const char c : step.content.substr(0, 4))
    number = number * 256 + static_cast<std::uint8_t>(c);
  const TaskNo task{number};
  const std::string gpu = "gpu-" + std::to_string(number % 2);
  switch (step.kind) {
    case StepKind::submit:
      return submit(world, step.content);
    case StepKind::workflow:
      return submit_workflow(world, step.content);
    case StepKind::report:
    case StepKind::stranger: {
      v1::AgentMessage message;
      if (!message.ParseFromString(step.content)) return;
      return world.say(step.kind == StepKind::stranger, std::move(message));
    }
    case StepKind::cooperate:
      return world.cooperate();
    case StepKind::wait:
      return world.wait(microseconds(static_cast<std::int64_t>(number)));
    case StepKind::cancel:
      return world.control(service::CancelTasks{{task}});
    case StepKind::hold:
      return world.control(service::HoldTask{task});
    case StepKind::release:
      return world.control(service::ReleaseTask{task});
    case StepKind::resolve:
      return world.control(service::ResolveSignal{"default", "s"});
    case StepKind::drain_gpu:
      return world.control(service::SetGpuDraining{gpu, true});
    case StepKind::return_gpu:
      return world.control(service::SetGpuDraining{gpu, false});
    case StepKind::end_session:
      return world.end_session(number % 2 == 1);
  }
}

// ---- Changing -----------------------------------------------------------------------------------

// One more change to the content of a step.
inline void change(Step& step, Random& random) {
  MessageMutator mutator(
      random, {"llm",     "big",   "m",    "GPU-0",    "GPU-1", "gpu-0", "local",   "other",
               "default", "alice", "test", "island",   "node",  "rack",  "1g.10gb", "a",
               "b",       "t-1",   "t-2",  "signal:s", "TERM",  "/",     ""});
  const auto change_as = [&](google::protobuf::Message&& message) {
    if (!message.ParseFromString(step.content)) message.Clear();
    for (std::uint64_t left = 1 + random.below(4); left > 0; --left)
      mutator.change(message);
    step.content = message.SerializeAsString();
  };
  switch (step.kind) {
    case StepKind::submit:
      return change_as(v1::SubmitTaskRequest());
    case StepKind::workflow:
      return change_as(v1::SubmitWorkflowRequest());
    case StepKind::report:
    case StepKind::stranger:
      return change_as(v1::AgentMessage());
    case StepKind::wait:
      step.content.clear();
      for (std::uint64_t left = random.below(5); left > 0; --left)
        step.content += static_cast<char>(random.below(256));
      return;
    default:
      step.content = std::string(1, static_cast<char>(random.below(8)));
  }
}

// What usually happens: tasks that can run, an agent that comes back or reports on what it may
// have.
inline v1::SubmitTaskRequest usual_task(Random& random) {
  v1::SubmitTaskRequest request;
  request.mutable_task()->set_task_type(random.below(2) == 0 ? "llm" : "big");
  request.mutable_task()->set_payload("x");
  request.mutable_task()->set_gpu_memory_mb(static_cast<std::int64_t>(random.below(20'000)));
  request.mutable_task()->set_expected_run_ms(static_cast<std::int64_t>(random.below(9'000)));
  return request;
}

inline v1::SubmitWorkflowRequest usual_workflow(Random& random) {
  v1::SubmitWorkflowRequest request;
  for (const char* id : {"a", "b"}) {
    v1::TaskSpec& task = *request.add_tasks();
    task.set_task_id(id + std::to_string(random.below(9)));
    task.set_task_type("llm");
    task.set_payload("x");
  }
  request.mutable_tasks(1)->add_depends_on(request.tasks(0).task_id());
  return request;
}

inline v1::Hello usual_hello(Random& random) {
  v1::Hello hello;
  hello.set_protocol_high(1);
  hello.set_node(random.below(4) == 0 ? "other" : "local");
  hello.set_incarnation(1);
  for (std::uint64_t i = random.below(3); i > 0; --i) {
    v1::Gpu& gpu = *hello.add_gpus();
    gpu.set_uuid("GPU-" + std::to_string(random.below(4)));
    gpu.set_name("gpu-" + std::to_string(random.below(4)));
    gpu.set_vram_mb(static_cast<std::int64_t>(random.below(80'000)));
  }
  return hello;
}

inline v1::Report usual_report(Random& random) {
  v1::Report report;
  report.set_incarnation(1);
  report.set_seq(random.below(100));
  const std::uint64_t number = random.below(6);  // of a lease or a load
  const std::string gpu = "GPU-" + std::to_string(random.below(2));
  switch (random.below(7)) {
    case 0:
      report.mutable_lease_started()->set_lease(number);
      break;
    case 1:
      report.mutable_task_ended()->set_lease(number);
      report.mutable_task_ended()->mutable_outcome()->set_task_no(random.below(8));
      break;
    case 2:
      report.mutable_lease_ended()->set_lease(number);
      break;
    case 3:
      report.mutable_model_loaded()->set_load(number);
      report.mutable_model_loaded()->set_gpu(gpu);
      report.mutable_model_loaded()->set_model("m");
      break;
    case 4:
      report.mutable_model_unloaded()->set_load(number);
      report.mutable_model_unloaded()->set_gpu(gpu);
      report.mutable_model_unloaded()->set_model("m");
      break;
    case 5:
      report.mutable_gpu_lost()->set_gpu(gpu);
      break;
    default:
      report.mutable_gpu_returned()->set_gpu(gpu);
  }
  return report;
}

inline Step usual_step(Random& random) {
  Step step{static_cast<StepKind>(random.below(kStepKinds)), ""};
  v1::AgentMessage message;
  switch (step.kind) {
    case StepKind::submit:
      step.content = usual_task(random).SerializeAsString();
      break;
    case StepKind::workflow:
      step.content = usual_workflow(random).SerializeAsString();
      break;
    case StepKind::report:
    case StepKind::stranger:
      if (random.below(3) == 0) {
        *message.mutable_hello() = usual_hello(random);
      } else {
        *message.mutable_report() = usual_report(random);
      }
      step.content = message.SerializeAsString();
      break;
    default:
      change(step, random);
  }
  return step;
}

inline void change(std::vector<Step>& steps, Random& random) {
  const std::uint64_t how = steps.empty() ? 0 : random.below(8);
  const auto at = [&](std::uint64_t more) {
    return steps.begin() + static_cast<std::ptrdiff_t>(random.below(steps.size() + more));
  };
  if (how <= 1) {
    steps.insert(at(1), usual_step(random));
  } else if (how == 2) {
    steps.erase(at(0));
  } else if (how == 3) {
    const Step twice = *at(0);
    steps.insert(at(1), twice);
  } else {
    change(*at(0), random);
  }
}

}  // namespace berth::fuzz
