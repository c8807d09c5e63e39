// See world.h.
#include "tests/property/world.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "core/mig/profiles.h"
#include "core/state/state.h"

namespace berth::property {
namespace {

using core::Dependency;
using core::Failure;

constexpr std::uint32_t kNodes = 3;       // the last has no GPUs
constexpr std::size_t kNodeNumbers = 20;  // where those of nodes stand in the setup

// How often each kind of command comes up.
enum class Verb { tick, wake, submit, workflow, agent, model, gpu, admin, task_request, configure };
constexpr Verb kVerbs[] = {
    Verb::tick,   Verb::submit, Verb::submit,       Verb::submit,       Verb::submit,
    Verb::submit, Verb::agent,  Verb::agent,        Verb::agent,        Verb::agent,
    Verb::model,  Verb::model,  Verb::wake,         Verb::workflow,     Verb::gpu,
    Verb::admin,  Verb::admin,  Verb::task_request, Verb::task_request, Verb::configure,
};

Duration gap_of(std::uint32_t number) {
  Digits digits(number);
  switch (digits.pick(8)) {
    case 0:
    case 1:
      return {};
    case 2:
    case 3:
    case 4:
      return milliseconds(digits.pick(1000));
    case 5:
    case 6:
      return milliseconds(digits.pick(60'000));
    default:
      return milliseconds(digits.pick(900'000));
  }
}

}  // namespace

World::World(const Case& input, WorldOptions options) : input_(input), options_(options) {}

void World::run() {
  set_up();
  for (const Command& command : input_.commands) {
    now_ = now_ + gap_of(command.gap);
    carry_out(command);
  }
}

void World::heal() {
  const core::State& state = engine_.state();
  core::PolicySpec policy = state.policy;
  policy.vram_usable = Milli{1000};
  feed(core::SetPolicy{policy});
  for (std::uint32_t i = 0; i < models_; ++i) {
    core::ModelSpec spec = state.models[i].spec;
    spec.weights = Mib{kGib};
    feed(core::PutModel{ModelId{i}, spec});
  }
  for (std::uint32_t i = 0; i < kNodes; ++i) {
    feed(core::PutNode{NodeId{i}, {RackId{0}, Milli{100'000}, Mib{1000 * kGib}}});
    feed(core::NodeReturned{NodeId{i}});
  }
  for (std::uint32_t i = 0; i < gpus_; ++i) {
    // What was loaded with other weights, and may be in use, is loaded anew.
    const auto& residences = state.gpus[i].residences;
    const bool is_stale = std::any_of(residences.begin(), residences.end(),
                                      [](const auto& one) { return one.weights != Mib{kGib}; });
    if (is_stale) feed(core::GpuLost{GpuId{i}});
    feed(core::GpuReturned{GpuId{i}});
    feed(core::DrainGpu{GpuId{i}, false});
    feed(core::GpuUtilisation{GpuId{i}, Milli{0}});
  }
  for (std::uint32_t i = 0; i < tenants_; ++i) {
    core::TenantSpec spec = state.tenants[i].spec;
    spec.max_gpus.reset();
    spec.borrow_gpus.reset();
    feed(core::PutTenant{TenantId{i}, spec});
    feed(core::PauseTenant{TenantId{i}, false});
  }
  for (std::uint32_t i = 0; i < queues_; ++i) {
    core::QueueSpec spec = state.queues[i].spec;
    spec.max_gpus.reset();
    feed(core::PutQueue{QueueId{i}, spec});
    feed(core::PauseQueue{QueueId{i}, false});
  }
  for (std::uint32_t i = 0; i < 4; ++i)
    feed(core::ResolveSignal{SignalId{i}});
  for (std::uint64_t no = 0; no < next_task_; ++no) {
    if (engine_.explain(TaskNo{no})) feed(core::Release{TaskNo{no}});
  }
}

bool World::settle_once() {
  const std::vector<OpenLease> open = open_;
  const std::vector<ModelReport> reports = std::exchange(model_reports_, {});
  for (const ModelReport& report : reports) {
    if (report.loaded) {
      feed(core::ModelLoaded{report.gpu, report.model, true, milliseconds(100), report.load});
    } else {
      feed(core::ModelUnloaded{report.gpu, report.model, report.load});
    }
  }
  for (const OpenLease& lease : open)
    feed(core::LeaseEnded{lease.id, {}});
  const Time wakeup = engine_.next_wakeup();
  const bool is_near = wakeup < now_ + minutes(24 * 60);
  if (is_near) {
    now_ = std::max(now_, wakeup);
    feed(core::Tick{});
  }
  return is_near || !reports.empty() || !open.empty();
}

void World::feed(core::EventBody body) {
  // Only submits take numbers.
  if (std::holds_alternative<core::Submit>(body)) next_task_ += 1;
  if (const auto* workflow = std::get_if<core::SubmitWorkflow>(&body)) {
    next_task_ += workflow->tasks.size();
  }
  steps_.push_back({{now_, std::move(body)}, 0, {}});
  Step& step = steps_.back();
  step.from_timers = engine_.step(step.event, step.actions);
  for (const core::Action& action : step.actions)
    note(action);
  if (engine_.next_task_no().value != next_task_) {
    throw Broken("the next number is " + std::to_string(engine_.next_task_no().value) + " after " +
                 std::to_string(next_task_) + " submitted tasks");
  }
  if (on_step) on_step(step);
}

void World::note(const core::Action& action) {
  if (const auto* batch = std::get_if<core::BatchStarted>(&action)) {
    OpenLease lease{batch->lease, false, {}};
    for (const core::StartedTask& task : batch->tasks)
      lease.tasks.push_back(task.task);
    open_.push_back(std::move(lease));
  } else if (const auto* closed = std::get_if<core::LeaseClosed>(&action)) {
    std::erase_if(open_, [&](const OpenLease& lease) { return lease.id == closed->lease; });
    closed_.push_back(closed->lease);
    if (closed_.size() > 8) closed_.pop_front();
  } else if (const auto* load = std::get_if<core::LoadModel>(&action)) {
    model_reports_.push_back({load->gpu, load->model, load->load, true});
  } else if (const auto* eviction = std::get_if<core::EvictModel>(&action)) {
    model_reports_.push_back({eviction->gpu, eviction->model, eviction->load, false});
  }
}

// --- configuration ---

void World::set_up() {
  Digits counts(setup_number(0));
  gpus_ = 1 + counts.pick(5);
  queues_ = 1 + counts.pick(5);
  tenants_ = 1 + counts.pick(4);
  models_ = counts.pick(5);
  feed(core::SetPolicy{policy(Digits(setup_number(1)))});
  std::size_t next = 2;
  for (std::uint32_t i = 0; i < gpus_; ++i) {
    feed(core::PutGpu{GpuId{i}, gpu(Digits(setup_number(next++)))});
  }
  Digits nodes(setup_number(kNodeNumbers));
  for (std::uint32_t i = 0, count = nodes.pick(kNodes + 1); i < count; ++i) {
    feed(core::PutNode{NodeId{i}, node(Digits(setup_number(kNodeNumbers) >> (2 + 8 * i)))});
  }
  for (std::uint32_t i = 0; i < models_; ++i) {
    feed(core::PutModel{ModelId{i}, model(Digits(setup_number(next++)))});
  }
  for (std::uint32_t i = 0; i < queues_; ++i) {
    Digits digits(setup_number(next++));
    if (models_ > 0 && digits.pick(3) > 0) queue_model_[i] = ModelId{digits.pick(models_)};
    feed(core::PutQueue{QueueId{i}, queue(digits, i)});
  }
  for (std::uint32_t i = 0; i < tenants_; ++i) {
    feed(core::PutTenant{TenantId{i}, tenant(Digits(setup_number(next++)), i)});
  }
}

// --- work ---

TaskNo World::some_task(std::uint32_t number) const {
  // Mostly recent ones; now and then one that does not exist yet.
  const std::uint64_t next = engine_.next_task_no().value;
  const std::uint64_t back = number % 24;
  return TaskNo{back > next ? 0 : next - back};
}

void World::ask_for_node(Digits& digits, core::TaskSpec& spec) {
  spec.cpu = digits.pick<Milli>({{1000}, {0}, {500}, {3000}, {7000}});
  spec.memory = Mib{kGib * digits.pick<std::int64_t>({0, 1, 4, 20})};
  const bool asks = spec.cpu.value > 0 || spec.memory.value > 0;
  if (asks && digits.one_in(2)) {
    spec.gpus = 0;
    spec.share = kWholeGpu;
    return;
  }
  spec.kinds = digits.pick<core::KindMask>({0, 1, 2, 3, 4});  // the last: nobody has it
  if (digits.one_in(2)) {
    spec.within =
        digits.pick<core::Level>({core::Level::node, core::Level::island, core::Level::rack});
    spec.required = digits.pick(3) > 0;
    if (spec.gpus == 2 && digits.one_in(2)) spec.groups = 2;
  }
}

void World::ask_for_instance(Digits& digits, core::TaskSpec& spec) {
  static constexpr const char* kProfiles[] = {"1g.5gb",  "1g.10gb", "2g.10gb",    "3g.20gb",
                                              "2g.20gb", "7g.40gb", "1g.10gb+me", "4g.40gb"};
  spec.profile = core::mig::profile_named(digits.pick(kProfiles));
  if (!digits.one_in(8)) spec.share = kWholeGpu;  // now and then wrong
  spec.vram = Mib{512 * std::int64_t{digits.pick(24)}};
}

core::TaskSpec World::task(Digits shape, Digits extras, TaskNo first,
                           std::uint32_t in_workflow) const {
  core::TaskSpec spec;
  spec.tenant = TenantId{shape.pick(tenants_)};
  spec.queue = QueueId{shape.pick(queues_)};
  spec.expected_run = milliseconds(shape.pick<std::int64_t>({100, 0, 1000, 7000, 90'000}));
  const bool with_model = queue_model_.contains(spec.queue.value);
  spec.vram = Mib{512 * std::int64_t{shape.pick(20)}};
  spec.share = shape.pick<Milli>({{1000}, {200}, {450}, {850}});
  if (!with_model && shape.one_in(6)) {
    spec.gpus = static_cast<std::uint16_t>(2 + shape.pick(2));
    spec.share = kWholeGpu;
  }
  if (shape.one_in(with_model ? 12 : 2)) ask_for_node(shape, spec);
  if (extras.one_in(4)) spec.tier = static_cast<std::uint8_t>(extras.pick(4));
  if (extras.one_in(4)) spec.priority = static_cast<std::int16_t>(extras.pick(7)) - 3;
  if (extras.one_in(4)) {
    spec.tolerated_wait = extras.pick<Duration>({seconds(20), milliseconds(50), Duration{0}});
  }
  if (extras.one_in(6)) spec.not_before = now_ + milliseconds(extras.pick(5000));
  if (extras.one_in(8)) spec.held = true;
  if (extras.one_in(5)) {
    spec.group = GroupId{extras.pick(3)};
    spec.at_once = extras.pick(3);
  }
  spec.retry.max_attempts = static_cast<std::uint8_t>(1 + extras.pick(4));
  spec.retry.backoff = milliseconds(extras.pick<std::int64_t>({0, 100, 5000}));
  if (extras.one_in(4)) {
    for (std::uint32_t n = 1 + extras.pick(2); n > 0; --n) {
      Dependency on;
      if (extras.one_in(3)) {
        on = {Dependency::Kind::signal, extras.pick(4)};
      } else if (in_workflow > 0) {
        // Mostly an earlier one; now and then itself or a later one.
        on = {Dependency::Kind::task,
              first.value + extras.pick(extras.one_in(5) ? in_workflow + 2 : in_workflow)};
      } else {
        on = {Dependency::Kind::task, some_task(1 + extras.pick(12)).value};
      }
      spec.depends_on.push_back(on);
    }
    if (extras.one_in(2)) spec.on_dependency_failure = core::OnDependencyFailure::release;
  }
  if (options_.mixes_ranks && !with_model) {
    const std::uint64_t number = first.value + in_workflow;
    spec.tier = static_cast<std::uint8_t>(number % 2);
    spec.gpus = static_cast<std::uint16_t>(number % 4 < 2 ? 2 : 1);
    spec.groups = 1;
    spec.share = number % 8 == 3 ? Milli{400} : kWholeGpu;
    spec.expected_run = seconds(90);
    spec.checkpoint_interval = seconds(static_cast<std::int64_t>(number % 3) * 7);
    spec.restart_cost = seconds(static_cast<std::int64_t>(number % 5) * 10);
    spec.depends_on.clear();
  }
  const bool mostly = options_.changes_mig && extras.pick(3) < 2;
  if (!with_model && spec.gpus == 1 && (mostly || extras.one_in(4))) ask_for_instance(extras, spec);
  spec.command = extras.one_in(3);
  return spec;
}

// Often to a queue or a size that does not suit it.
void World::change(TaskNo task, Digits digits) {
  core::ChangeTask change{.task = task, .queue = QueueId{digits.pick(queues_)}};
  change.priority = static_cast<std::int16_t>(static_cast<int>(digits.pick(5)) - 2);
  if (digits.one_in(2)) change.vram = Mib{512 * std::int64_t{digits.pick(30)}};
  if (digits.one_in(2)) {
    change.tolerated_wait =
        digits.pick<Duration>({Duration::forever(), seconds(20), minutes(5), Duration{0}});
  }
  feed(change);
}

void World::submit(const Command& command) {
  const TaskNo first = engine_.next_task_no();
  const std::uint64_t extras = std::uint64_t{command.c} << 32 | command.b;
  feed(core::Submit{first, task(Digits(command.a), Digits(extras), first, 0)});
}

// --- agents ---

void World::agent_reports(const Command& command) {
  Digits digits(command.b);
  if (digits.one_in(12) && !closed_.empty()) {
    // Late or twice.
    const LeaseId late = closed_[command.a % closed_.size()];
    if (digits.pick(2) == 0) return feed(core::LeaseEnded{late, {}});
    return feed(core::LeaseStarted{late});
  }
  if (open_.empty()) return feed(core::Tick{});
  OpenLease& lease = open_[command.a % open_.size()];
  Digits fate(command.c);
  const auto outcome = [&](TaskNo task) {
    core::TaskOutcome result{.task = task, .completed = fate.pick(4) > 0};
    result.failure = static_cast<Failure>(fate.pick(core::kFailureKinds));
    return result;
  };
  switch (digits.pick(6)) {
    case 0:
      return feed(core::LeaseStarted{lease.id});
    case 1:
      return feed(core::TaskEnded{
          lease.id,
          outcome(lease.tasks[digits.pick(static_cast<std::uint32_t>(lease.tasks.size()))])});
    default: {
      core::LeaseEnded ended{lease.id, {}};
      for (const TaskNo task : lease.tasks) {
        if (digits.one_in(3)) ended.outcomes.push_back(outcome(task));
      }
      if (!digits.one_in(4)) return feed(std::move(ended));
      const Duration ran = milliseconds(digits.one_in(3) ? 0 : fate.pick(100'000));
      return feed(core::LeaseEndedAfter{std::move(ended), ran});
    }
  }
}

void World::model_reports(const Command& command) {
  Digits digits(command.b);
  if (models_ == 0) return feed(core::Tick{});
  const GpuId gpu{digits.pick(gpus_)};
  const ModelId model{digits.pick(models_)};
  if (digits.one_in(10)) return feed(core::ModelUnloaded{gpu, model, {}});
  if (digits.one_in(10)) return feed(core::ModelLoaded{gpu, model, true, milliseconds(100), {}});
  if (model_reports_.empty()) return feed(core::Tick{});
  // In any order, and now and then twice.
  const std::size_t at = command.a % model_reports_.size();
  const ModelReport report = model_reports_[at];
  if (!digits.one_in(6)) model_reports_.erase(model_reports_.begin() + static_cast<long>(at));
  if (!report.loaded) return feed(core::ModelUnloaded{report.gpu, report.model, report.load});
  const bool ok = digits.pick(4) > 0;
  const Duration took = milliseconds(digits.pick(9000));
  feed(core::ModelLoaded{report.gpu, report.model, ok, took, report.load});
}

// --- administration ---

void World::gpu_changes(const Command& command) {
  Digits digits(command.b);
  const GpuId gpu{digits.pick(gpus_ + 1)};  // now and then one that does not exist
  const NodeId node{digits.pick(3)};
  const auto forget = [&](auto lost) {
    std::erase_if(model_reports_, [&](const ModelReport& report) { return lost(report.gpu); });
  };
  switch (digits.pick(8)) {
    case 0:
      return feed(core::DrainGpu{gpu, true});
    case 1:
      return feed(core::DrainGpu{gpu, false});
    case 2:
      forget([&](GpuId id) { return id == gpu; });
      return feed(core::GpuLost{gpu});
    case 3:
      return feed(core::GpuReturned{gpu});
    case 4:
      forget([&](GpuId id) {
        return gpu_numbers_.contains(id.value)
                   ? this->gpu(Digits(gpu_numbers_.at(id.value))).node == node
                   : this->gpu(Digits(setup_number(2 + id.value))).node == node;
      });
      return feed(core::NodeLost{node});
    case 5:
      return feed(core::NodeReturned{node});
    default:
      return feed(core::GpuUtilisation{gpu, Milli{std::int64_t{digits.pick(11)} * 100}});
  }
}

void World::administer(const Command& command) {
  Digits digits(command.b);
  const QueueId queue{digits.pick(queues_)};
  const TenantId tenant{digits.pick(tenants_)};
  switch (digits.pick(13)) {
    case 0:
      return feed(core::PauseQueue{queue, true});
    case 1:
    case 2:
      return feed(core::PauseQueue{queue, false});
    case 3:
      return feed(core::PauseTenant{tenant, true});
    case 4:
    case 5:
      return feed(core::PauseTenant{tenant, false});
    case 6:
      return feed(core::Flush{queue});
    case 7:
      return feed(core::Flush{});
    case 8:
      return feed(core::DayBoundary{});
    case 9:
      return feed(core::DrainQueue{queue, true});
    case 10:
    case 11:
      return feed(core::DrainQueue{queue, false});
    default:
      return feed(core::ResolveSignal{SignalId{digits.pick(4)}});
  }
}

void World::reconfigure(const Command& command) {
  if (!options_.changes_policy) return feed(core::Tick{});
  Digits digits(command.b);
  switch (digits.pick(7)) {
    case 0: {
      const std::uint32_t i = digits.pick(tenants_);
      return feed(core::PutTenant{TenantId{i}, tenant(Digits(command.c), i)});
    }
    case 1: {
      const std::uint32_t i = digits.pick(queues_);
      if (models_ > 0 && digits.one_in(3)) {
        // Another model, or none; gangs may be waiting.
        if (queue_model_.erase(i) == 0) queue_model_[i] = ModelId{digits.pick(models_)};
      }
      return feed(core::PutQueue{QueueId{i}, queue(Digits(command.c), i)});
    }
    case 2: {
      if (models_ == 0) return feed(core::Tick{});
      return feed(core::PutModel{ModelId{digits.pick(models_)}, model(Digits(command.c))});
    }
    case 3: {
      if (options_.changes_mig && digits.one_in(2)) {
        const GpuId id{digits.pick(gpus_)};
        core::GpuSpec spec = engine_.state().gpu(id).spec;
        spec.mig = static_cast<core::mig::Geometry>(command.c % 3);
        return feed(core::PutGpu{id, spec});
      }
      // One more GPU, up to a few.
      if (gpus_ >= 8) return feed(core::Tick{});
      gpu_numbers_[gpus_] = command.c;
      const GpuId id{gpus_++};
      return feed(core::PutGpu{id, gpu(Digits(command.c))});
    }
    case 4:
      return feed(core::PutNode{NodeId{digits.pick(kNodes)}, node(Digits(command.c))});
    default:
      return feed(core::SetPolicy{policy(Digits(command.c))});
  }
}

void World::carry_out(const Command& command) {
  Verb verb = kVerbs[command.verb % std::size(kVerbs)];
  if (options_.only_workflows && verb == Verb::submit) verb = Verb::workflow;
  switch (verb) {
    case Verb::tick:
      return feed(core::Tick{});
    case Verb::wake: {
      const Time wakeup = engine_.next_wakeup();
      if (wakeup > now_ && wakeup - now_ < minutes(60)) now_ = wakeup;
      return feed(core::Tick{});
    }
    case Verb::submit:
      return submit(command);
    case Verb::workflow: {
      core::SubmitWorkflow workflow{engine_.next_task_no(), {}};
      const std::uint32_t count = 1 + command.b % 4;
      for (std::uint32_t i = 0; i < count; ++i) {
        const std::uint32_t rotated = command.a >> (4 * i) | command.a << (32 - 4 * (i + 1));
        const std::uint64_t extras = (std::uint64_t{command.c} << 32 | command.b) >> (3 * i);
        workflow.tasks.push_back(task(Digits(rotated), Digits(extras), workflow.first, i));
      }
      return feed(std::move(workflow));
    }
    case Verb::agent:
      return agent_reports(command);
    case Verb::model:
      return model_reports(command);
    case Verb::gpu:
      return gpu_changes(command);
    case Verb::admin:
      return administer(command);
    case Verb::task_request: {
      const TaskNo task = some_task(command.a);
      switch (command.b % 6) {
        case 5:
          return change(task, Digits(command.c));
        case 0:
          return feed(core::Cancel{task});
        case 1:
          return feed(core::Hold{task});
        case 2:
        case 3:
          return feed(core::Release{task});
        default:
          return feed(core::CancelGroup{GroupId{command.a % 3}});
      }
    }
    case Verb::configure:
      return reconfigure(command);
  }
}

}  // namespace berth::property
