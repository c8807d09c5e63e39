// See recorder.h.
#include "sim/recorder.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

namespace berth::sim {
namespace {

double in_seconds(double ns) { return ns / 1e9; }

std::vector<ReasonCount> by_frequency(const std::map<core::ReasonCode, std::uint64_t>& counts) {
  std::vector<ReasonCount> result;
  for (const auto& [code, count] : counts) {
    const core::ReasonInfo& info = core::info_of(code);
    result.push_back({std::string(info.name), std::string(info.sentence), count});
  }
  std::ranges::stable_sort(result, std::greater<>(), &ReasonCount::tasks);
  return result;
}

}  // namespace

Recorder::Recorder(const Scenario& scenario, std::uint64_t seed)
    : scenario_(scenario),
      seed_(seed),
      gpus_(scenario.gpus.size()),
      allocated_(scenario.kinds.all().size()),
      models_(scenario.models.size()),
      queues_(scenario.queues.size()),
      use_{std::vector<double>(scenario.queues.size(), 0.0),
           std::vector<double>(scenario.tenants.size(), 0.0)} {}

void Recorder::on_event(const core::Event& event) {
  ++events_;
  // A tick by itself is nothing that happened; what it leads to is.
  if (!std::holds_alternative<core::Tick>(event.body)) now_ = event.now;
  if (const auto* submit = std::get_if<core::Submit>(&event.body); submit != nullptr) {
    on_submitted(event.now, submit->task, submit->spec);
  } else if (const auto* flow = std::get_if<core::SubmitWorkflow>(&event.body); flow != nullptr) {
    for (std::size_t i = 0; i < flow->tasks.size(); ++i) {
      on_submitted(event.now, TaskNo{flow->first.value + i}, flow->tasks[i]);
    }
  } else if (const auto* loaded = std::get_if<core::ModelLoaded>(&event.body); loaded != nullptr) {
    on_loaded(event.now, *loaded);
  } else if (const auto* gone = std::get_if<core::ModelUnloaded>(&event.body); gone != nullptr) {
    drop_model(event.now, gone->gpu, gone->model, gone->load);
  } else if (const auto* lost = std::get_if<core::GpuLost>(&event.body); lost != nullptr) {
    on_gpu_gone(event.now, lost->gpu);
  } else if (const auto* node = std::get_if<core::NodeLost>(&event.body); node != nullptr) {
    for (std::uint32_t i = 0; i < scenario_.gpus.size(); ++i) {
      if (scenario_.gpus.specs[i].spec.node == node->node) on_gpu_gone(event.now, GpuId{i});
    }
  }
}

void Recorder::on_action(Time at, const core::Action& action) {
  hash_.add(action);
  now_ = std::max(now_, at);
  if (const auto* refused = std::get_if<core::TaskRefused>(&action); refused != nullptr) {
    on_refused(*refused);
  } else if (const auto* accepted = std::get_if<core::TaskAccepted>(&action); accepted != nullptr) {
    tasks_[accepted->task.value].end = End::live;
  } else if (const auto* finished = std::get_if<core::TaskFinished>(&action); finished != nullptr) {
    on_finished(at, *finished);
  } else if (const auto* batch = std::get_if<core::BatchStarted>(&action); batch != nullptr) {
    on_batch_started(at, *batch);
  } else if (const auto* slice = std::get_if<core::SliceLost>(&action); slice != nullptr) {
    on_slice_lost(at, slice->lease, slice->gpu);
  } else if (const auto* closed = std::get_if<core::LeaseClosed>(&action); closed != nullptr) {
    on_lease_closed(at, closed->lease);
  } else if (const auto* load = std::get_if<core::LoadModel>(&action); load != nullptr) {
    on_load(at, *load);
  } else if (const auto* evict = std::get_if<core::EvictModel>(&action); evict != nullptr) {
    ++models_[evict->model.value].evictions;
  }
}

void Recorder::on_submitted(Time at, TaskNo task, const core::TaskSpec& spec) {
  if (!first_submit_) begin_window(at);
  if (tasks_.size() <= task.value) tasks_.resize(task.value + 1);
  tasks_[task.value] = {at, Time::never(), spec.queue, spec.tenant, spec.gpus == 0, End::none};
}

void Recorder::begin_window(Time at) {
  first_submit_ = at;
  for (GpuRecord& gpu : gpus_) {
    gpu.busy.restart(at);
    gpu.vram.restart(at);
  }
  for (Meter& allocated : allocated_)
    allocated.restart(at);
  cpu_.restart(at);
  memory_.restart(at);
  for (ModelRecord& model : models_) {
    model.resident.restart(at);
    model.computing.restart(at);
  }
}

void Recorder::on_refused(const core::TaskRefused& refused) {
  const std::size_t number = refused.task.value;
  if (number < tasks_.size() && tasks_[number].end == End::none) {
    tasks_[number].end = End::refused;
    ++refusals_[refused.reason.code];
  } else {
    ++refused_requests_;
  }
}

void Recorder::on_finished(Time at, const core::TaskFinished& finished) {
  TaskRecord& task = tasks_[finished.task.value];
  switch (finished.state) {
    case core::TaskState::completed:
      task.end = End::completed;
      last_completion_ = std::max(last_completion_, at);
      break;
    case core::TaskState::failed:
      task.end = End::failed;
      ++failures_[finished.reason.code];
      break;
    case core::TaskState::cancelled:
      task.end = End::cancelled;
      break;
    default:
      task.end = End::expired;
      break;
  }
}

void Recorder::on_batch_started(Time at, const core::BatchStarted& batch) {
  LeaseRecord lease{at,        batch.queue,  batch.model, batch.share, batch.vram,
                    batch.cpu, batch.memory, batch.gpus,  {}};
  cpu_.add(at, batch.cpu.value);
  memory_.add(at, batch.memory.value);
  for (const core::StartedTask& started : batch.tasks) {
    TaskRecord& task = tasks_[started.task.value];
    lease.tenants.push_back(task.tenant);
    if (task.started == Time::never()) {
      task.started = at;
    } else {
      ++retries_;
    }
  }
  QueueRecord& queue = queues_[batch.queue.value];
  ++queue.batches;
  queue.started_tasks += batch.tasks.size();
  for (const GpuId id : batch.gpus) {
    GpuRecord& gpu = gpus_[id.value];
    ++gpu.batches;
    gpu.busy.set(at, ++gpu.leases > 0 ? 1 : 0);
    gpu.vram.add(at, batch.vram.value);
    allocated_[kind_of(id)].add(at, batch.share.value);
    if (batch.model && ++computing_[{id, batch.model}] == 1) {
      Meter& computing = models_[batch.model.value].computing;
      computing.set(at, computing.level + 1);
    }
  }
  leases_[batch.lease] = std::move(lease);
}

void Recorder::release_slice(Time at, const LeaseRecord& lease, GpuId id) {
  GpuRecord& gpu = gpus_[id.value];
  gpu.busy.set(at, --gpu.leases > 0 ? 1 : 0);
  gpu.vram.add(at, -lease.vram.value);
  allocated_[kind_of(id)].add(at, -lease.share.value);
  if (lease.model && --computing_[{id, lease.model}] == 0) {
    Meter& computing = models_[lease.model.value].computing;
    computing.set(at, computing.level - 1);
  }
  use_.add(lease, at);
}

void Recorder::Use::add(const LeaseRecord& lease, Time until) {
  const double used = static_cast<double>((until - lease.started).ns) *
                      static_cast<double>(lease.share.value) / 1000.0;
  queue_ns[lease.queue.value] += used;
  for (const TenantId tenant : lease.tenants) {
    tenant_ns[tenant.value] += used / static_cast<double>(lease.tenants.size());
  }
}

void Recorder::on_slice_lost(Time at, LeaseId id, GpuId gpu) {
  const auto found = leases_.find(id);
  if (found == leases_.end() || std::erase(found->second.gpus, gpu) == 0) return;
  release_slice(at, found->second, gpu);
}

void Recorder::on_lease_closed(Time at, LeaseId id) {
  const auto found = leases_.find(id);
  if (found == leases_.end()) return;
  for (const GpuId gpu : found->second.gpus)
    release_slice(at, found->second, gpu);
  cpu_.add(at, -found->second.cpu.value);
  memory_.add(at, -found->second.memory.value);
  leases_.erase(found);
}

void Recorder::on_load(Time at, const core::LoadModel& load) {
  ++models_[load.model.value].loads;
  residency_.emplace(std::tuple(load.gpu, load.model, load.load), Residency::loading);
  Meter& vram = gpus_[load.gpu.value].vram;
  vram.set(at, vram.level + scenario_.models.specs[load.model.value].spec.weights.value);
}

void Recorder::on_loaded(Time at, const core::ModelLoaded& loaded) {
  const auto [entry, unasked] =
      residency_.emplace(std::tuple(loaded.gpu, loaded.model, loaded.load), Residency::loading);
  if (entry->second == Residency::resident) return;
  Meter& vram = gpus_[loaded.gpu.value].vram;
  if (unasked) {
    vram.set(at, vram.level + scenario_.models.specs[loaded.model.value].spec.weights.value);
  }
  if (!loaded.ok) return drop_model(at, loaded.gpu, loaded.model, loaded.load);
  entry->second = Residency::resident;
  Meter& resident = models_[loaded.model.value].resident;
  resident.set(at, resident.level + 1);
}

void Recorder::drop_model(Time at, GpuId gpu, ModelId model, LoadId load) {
  const auto found = residency_.find({gpu, model, load});
  if (found == residency_.end()) return;
  Meter& vram = gpus_[gpu.value].vram;
  vram.set(at, vram.level - scenario_.models.specs[model.value].spec.weights.value);
  if (found->second == Residency::resident) {
    Meter& resident = models_[model.value].resident;
    resident.set(at, resident.level - 1);
  }
  residency_.erase(found);
}

void Recorder::on_gpu_gone(Time at, GpuId gpu) {
  std::vector<std::pair<ModelId, LoadId>> gone;
  for (auto entry = residency_.lower_bound({gpu, ModelId{0}, LoadId{0}});
       entry != residency_.end() && std::get<GpuId>(entry->first) == gpu; ++entry) {
    gone.emplace_back(std::get<ModelId>(entry->first), std::get<LoadId>(entry->first));
  }
  for (const auto& [model, load] : gone)
    drop_model(at, gpu, model, load);
}

Report Recorder::report() const {
  Report report;
  report.scenario = scenario_.name;
  report.policy = config::order_names()[static_cast<std::size_t>(scenario_.policy.order)];
  report.seed = seed_;
  report.refusals = by_frequency(refusals_);
  report.failures = by_frequency(failures_);
  report.refused_requests = refused_requests_;
  report.retries = retries_;
  report.events = events_;
  report.actions = hash_.count();
  report.actions_hash = hash_.value();
  fill_queues_and_tenants(report);
  fill_models_and_gpus(report);
  fill_kinds_and_nodes(report);
  fill_totals(report);
  return report;
}

std::vector<TaskNo> Recorder::live_tasks() const {
  std::vector<TaskNo> live;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    if (tasks_[i].end == End::live) live.push_back(TaskNo{i});
  }
  return live;
}

void Recorder::fill_queues_and_tenants(Report& report) const {
  Use use = use_;
  for (const auto& [id, lease] : leases_) {
    for (std::size_t i = 0; i < lease.gpus.size(); ++i)
      use.add(lease, now_);
  }
  std::vector<std::vector<double>> by_queue(queues_.size());
  std::vector<std::vector<double>> by_tenant(use.tenant_ns.size());
  std::vector<double> all;
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    const QueueRecord& queue = queues_[i];
    QueueReport row;
    row.name = scenario_.queues.names[i];
    row.batches = queue.batches;
    row.gpu_seconds = in_seconds(use.queue_ns[i]);
    if (queue.batches > 0) {
      row.mean_batch_size =
          static_cast<double>(queue.started_tasks) / static_cast<double>(queue.batches);
    }
    report.queues.push_back(std::move(row));
  }
  double all_gpu_ns = 0.0;
  for (const double ns : use.tenant_ns)
    all_gpu_ns += ns;
  for (std::size_t i = 0; i < use.tenant_ns.size(); ++i) {
    TenantReport row;
    row.name = scenario_.tenants.names[i];
    row.weight = static_cast<double>(scenario_.tenants.specs[i].weight.value) / 1000.0;
    row.gpu_seconds = in_seconds(use.tenant_ns[i]);
    row.gpu_share = all_gpu_ns > 0.0 ? use.tenant_ns[i] / all_gpu_ns : 0.0;
    report.tenants.push_back(std::move(row));
  }

  const auto count = [](TaskCounts& counts, End end) {
    ++counts.submitted;
    switch (end) {
      case End::completed:
        ++counts.completed;
        break;
      case End::refused:
        ++counts.refused;
        break;
      case End::cancelled:
        ++counts.cancelled;
        break;
      case End::failed:
        ++counts.failed;
        break;
      case End::expired:
        ++counts.expired;
        break;
      case End::none:
      case End::live:
        ++counts.unfinished;
        break;
    }
  };
  for (const TaskRecord& task : tasks_) {
    count(report.tasks, task.end);
    if (task.cpu_only) count(report.cpu_only, task.end);
    count(report.queues[task.queue.value].tasks, task.end);
    count(report.tenants[task.tenant.value].tasks, task.end);
    if (task.started == Time::never()) continue;
    const double wait_ms = static_cast<double>((task.started - task.submitted).ns) / 1e6;
    all.push_back(wait_ms);
    by_queue[task.queue.value].push_back(wait_ms);
    by_tenant[task.tenant.value].push_back(wait_ms);
  }
  report.waits = summarise(all);
  for (std::size_t i = 0; i < by_queue.size(); ++i) {
    report.queues[i].waits = summarise(by_queue[i]);
  }
  for (std::size_t i = 0; i < by_tenant.size(); ++i) {
    report.tenants[i].waits = summarise(by_tenant[i]);
  }
}

void Recorder::fill_models_and_gpus(Report& report) const {
  const double window = static_cast<double>((now_ - first_submit_.value_or(now_)).ns);
  for (std::size_t i = 0; i < models_.size(); ++i) {
    const ModelRecord& model = models_[i];
    report.models.push_back({scenario_.models.names[i], model.loads, model.evictions,
                             in_seconds(model.resident.until(now_)),
                             in_seconds(model.computing.until(now_))});
    report.loads += model.loads;
    report.evictions += model.evictions;
  }
  double busy = 0.0;
  double vram_used = 0.0;
  double vram_total = 0.0;
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const GpuRecord& gpu = gpus_[i];
    const auto total = static_cast<double>(scenario_.gpus.specs[i].spec.vram.value);
    GpuReport row{scenario_.gpus.names[i], gpu.batches, 0.0, 0.0};
    if (window > 0.0) {
      row.busy_ratio = gpu.busy.until(now_) / window;
      row.vram_ratio = gpu.vram.until(now_) / window / total;
    }
    busy += row.busy_ratio;
    vram_used += row.vram_ratio * total;
    vram_total += total;
    report.gpus.push_back(std::move(row));
  }
  if (!gpus_.empty()) report.busy_ratio = busy / static_cast<double>(gpus_.size());
  if (vram_total > 0.0) report.vram_ratio = vram_used / vram_total;
}

void Recorder::fill_kinds_and_nodes(Report& report) const {
  const double window = static_cast<double>((now_ - first_submit_.value_or(now_)).ns);
  const auto mean_part = [&](const Meter& meter, double all) {
    return window > 0.0 && all > 0.0 ? meter.until(now_) / window / all : 0.0;
  };
  for (const std::string& kind : scenario_.kinds.all())
    report.kinds.push_back({kind, 0, 0.0});
  for (std::uint32_t i = 0; i < gpus_.size(); ++i)
    ++report.kinds[kind_of(GpuId{i})].gpus;
  for (std::size_t i = 0; i < report.kinds.size(); ++i) {
    KindReport& kind = report.kinds[i];
    kind.allocated_ratio = mean_part(allocated_[i], static_cast<double>(kind.gpus) * 1000.0);
  }
  double cpu = 0.0;
  double memory = 0.0;
  for (const core::NodeSpec& node : scenario_.node_specs) {
    cpu += static_cast<double>(node.cpu.value);
    memory += static_cast<double>(node.memory.value);
  }
  report.nodes = {scenario_.node_specs.size(), mean_part(cpu_, cpu), mean_part(memory_, memory)};
}

void Recorder::fill_totals(Report& report) const {
  std::uint64_t started = 0;
  for (const QueueRecord& queue : queues_) {
    report.batches += queue.batches;
    started += queue.started_tasks;
  }
  if (report.batches > 0) {
    report.mean_batch_size = static_cast<double>(started) / static_cast<double>(report.batches);
  }
  if (report.tasks.completed == 0 || !first_submit_) return;
  report.makespan_s = in_seconds(static_cast<double>((last_completion_ - *first_submit_).ns));
  if (report.makespan_s > 0.0) {
    report.throughput_per_s = static_cast<double>(report.tasks.completed) / report.makespan_s;
  }
}

}  // namespace berth::sim
