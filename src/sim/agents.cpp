// See agents.h.
#include "sim/agents.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/assert.h"
#include "base/rng.h"

namespace berth::sim {
namespace {

using Kind = PlannedReport::Kind;

constexpr std::uint64_t key(Stream stream) { return static_cast<std::uint64_t>(stream); }

}  // namespace

Agents::Agents(const Scenario& scenario, std::uint64_t seed, Plan plan)
    : scenario_(scenario),
      seed_(scenario.agents.seed.value_or(seed)),
      plan_(std::move(plan)),
      incarnations_(scenario.gpus.size(), 0),
      vram_back_(scenario.gpus.size(), Time{0}) {}

void Agents::on_task_submitted(TaskNo task, Duration run) {
  if (runs_.size() <= task.value) runs_.resize(task.value + 1);
  runs_[task.value] = run;
}

void Agents::on_action(Time now, const core::Action& action) {
  if (const auto* batch = std::get_if<core::BatchStarted>(&action); batch != nullptr) {
    start(now, *batch);
  } else if (const auto* stop = std::get_if<core::StopTask>(&action); stop != nullptr) {
    plan_(now + scenario_.agents.stop_delay,
          {.kind = Kind::task_stopped, .lease = stop->lease, .task = stop->task});
  } else if (const auto* closed = std::get_if<core::LeaseClosed>(&action); closed != nullptr) {
    leases_.erase(closed->lease);
  } else if (const auto* loading = std::get_if<core::LoadModel>(&action); loading != nullptr) {
    load(now, *loading);
  } else if (const auto* eviction = std::get_if<core::EvictModel>(&action); eviction != nullptr) {
    evict(now, *eviction);
  }
}

void Agents::start(Time now, const core::BatchStarted& batch) {
  ASSERT(!batch.tasks.empty() && (!batch.gpus.empty() || batch.node));
  Lease& lease = leases_[batch.lease];
  lease.gpus = batch.gpus;
  lease.node = batch.node;
  lease.tasks.clear();
  const Time begins = turn_of(now, batch.gpus) + scenario_.agents.start_delay;
  const Duration run = batch_time(batch);
  plan_(begins, {.kind = Kind::lease_started, .lease = batch.lease});
  for (const core::StartedTask& task : batch.tasks) {
    lease.tasks.push_back(task.task);
    double when = 1.0;
    const std::optional<core::Failure> failure = failure_of(task, when);
    if (!failure) continue;
    const auto after = static_cast<std::int64_t>(static_cast<double>(run.ns) * when);
    plan_(
        begins + Duration{after},
        {.kind = Kind::task_failed, .lease = batch.lease, .task = task.task, .failure = *failure});
  }
  plan_(begins + run, {.kind = Kind::lease_ended, .lease = batch.lease});
}

Duration Agents::batch_time(const core::BatchStarted& batch) const {
  const Queue& queue = scenario_.queues.specs[batch.queue.value];
  std::int64_t ns = 0;
  if (queue.has_batch_model()) {
    const auto tasks = static_cast<std::int64_t>(batch.tasks.size());
    ns = queue.batch_base().ns + queue.batch_per_task().ns * tasks;
  } else {
    for (const core::StartedTask& task : batch.tasks) {
      ns = std::max(ns, runs_[task.task.value].ns);
    }
  }
  const Duration whole{scale(ns, 1000, slowest_of(queue, batch.gpus).value)};
  const core::StartedTask& leader = batch.tasks.front();
  Rng rng = Rng::keyed(seed_, {key(Stream::batch), leader.task.value, leader.attempt});
  return jittered(whole, scenario_.agents.jitter, rng.unit());
}

Milli Agents::slowest_of(const Queue& queue, const std::vector<GpuId>& gpus) const {
  if (gpus.empty()) return Milli{1000};
  Milli slowest{INT64_MAX};
  for (const GpuId gpu : gpus) {
    const core::GpuSpec& spec = scenario_.gpus.specs[gpu.value].spec;
    slowest = std::min(slowest, core::speed_for(spec, queue.spec.work_class));
  }
  return slowest;
}

Duration Agents::jittered(Duration duration, double fraction, double unit) {
  const double factor = 1.0 + fraction * (2.0 * unit - 1.0);
  if (fraction == 0.0) return duration;
  return Duration{static_cast<std::int64_t>(static_cast<double>(duration.ns) * factor)};
}

std::optional<core::Failure> Agents::failure_of(const core::StartedTask& task, double& when) const {
  Rng rng = Rng::keyed(seed_, {key(Stream::failure), task.task.value, task.attempt});
  double drawn = rng.unit();
  when = rng.unit();
  for (std::size_t kind = 0; kind < core::kFailureKinds; ++kind) {
    const double rate = scenario_.agents.task_failure[kind];
    if (drawn < rate) return static_cast<core::Failure>(kind);
    drawn -= rate;
  }
  return std::nullopt;
}

void Agents::load(Time now, const core::LoadModel& action) {
  const Model& model = scenario_.models.specs[action.model.value];
  const std::uint64_t number = loads_[{action.gpu, action.model}]++;
  Rng rng = Rng::keyed(seed_, {key(Stream::load), action.gpu.value, action.model.value, number});
  const Duration nominal = model.actual_load_time.value_or(model.spec.load_time);
  const Duration took = jittered(nominal, scenario_.agents.load_jitter, rng.unit());
  plan_(turn_of(now, {action.gpu}) + took, {.kind = Kind::model_loaded,
                                            .gpu = action.gpu,
                                            .model = action.model,
                                            .load = action.load,
                                            .ok = !rng.chance(scenario_.agents.load_failure),
                                            .took = took,
                                            .incarnation = incarnations_[action.gpu.value]});
}

void Agents::evict(Time now, const core::EvictModel& action) {
  Time& back = vram_back_[action.gpu.value];
  back = std::max(back, now + scenario_.agents.unload_delay);
  plan_(back, {.kind = Kind::model_unloaded,
               .gpu = action.gpu,
               .model = action.model,
               .load = action.load,
               .incarnation = incarnations_[action.gpu.value]});
}

Time Agents::turn_of(Time now, const std::vector<GpuId>& gpus) const {
  for (const GpuId gpu : gpus)
    now = std::max(now, vram_back_[gpu.value]);
  return now;
}

void Agents::lose_gpu(GpuId gpu) {
  vram_back_[gpu.value] = Time{0};
  if (incarnations_[gpu.value] % 2 == 0) ++incarnations_[gpu.value];
  for (auto entry = leases_.begin(); entry != leases_.end();) {
    std::vector<GpuId>& gpus = entry->second.gpus;
    const bool lost = std::erase(gpus, gpu) > 0 && gpus.empty();
    entry = lost ? leases_.erase(entry) : std::next(entry);
  }
}

void Agents::return_gpu(Time now, GpuId gpu) {
  if (incarnations_[gpu.value] % 2 == 0) return;
  ++incarnations_[gpu.value];
  if (scenario_.agents.gpu_mtbf) plan_failure(now, gpu);
}

void Agents::lose_node(NodeId node) {
  for (std::uint32_t i = 0; i < scenario_.gpus.size(); ++i) {
    if (scenario_.gpus.specs[i].spec.node == node) lose_gpu(GpuId{i});
  }
  std::erase_if(leases_, [&](const auto& entry) { return entry.second.node == node; });
}

void Agents::return_node(Time now, NodeId node) {
  for (std::uint32_t i = 0; i < scenario_.gpus.size(); ++i) {
    if (scenario_.gpus.specs[i].spec.node == node) return_gpu(now, GpuId{i});
  }
}

void Agents::plan_failures() {
  if (!scenario_.agents.gpu_mtbf) return;
  for (std::uint32_t gpu = 0; gpu < scenario_.gpus.size(); ++gpu)
    plan_failure(Time{0}, GpuId{gpu});
}

void Agents::plan_failure(Time now, GpuId gpu) {
  const std::uint32_t incarnation = incarnations_[gpu.value];
  Rng rng = Rng::keyed(seed_, {key(Stream::gpu), gpu.value, incarnation});
  const double mean = static_cast<double>(scenario_.agents.gpu_mtbf->ns);
  const double ns = std::min(rng.exponential() * mean, 9e18);
  plan_(now + Duration{static_cast<std::int64_t>(ns)},
        {.kind = Kind::gpu_failed, .gpu = gpu, .incarnation = incarnation});
}

std::optional<core::EventBody> Agents::due(Time now, const PlannedReport& report) {
  switch (report.kind) {
    case Kind::lease_started:
      if (!leases_.contains(report.lease)) return std::nullopt;
      return core::LeaseStarted{report.lease};
    case Kind::task_failed:
    case Kind::task_stopped:
      return end_task(report);
    case Kind::lease_ended:
      return end_lease(report);
    case Kind::model_loaded:
      if (report.incarnation != incarnations_[report.gpu.value]) return std::nullopt;
      return core::ModelLoaded{report.gpu, report.model, report.ok, report.took, report.load};
    case Kind::model_unloaded:
      if (report.incarnation != incarnations_[report.gpu.value]) return std::nullopt;
      return core::ModelUnloaded{report.gpu, report.model, report.load};
    case Kind::gpu_failed:
      if (report.incarnation != incarnations_[report.gpu.value]) return std::nullopt;
      lose_gpu(report.gpu);
      plan_(now + scenario_.agents.gpu_repair, {.kind = Kind::gpu_repaired,
                                                .gpu = report.gpu,
                                                .incarnation = incarnations_[report.gpu.value]});
      return core::GpuLost{report.gpu};
    case Kind::gpu_repaired:
      if (report.incarnation != incarnations_[report.gpu.value]) return std::nullopt;
      return_gpu(now, report.gpu);
      return core::GpuReturned{report.gpu};
  }
  return std::nullopt;
}

std::optional<core::EventBody> Agents::end_task(const PlannedReport& report) {
  const auto found = leases_.find(report.lease);
  if (found == leases_.end()) return std::nullopt;
  std::vector<TaskNo>& tasks = found->second.tasks;
  if (std::erase(tasks, report.task) == 0) return std::nullopt;
  const core::TaskOutcome outcome{report.task, false, report.failure};
  if (!tasks.empty()) return core::TaskEnded{report.lease, outcome};
  leases_.erase(found);
  return core::LeaseEnded{report.lease, {outcome}};
}

std::optional<core::EventBody> Agents::end_lease(const PlannedReport& report) {
  if (leases_.erase(report.lease) == 0) return std::nullopt;
  return core::LeaseEnded{report.lease, {}};
}

}  // namespace berth::sim
