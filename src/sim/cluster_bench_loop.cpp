// See cluster_bench_loop.h.
#include "sim/cluster_bench_loop.h"

#include <algorithm>
#include <ctime>
#include <utility>
#include <variant>

#include "core/model/ranges.h"
#include "core/state/state.h"

namespace berth::sim {
namespace {

constexpr std::uint32_t kRackNodes = 16;
constexpr std::uint32_t kIslandGpus = 4;
constexpr Milli kNodeCpu{96'000};
constexpr Mib kNodeMemory{1024 * 1024};
constexpr Mib kGpuVram{80 * 1024};

core::GpuSpec gpu_of(std::uint32_t number) {
  core::GpuSpec gpu;
  gpu.node = NodeId{number / kBenchNodeGpus};
  gpu.vram = kGpuVram;
  gpu.island = IslandId{number / kIslandGpus};
  gpu.socket = static_cast<std::uint8_t>(number % kBenchNodeGpus / kIslandGpus);
  gpu.pcie_switch = static_cast<std::uint8_t>(number % kBenchNodeGpus / 2);
  return gpu;
}

}  // namespace

std::int64_t thread_cpu_ns() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

ClusterLoop::ClusterLoop(const ClusterSize& size, std::uint64_t seed) : rng_(seed) { build(size); }

void ClusterLoop::build(const ClusterSize& size) {
  core::PolicySpec policy;
  policy.packing = core::Packing::frag;
  policy.max_live_tasks = core::kLiveTasksMax;
  step(core::SetPolicy{policy});
  for (std::uint32_t i = 0; i < size.tenants; ++i) {
    const bool plain = size.specs.empty();
    step(core::PutTenant{TenantId{i},
                         plain ? core::TenantSpec{} : size.specs[i % size.specs.size()]});
  }
  step(core::PutQueue{QueueId{0}, {}});
  for (std::uint32_t i = 0; i < size.nodes; ++i)
    step(core::PutNode{NodeId{i}, {RackId{i / kRackNodes}, kNodeCpu, kNodeMemory}});
  for (std::uint32_t i = 0; i < size.nodes * kBenchNodeGpus; ++i)
    step(core::PutGpu{GpuId{i}, gpu_of(i)});
  reset();
}

TaskNo ClusterLoop::submit(const core::TaskSpec& spec) {
  const TaskNo task = engine_.next_task_no();
  step(core::Submit{task, spec});
  report_starts();
  return task;
}

void ClusterLoop::cancel(TaskNo task) {
  step(core::Cancel{task});
  report_starts();
}

void ClusterLoop::submit_at(Time at, const core::TaskSpec& spec) {
  due_.add(at, 0, {LeaseId::none(), spec});
}

bool ClusterLoop::turn() {
  const Time wakeup = engine_.next_wakeup();
  if (due_.empty() && wakeup == Time::never()) return false;
  if (due_.empty() || wakeup < due_.top().at) {
    now_ = std::max(now_, wakeup);
    step(core::Tick{});
    report_starts();
    return true;
  }
  const auto due = due_.pop();
  now_ = std::max(now_, due.at);
  if (!due.item.lease) {
    submit(due.item.task);
    return true;
  }
  step(core::LeaseEnded{due.item.lease, {}});
  report_starts();
  for (; ended_ > 0; --ended_)
    on_end();
  return true;
}

void ClusterLoop::wait_until(Time at) {
  while (std::min(engine_.next_wakeup(), due_.empty() ? Time::never() : due_.top().at) < at)
    turn();
  now_ = at;
}

// Agents obey at once.
void ClusterLoop::report_stops() {
  while (!stopping_.empty()) {
    const LeaseId lease = stopping_.back();
    stopping_.pop_back();
    step(core::LeaseEnded{lease, {}});
  }
}

void ClusterLoop::report_starts() {
  report_stops();
  while (!started_.empty()) {
    const LeaseId lease = started_.back();
    started_.pop_back();
    step(core::LeaseStarted{lease});
    report_stops();
  }
}

void ClusterLoop::step(core::EventBody body) {
  event_.now = now_;
  event_.body = std::move(body);
  actions_.clear();
  const std::int64_t begin = thread_cpu_ns();
  engine_.step(event_, actions_);
  for (const core::Action& action : actions_)
    hash_.add(action);
  step_ns_.push_back(thread_cpu_ns() - begin);
  listen();
}

void ClusterLoop::listen() {
  for (const core::Action& action : actions_) {
    if (const auto* batch = std::get_if<core::BatchStarted>(&action)) {
      ++starts_;
      ++running_;
      started_.push_back(batch->lease);
      // Between nine and eleven tenths of what was expected.
      const std::int64_t ran = batch->expected.ns / 1000 * rng_.between(900, 1100);
      due_.add(now_ + Duration{ran}, 0, {batch->lease, {}});
    } else if (const auto* ended = std::get_if<core::TaskFinished>(&action)) {
      if (ended->state != core::TaskState::completed) continue;
      --running_;
      ++ended_;
    } else if (const auto* stop = std::get_if<core::StopTask>(&action)) {
      if (stopping_.empty() || stopping_.back() != stop->lease) stopping_.push_back(stop->lease);
    } else if (const auto* back = std::get_if<core::TaskDeferred>(&action)) {
      if (back->reason.code != core::ReasonCode::preempted) continue;
      --running_;
      ++preempted_;
      preempting_ns_max_ = std::max(preempting_ns_max_, step_ns_.back());
    } else if (std::holds_alternative<core::TaskRefused>(action)) {
      ++refusals_;
    }
  }
}

std::uint64_t ClusterLoop::waiting() const { return engine_.state().tasks.live() - running_; }

void ClusterLoop::reset() {
  step_ns_.clear();
  starts_ = 0;
}

ClusterLoop::Spent ClusterLoop::spent() {
  Spent spent;
  spent.steps = step_ns_.size();
  if (step_ns_.empty()) return spent;
  std::sort(step_ns_.begin(), step_ns_.end());
  std::int64_t all = 0;
  for (const std::int64_t ns : step_ns_)
    all += ns;
  spent.cpu_s = static_cast<double>(all) * 1e-9;
  spent.step_ns_p50 = step_ns_[step_ns_.size() / 2];
  spent.step_ns_p99 = step_ns_[step_ns_.size() * 99 / 100];
  spent.step_ns_max = step_ns_.back();
  return spent;
}

}  // namespace berth::sim
