// See core_bench.h.
#include "sim/core_bench.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <queue>
#include <string>
#include <utility>
#include <variant>

#include <malloc.h>

#include "base/assert.h"
#include "base/rng.h"
#include "core/engine.h"
#include "core/model/ranges.h"
#include "core/state/state.h"
#include "journal/running_hash.h"

// Of the allocator that is linked, if it is one of these; the binary's is jemalloc.
extern "C" {
[[gnu::weak]] int mallctl(const char* name, void* old, std::size_t* old_size, void* next,
                          std::size_t next_size);
[[gnu::weak]] std::size_t __sanitizer_get_current_allocated_bytes();
}

namespace berth::sim {
namespace {

// What this thread has of the heap. The libc's own figures are right only with the libc's malloc.
std::size_t heap_bytes() {
  if (mallctl != nullptr) {
    std::uint64_t taken = 0;
    std::uint64_t given_back = 0;
    std::size_t size = sizeof taken;
    if (mallctl("thread.allocated", &taken, &size, nullptr, 0) == 0 &&
        mallctl("thread.deallocated", &given_back, &size, nullptr, 0) == 0) {
      return taken - given_back;
    }
  }
  if (__sanitizer_get_current_allocated_bytes != nullptr) {
    return __sanitizer_get_current_allocated_bytes();
  }
  return mallinfo2().uordblks + mallinfo2().hblkhd;
}

constexpr std::int64_t kMib = 1;
constexpr std::int64_t kGib = 1024 * kMib;

// Two models and a full batch fill a GPU: a third model needs an eviction.
constexpr Mib kVramOfGpu{40 * kGib};
constexpr Mib kWeights{13 * kGib};
constexpr Mib kVramPerTask{kGib};
constexpr Duration kLoadTime = milliseconds(500);
constexpr Duration kLongestToleratedWait = milliseconds(1005);
constexpr std::uint32_t kTravelOneIn = 20;

std::int64_t now_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return t.tv_sec * 1'000'000'000 + t.tv_nsec;
}

// What the agents will report, by due time.
struct Due {
  Time at;
  std::uint64_t order;
  enum class Kind : std::uint8_t { lease, load } kind;
  std::uint64_t number = 0;  // of the lease or load
  GpuId gpu;
  ModelId model;
  std::uint32_t slot = 0;  // of the batch's task list
  bool operator<(const Due& other) const {
    return std::tie(at, order) > std::tie(other.at, other.order);
  }
};

struct Flow {
  TenantId tenant;
  QueueId queue;
  std::uint32_t next = 0;  // where the tasks go that take the place of this flow's; mostly itself
};

class Bench {
 public:
  explicit Bench(const CoreBenchOptions& options)
      : options_(options),
        travellers_(std::min({options.tenants, options.queues, options.gpus}) / kTravelOneIn),
        rng_(options.seed) {}

  CoreBenchResult run() {
    configure();
    reserve_own_memory();
    const std::size_t empty = heap_bytes();
    fill();
    const std::size_t full = heap_bytes();
    loop();
    result_.bytes_per_pending_task =
        static_cast<double>(full - empty) / static_cast<double>(pending_after_fill_);
    summarise();
    return std::move(result_);
  }

 private:
  std::uint64_t below(std::uint64_t n) { return rng_.next() % n; }

  void send(core::EventBody body) {
    event_.now = now_;
    event_.body = std::move(body);
    actions_.clear();
    engine_.step(event_, actions_);
    for (const core::Action& action : actions_)
      hash_.add(action);
    result_.actions += actions_.size();
  }

  // So that what the fill adds is the engine's.
  void reserve_own_memory() {
    flow_of_.reserve(options_.pending + options_.events * 2 + options_.gpus * 100ULL);
    batches_.resize(options_.gpus * 2ULL);
    for (std::uint32_t i = 0; i < batches_.size(); ++i) {
      batches_[i].reserve(options_.max_batch_size);
      free_.push_back(i);
    }
    started_.reserve(4096);
    refill_.reserve(4096);
    actions_.reserve(4096);
  }

  void configure() {
    send(core::SetPolicy{[&] {
      core::PolicySpec policy;
      policy.max_live_tasks = core::kLiveTasksMax;
      return policy;
    }()});
    for (std::uint32_t i = 0; i < options_.tenants; ++i) {
      core::TenantSpec spec;
      spec.weight = Milli{1000 + static_cast<std::int64_t>(i % 4) * 500};
      send(core::PutTenant{TenantId{i}, spec});
    }
    const std::uint32_t shared_queues = options_.queues - travellers_ * options_.queues_per_tenant;
    configure_queues();
    configure_gpus(shared_queues);
    make_flows(shared_queues);
  }

  // Each queue has a model of its own.
  void configure_queues() {
    for (std::uint32_t i = 0; i < options_.queues; ++i) {
      core::ModelSpec model;
      model.weights = kWeights;
      model.vram_per_task = kVramPerTask;
      model.load_time = kLoadTime;
      send(core::PutModel{ModelId{i}, model});
      core::QueueSpec queue;
      queue.model = ModelId{i};
      queue.max_batch_size = options_.max_batch_size;
      queue.max_batch_wait = milliseconds(20);
      queue.batch_base = milliseconds(50);
      queue.batch_per_task = microseconds(12'500);
      send(core::PutQueue{QueueId{i}, queue});
    }
  }

  // The models of the shared queues are resident at first, the others nowhere.
  void configure_gpus(std::uint32_t shared_queues) {
    for (std::uint32_t i = 0; i < options_.gpus; ++i) {
      core::GpuSpec gpu;
      gpu.node = NodeId{i / 8};
      gpu.vram = kVramOfGpu;
      send(core::PutGpu{GpuId{i}, gpu});
      for (std::uint32_t k = 0; k < options_.models_per_gpu; ++k) {
        const std::uint32_t model = (i * options_.models_per_gpu + k * 7) % shared_queues;
        send(core::ModelLoaded{GpuId{i}, ModelId{model}, true, Duration{0}, LoadId::none()});
      }
    }
  }

  void make_flows(std::uint32_t shared_queues) {
    const std::uint32_t per_tenant = options_.queues_per_tenant;
    const std::uint32_t settled = options_.tenants - travellers_;
    for (std::uint32_t i = 0; i < settled * per_tenant; ++i) {
      const std::uint32_t tenant = i / per_tenant;
      const std::uint32_t queue = (tenant * per_tenant + i % per_tenant * 251) % shared_queues;
      flows_.push_back({TenantId{tenant}, QueueId{queue}, i});
    }
    first_travelling_ = settled * per_tenant;
    for (std::uint32_t i = 0; i < travellers_ * per_tenant; ++i) {
      const std::uint32_t tenant = i / per_tenant;
      const std::uint32_t next = tenant * per_tenant + (i + 1) % per_tenant;
      flows_.push_back(
          {TenantId{settled + tenant}, QueueId{shared_queues + i}, first_travelling_ + next});
    }
  }

  core::TaskSpec task_of(const Flow& flow) {
    core::TaskSpec spec;
    spec.tenant = flow.tenant;
    spec.queue = flow.queue;
    spec.expected_run = milliseconds(60);
    spec.retry.max_attempts = 3;
    // One in a hundred tolerates only a short wait and will expire.
    if (below(100) == 0)
      spec.tolerated_wait =
          kLongestToleratedWait - milliseconds(static_cast<std::int64_t>(below(1000)));
    return spec;
  }

  void submit(std::uint32_t flow) {
    const TaskNo task = engine_.next_task_no();
    flow_of_.resize(task.value + 1 - first_no_, 0);
    flow_of_[task.value - first_no_] = flow;
    core::EventBody body = core::Submit{task, task_of(flows_[flow])};
    step(std::move(body));
  }

  // One timed step; what it decided is handed to the simulated agents.
  void step(core::EventBody body) {
    const std::size_t kind = body.index();
    event_.now = now_;
    event_.body = std::move(body);
    actions_.clear();
    const std::int64_t begin = measuring_ ? now_ns(CLOCK_MONOTONIC) : 0;
    engine_.step(event_, actions_);
    for (const core::Action& action : actions_)
      hash_.add(action);
    if (measuring_) {
      record(now_ns(CLOCK_MONOTONIC) - begin);
      ++events_by_kind_[kind];
      ++result_.events;
    }
    result_.actions += actions_.size();
    listen();
  }

  void listen() {
    for (const core::Action& action : actions_) {
      ++actions_by_kind_[action.index()];
      if (const auto* batch = std::get_if<core::BatchStarted>(&action)) {
        remember(*batch);
      } else if (const auto* load = std::get_if<core::LoadModel>(&action)) {
        due_.push({now_ + load->expected, order_++, Due::Kind::load, load->load.value, load->gpu,
                   load->model, 0});
      } else if (const auto* ended = std::get_if<core::TaskFinished>(&action)) {
        // Ended without a report of ours: cancelled or expired. Its place is taken at once.
        ++ends_[static_cast<std::size_t>(ended->state)];
        if (ended->state != core::TaskState::completed) refill_.push_back(next_flow(ended->task));
      }
    }
  }

  void remember(const core::BatchStarted& batch) {
    std::uint32_t slot = 0;
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(batches_.size());
      batches_.emplace_back();
    } else {
      slot = free_.back();
      free_.pop_back();
    }
    batches_[slot].clear();
    for (const core::StartedTask& task : batch.tasks)
      batches_[slot].push_back(task.task);
    const auto jitter = static_cast<std::int64_t>(below(1000)) * batch.expected.ns / 5000;
    due_.push({now_ + batch.expected + Duration{jitter},
               order_++,
               Due::Kind::lease,
               batch.lease.value,
               {},
               {},
               slot});
    started_.push_back(batch.lease);
  }

  // Of the task that takes this one's place.
  std::uint32_t next_flow(TaskNo task) const {
    return flows_[flow_of_[task.value - first_no_]].next;
  }

  void fill() {
    const std::uint64_t running = std::uint64_t{options_.gpus} * options_.max_batch_size;
    const std::uint64_t wanted = options_.pending + running;
    for (std::uint64_t i = 0; i < wanted; ++i) {
      submit(static_cast<std::uint32_t>(i % first_travelling_));
      if (i % 64 == 0) drain_started();
    }
    for (std::uint32_t i = 0; i < travellers_ * options_.max_batch_size; ++i) {
      submit(first_travelling_ + i % travellers_ * options_.queues_per_tenant);
    }
    drain_started();
    pending_after_fill_ = engine_.state().tasks.live();
  }

  void drain_started() {
    while (!started_.empty()) {
      const LeaseId lease = started_.back();
      started_.pop_back();
      step(core::LeaseStarted{lease});
    }
  }

  void loop() {
    durations_.assign(kBuckets, 0);
    // Warm up until every batch of the fill has been replaced, and what was to expire of it has
    // expired; then measure.
    const Time warm = now_ + kLongestToleratedWait;
    for (std::uint64_t turns = 0; turns < options_.gpus * 2ULL || now_ < warm; ++turns)
      turn();
    events_by_kind_.fill(0);
    actions_by_kind_.fill(0);
    ends_.fill(0);
    result_.actions = 0;
    measuring_ = true;
    const std::int64_t begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
    while (result_.events < options_.events)
      turn();
    result_.cpu_s = static_cast<double>(now_ns(CLOCK_THREAD_CPUTIME_ID) - begin) * 1e-9;
  }

  // One report of an agent, and the new tasks that keep the number of pending ones up.
  void turn() {
    const Time wakeup = engine_.next_wakeup();
    if (due_.empty() || wakeup < due_.top().at) {
      ASSERT(wakeup != Time::never());
      now_ = std::max(now_, wakeup);
      step(core::Tick{});
      return drain_started();
    }
    const Due due = due_.top();
    due_.pop();
    now_ = std::max(now_, due.at);
    if (due.kind == Due::Kind::load) {
      step(core::ModelLoaded{due.gpu, due.model, true, kLoadTime, LoadId{due.number}});
    } else {
      core::LeaseEnded ended{LeaseId{due.number}, {}};
      for (const TaskNo task : batches_[due.slot]) {
        if (below(100) == 0) {
          ended.outcomes.push_back({task, false, core::Failure::error});
        } else {
          refill_.push_back(next_flow(task));
        }
      }
      free_.push_back(due.slot);
      step(std::move(ended));
    }
    drain_started();
    // Refilling may start batches, and a cancel below may end tasks: both add to the lists.
    for (std::size_t i = 0; i < refill_.size(); ++i) {
      submit(refill_[i]);
      if (below(20) == 0) cancel_one();
    }
    refill_.clear();
    drain_started();
  }

  void cancel_one() {
    const std::uint64_t next = engine_.next_task_no().value;
    const TaskNo task{next - 1 - below(std::min<std::uint64_t>(options_.pending, next - 1))};
    step(core::Cancel{task});
  }

  void record(std::int64_t ns) {
    result_.step_ns_max = std::max(result_.step_ns_max, ns);
    ++durations_[static_cast<std::size_t>(std::min<std::int64_t>(ns / 10, kBuckets - 1))];
  }

  std::int64_t quantile(double q) const {
    const auto target = static_cast<std::uint64_t>(q * static_cast<double>(result_.events));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < durations_.size(); ++i) {
      seen += durations_[i];
      if (seen > target) return static_cast<std::int64_t>(i) * 10;
    }
    return result_.step_ns_max;
  }

  void summarise() {
    result_.events_per_s = static_cast<double>(result_.events) / result_.cpu_s;
    result_.step_ns_p50 = quantile(0.50);
    result_.step_ns_p99 = quantile(0.99);
    result_.step_ns_p999 = quantile(0.999);
    const core::State& state = engine_.state();
    for (const core::Tenant& tenant : state.tenants)
      result_.pending_at_end += tenant.queued;
    result_.running_at_end = state.tasks.live() - result_.pending_at_end;
    result_.hash = hash_.value();
    count_mix();
  }

  void count_mix() {
    const auto event = [&](const char* name, const core::EventBody& kind) {
      result_.mix.push_back({name, events_by_kind_[kind.index()]});
    };
    event("submit", core::Submit{});
    event("cancel", core::Cancel{});
    event("lease_started", core::LeaseStarted{});
    event("lease_ended", core::LeaseEnded{});
    event("model_loaded", core::ModelLoaded{});
    event("tick", core::Tick{});
    const auto deed = [&](const char* name, const core::Action& kind) {
      result_.deeds.push_back({name, actions_by_kind_[kind.index()]});
    };
    deed("batches", core::BatchStarted{});
    deed("retries", core::TaskDeferred{});
    deed("loads", core::LoadModel{});
    deed("evictions", core::EvictModel{});
    for (const core::TaskState state : {core::TaskState::completed, core::TaskState::failed,
                                        core::TaskState::cancelled, core::TaskState::expired}) {
      result_.deeds.push_back(
          {std::string(core::name_of(state)), ends_[static_cast<std::size_t>(state)]});
    }
  }

  static constexpr std::int64_t kBuckets = 100'000;

  CoreBenchOptions options_;
  std::uint32_t travellers_;            // tenants that travel, the last ones
  std::uint32_t first_travelling_ = 0;  // of flows_
  Rng rng_;
  core::Engine engine_;
  journal::RunningHash hash_;
  core::Event event_;
  core::Actions actions_;
  Time now_{0};
  std::uint64_t order_ = 0;
  std::uint64_t first_no_ = 0;
  std::vector<Flow> flows_;
  std::vector<std::uint32_t> flow_of_;
  std::vector<std::uint32_t> refill_;
  std::vector<LeaseId> started_;
  std::vector<std::vector<TaskNo>> batches_;
  std::vector<std::uint32_t> free_;
  std::priority_queue<Due> due_;
  std::vector<std::uint64_t> durations_;
  std::array<std::uint64_t, std::variant_size_v<core::EventBody>> events_by_kind_{};
  std::array<std::uint64_t, std::variant_size_v<core::Action>> actions_by_kind_{};
  std::array<std::uint64_t, core::kTaskStates.size()> ends_{};  // by state
  bool measuring_ = false;
  std::uint64_t pending_after_fill_ = 0;
  CoreBenchResult result_;
};

}  // namespace

CoreBenchResult run_core_bench(const CoreBenchOptions& options) { return Bench(options).run(); }

}  // namespace berth::sim
