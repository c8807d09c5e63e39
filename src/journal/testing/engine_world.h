// EngineWorld: draws legal events for an engine, one from each seed, for tests.
//
// It plays the outside: it knows which tenants, queues, models and GPUs it has put, and learns from
// the actions which leases and loads are open, so that reports fit. All features are drawn: gangs,
// shared GPUs, models, holds, retries, groups, dependencies, signals, losses, limits, every order.
// The same seeds give the same events. A stream with seeds left out is legal too.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <variant>
#include <vector>

#include "core/action.h"
#include "core/engine.h"
#include "core/event.h"
#include "journal/testing/random_values.h"

namespace berth::journal::testing {

class EngineWorld {
 public:
  static constexpr std::uint32_t kTenants = 3;
  static constexpr std::uint32_t kModels = 3;
  static constexpr std::uint32_t kQueues = 5;  // the last kModels have a model
  static constexpr std::uint32_t kGpus = 6;    // two on each node
  static constexpr std::uint32_t kGroups = 3;
  static constexpr std::uint32_t kSignals = 4;

  // The first events: policy, tenants, models, queues, GPUs.
  std::vector<core::Event> setup(std::uint64_t seed) {
    Random random(seed);
    std::vector<core::Event> events;
    events.push_back({now_, core::SetPolicy{policy(random)}});
    for (std::uint32_t i = 0; i < kTenants; ++i) {
      events.push_back({now_, core::PutTenant{TenantId{i}, tenant(random, i)}});
    }
    for (std::uint32_t i = 0; i < kModels; ++i) {
      events.push_back({now_, core::PutModel{ModelId{i}, model(random)}});
    }
    for (std::uint32_t i = 0; i < kQueues; ++i) {
      events.push_back({now_, core::PutQueue{QueueId{i}, queue(random, i)}});
    }
    for (std::uint32_t i = 0; i < kGpus; ++i) {
      events.push_back({now_, core::PutGpu{GpuId{i}, gpu(i, random)}});
    }
    return events;
  }

  core::Event next(std::uint64_t seed, const core::Engine& engine) {
    Random random(seed);
    now_ = now_ + pick(random, {nanoseconds(0), nanoseconds(0), milliseconds(1), milliseconds(40),
                                milliseconds(900), seconds(7), seconds(31), minutes(11)});
    next_ = engine.next_task_no().value;
    return {now_, body(random)};
  }

  void note(const core::Actions& actions) {
    for (const core::Action& action : actions) {
      if (const auto* batch = std::get_if<core::BatchStarted>(&action)) {
        leases_.push_back(*batch);
      } else if (const auto* closed = std::get_if<core::LeaseClosed>(&action)) {
        std::erase_if(leases_, [&](const auto& lease) { return lease.lease == closed->lease; });
      } else if (const auto* load = std::get_if<core::LoadModel>(&action)) {
        loads_.push_back(*load);
      }
    }
  }

 private:
  template <class T>
  static T pick(Random& random, std::initializer_list<T> choices) {
    return *(choices.begin() + random.below(choices.size()));
  }
  static bool chance(Random& random, std::uint64_t percent) { return random.below(100) < percent; }

  // ---- Configuration ----

  static core::PolicySpec policy(Random& random) {
    core::PolicySpec spec;
    spec.order = static_cast<core::Order>(random.below(5));
    spec.packing = static_cast<core::Packing>(random.below(3));
    spec.age_step = pick(random, {seconds(0), seconds(60)});
    spec.patience = pick(random, {milliseconds(500), seconds(30)});
    spec.tier_patience = pick(random, {seconds(5), minutes(10)});
    spec.max_holds = static_cast<std::uint32_t>(random.below(3));
    spec.starts_per_step = pick(random, {1U, 2U, 64U});
    spec.max_live_tasks = pick(random, {40U, 1'000'000U});
    spec.usage_window = pick(random, {seconds(30), minutes(5)});
    spec.poison_after = pick(random, {2U, 3U});
    spec.max_infrastructure_losses = pick(random, {1U, 10U});
    return spec;
  }

  static core::PutTenant put_tenant(Random& random) {
    const auto number = static_cast<std::uint32_t>(random.below(kTenants));
    return {TenantId{number}, tenant(random, number)};
  }

  static core::TenantSpec tenant(Random& random, std::uint32_t number) {
    core::TenantSpec spec;
    spec.weight = Milli{pick<std::int64_t>(random, {500, 1000, 3000})};
    if (chance(random, 20)) spec.max_queue_size = 12;
    if (chance(random, 30)) spec.token_bucket_size = 40;
    spec.token_refill_rate = 3;
    if (chance(random, 20)) spec.daily_token_limit = 60;
    if (chance(random, 40)) spec.guaranteed_gpus = Milli{1000};
    if (chance(random, 40)) spec.max_gpus = Milli{pick<std::int64_t>(random, {1250, 3000})};
    if (chance(random, 20)) spec.isolation = static_cast<core::Isolation>(1 + random.below(3));
    if (chance(random, 20)) spec.borrow_gpus = Milli{pick<std::int64_t>(random, {500, 2000})};
    // Below one of a lower number, so that there is never a cycle.
    if (number > 0 && chance(random, 60)) {
      spec.parent = TenantId{static_cast<std::uint32_t>(random.below(number))};
    }
    return spec;
  }

  static core::ModelSpec model(Random& random) {
    core::ModelSpec spec;
    spec.weights = Mib{pick<std::int64_t>(random, {3000, 6000, 8000})};
    spec.vram_per_task = Mib{pick<std::int64_t>(random, {100, 700})};
    spec.load_time = pick(random, {seconds(1), seconds(20)});
    spec.keep_alive = pick(random, {seconds(2), minutes(5), Duration::forever()});
    return spec;
  }

  static core::QueueSpec queue(Random& random, std::uint32_t id) {
    core::QueueSpec spec;
    if (id >= kQueues - kModels) spec.model = ModelId{id - (kQueues - kModels)};
    spec.max_batch_size = pick(random, {1U, 3U, 8U});
    spec.max_batch_wait = pick(random, {seconds(0), milliseconds(50), seconds(3)});
    spec.adaptive_wait = chance(random, 40);
    spec.refuse_late = chance(random, 20);
    if (chance(random, 25)) spec.max_gpus = Milli{pick<std::int64_t>(random, {1000, 2500})};
    if (chance(random, 25)) spec.min_gpus = Milli{1000};
    if (chance(random, 30)) spec.batch_base = milliseconds(20);
    if (chance(random, 30)) spec.batch_per_task = milliseconds(300);
    if (chance(random, 30)) spec.work_class = WorkClassId{pick<std::uint8_t>(random, {0, 3, 15})};
    spec.batch_commands = chance(random, 30);
    if (chance(random, 10)) spec.max_queue_size = 12;
    if (chance(random, 10)) spec.max_task_gpus = 2;
    return spec;
  }

  static core::GpuSpec gpu(std::uint32_t id, Random& random) {
    core::GpuSpec spec;
    spec.node = NodeId{id / 2};
    spec.kind = KindId{id % 2};
    spec.vram = Mib{id % 3 == 0 ? 16'384 : 10'240};
    spec.speed = Milli{pick<std::int64_t>(random, {700, 1000, 2000})};
    if (id == 3) spec.mig = core::mig::Geometry::a100_40;
    if (chance(random, 40)) spec.class_speeds.push_back({WorkClassId{3}, Milli{1700}});
    if (chance(random, 40)) spec.class_speeds.push_back({WorkClassId{15}, Milli{300}});
    return spec;
  }

  // ---- Work ----

  core::TaskSpec task(Random& random) const {
    core::TaskSpec spec;
    spec.tenant = TenantId{static_cast<std::uint32_t>(random.below(kTenants))};
    spec.queue = QueueId{static_cast<std::uint32_t>(random.below(kQueues))};
    const bool has_model = spec.queue.value >= kQueues - kModels;
    spec.tier = pick<std::uint8_t>(random, {0, 0, 1, 3});
    spec.priority = pick<std::int16_t>(random, {0, 0, 0, -3, 5});
    if (!has_model && chance(random, 30)) spec.gpus = pick<std::uint16_t>(random, {2, 3, 5});
    if (spec.gpus == 1) spec.share = Milli{pick<std::int64_t>(random, {1000, 250, 400})};
    if (!has_model && spec.gpus == 1 && chance(random, 25)) {
      spec.profile = pick<core::mig::ProfileId>(random, {1, 2, 4, 5});  // 1g, 1g with media, 2g, 3g
      spec.share = kWholeGpu;
    }
    spec.vram = Mib{pick<std::int64_t>(random, {0, 500, 2000, 9000, 14'000})};
    spec.expected_run = pick(random, {seconds(0), milliseconds(30), seconds(4), minutes(3)});
    if (chance(random, 25)) spec.tolerated_wait = pick(random, {milliseconds(1), seconds(9)});
    if (chance(random, 20)) spec.checkpoint_interval = pick(random, {milliseconds(7), seconds(2)});
    if (chance(random, 20)) spec.restart_cost = pick(random, {milliseconds(1), seconds(40)});
    if (chance(random, 10)) spec.not_before = now_ + seconds(5);
    spec.tokens = static_cast<std::uint32_t>(random.below(4));
    if (chance(random, 40)) {
      spec.retry = {.max_attempts = 4,
                    .on = pick<std::uint8_t>(random, {0x0f, 0x03}),
                    .backoff = pick(random, {seconds(0), seconds(2)})};
    }
    if (chance(random, 20)) spec.group = GroupId{static_cast<std::uint32_t>(random.below(kGroups))};
    if (spec.group) spec.at_once = static_cast<std::uint32_t>(random.below(4));
    spec.held = chance(random, 5);
    spec.command = chance(random, 40);
    if (chance(random, 40)) spec.on_dependency_failure = core::OnDependencyFailure::release;
    if (chance(random, 15)) depend_on_task(spec, random, next_);
    if (chance(random, 10)) {
      spec.depends_on.push_back({core::Dependency::Kind::signal, random.below(kSignals)});
    }
    return spec;
  }

  static void depend_on_task(core::TaskSpec& spec, Random& random, std::uint64_t below) {
    if (below == 0) return;
    const std::uint64_t back = 1 + random.below(std::min<std::uint64_t>(below, 8));
    spec.depends_on.push_back({core::Dependency::Kind::task, below - back});
  }

  core::SubmitWorkflow workflow(Random& random) const {
    core::SubmitWorkflow submit{TaskNo{next_}, {}};
    const std::uint64_t count = 2 + random.below(4);
    const bool forward = chance(random, 50);  // each waits for the one after it
    for (std::uint64_t i = 0; i < count; ++i) {
      core::TaskSpec spec = task(random);
      const bool is_last = forward ? i + 1 == count : i == 0;
      if (!is_last) {
        spec.depends_on.push_back(
            {core::Dependency::Kind::task, forward ? next_ + i + 1 : next_ + i - 1});
      }
      submit.tasks.push_back(std::move(spec));
    }
    return submit;
  }

  TaskNo any_task(Random& random) const {
    return TaskNo{next_ - std::min(next_, random.below(30))};
  }
  template <class Id>
  static Id any(Random& random, std::uint32_t count) {
    return Id{static_cast<std::uint32_t>(random.below(count))};
  }

  core::TaskOutcome outcome(Random& random, TaskNo task) const {
    return {task, chance(random, 50), static_cast<core::Failure>(random.below(5))};
  }

  core::EventBody end_lease(Random& random) const {
    const core::BatchStarted& lease = leases_[random.below(leases_.size())];
    core::LeaseEnded ended{lease.lease, {}};
    for (const core::StartedTask& started : lease.tasks) {
      if (chance(random, 40)) ended.outcomes.push_back(outcome(random, started.task));
    }
    return ended;
  }

  core::EventBody finish_load(Random& random) {
    const std::size_t at = random.below(loads_.size());
    const core::LoadModel load = loads_[at];
    loads_.erase(loads_.begin() + static_cast<std::ptrdiff_t>(at));
    return core::ModelLoaded{load.gpu, load.model, chance(random, 85), seconds(2), load.load};
  }

  core::EventBody report(Random& random) {
    if (!loads_.empty() && chance(random, 50)) return finish_load(random);
    if (leases_.empty()) return core::Tick{};
    if (chance(random, 60)) return end_lease(random);
    const core::BatchStarted& lease = leases_[random.below(leases_.size())];
    if (chance(random, 50)) return core::LeaseStarted{lease.lease};
    return core::TaskEnded{lease.lease,
                           outcome(random, lease.tasks[random.below(lease.tasks.size())].task)};
  }

  core::ChangeTask change(Random& random) const {
    core::ChangeTask change{.task = any_task(random), .queue = any<QueueId>(random, kQueues)};
    change.priority = pick<std::int16_t>(random, {0, -3, 5});
    if (chance(random, 50)) change.vram = Mib{pick<std::int64_t>(random, {0, 500, 9000})};
    if (chance(random, 50)) {
      change.tolerated_wait = pick(random, {Duration::forever(), seconds(9), minutes(5)});
    }
    return change;
  }

  core::EventBody request(Random& random) const {
    switch (random.below(8)) {
      case 5:
      case 6:
        return change(random);
      case 0:
        return core::CancelGroup{any<GroupId>(random, kGroups)};
      case 1:
        return core::Hold{any_task(random)};
      case 2:
      case 3:
        return core::Release{any_task(random)};
      case 4:
        return core::ResolveSignal{SignalId{random.below(kSignals)}};
      default:
        return core::Cancel{any_task(random)};
    }
  }

  core::EventBody administer(Random& random) const {
    const std::uint32_t queue_id = static_cast<std::uint32_t>(random.below(kQueues));
    switch (random.below(11)) {
      case 0:
        return core::PauseQueue{QueueId{queue_id}, chance(random, 40)};
      case 1:
        return core::PauseTenant{any<TenantId>(random, kTenants), chance(random, 40)};
      case 2:
        return core::Flush{chance(random, 50) ? QueueId{queue_id} : QueueId::none()};
      case 3:
        return core::DrainGpu{any<GpuId>(random, kGpus), chance(random, 40)};
      case 4:
        return core::DayBoundary{};
      case 5:
        return core::SetPolicy{policy(random)};
      case 6:
        return put_tenant(random);
      case 7:
        return core::PutQueue{QueueId{queue_id}, queue(random, queue_id)};
      case 8:
        return core::DrainQueue{QueueId{queue_id}, chance(random, 40)};
      case 9:
        return core::PutModel{any<ModelId>(random, kModels), model(random)};
      default:
        const std::uint32_t gpu_id = static_cast<std::uint32_t>(random.below(kGpus));
        return core::PutGpu{GpuId{gpu_id}, gpu(gpu_id, random)};
    }
  }

  core::EventBody disturb(Random& random) const {
    const GpuId gpu_id = any<GpuId>(random, kGpus);
    switch (random.below(7)) {
      case 0:
        return core::GpuLost{gpu_id};
      case 1:
        return core::NodeLost{NodeId{gpu_id.value / 2}};
      case 2:
      case 3:
        return core::GpuReturned{gpu_id};
      case 4:
        return core::NodeReturned{NodeId{gpu_id.value / 2}};
      case 5:
        return core::ModelUnloaded{gpu_id, any<ModelId>(random, kModels), {}};
      default:
        return core::GpuUtilisation{gpu_id, Milli{pick<std::int64_t>(random, {0, 300, 950})}};
    }
  }

  core::EventBody body(Random& random) {
    const std::uint64_t kind = random.below(100);
    if (kind < 40) return core::Submit{TaskNo{next_}, task(random)};
    if (kind < 45) return workflow(random);
    if (kind < 75) return report(random);
    if (kind < 83) return request(random);
    if (kind < 90) return core::Tick{};
    if (kind < 94) return administer(random);
    return disturb(random);
  }

  Time now_{1'000};
  std::uint64_t next_ = 0;
  std::vector<core::BatchStarted> leases_;
  std::vector<core::LoadModel> loads_;
};

}  // namespace berth::journal::testing
