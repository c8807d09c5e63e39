// See oracle.h.
#include "tests/property/oracle.h"

#include <algorithm>
#include <type_traits>

#include "core/mig/profiles.h"

namespace berth::property {
namespace {

void require(bool holds, const std::string& sentence) {
  if (!holds) throw Broken(sentence);
}
template <class Tag, class Rep>
std::string text(const char* noun, Id<Tag, Rep> id) {
  return std::string(noun) + " " + std::to_string(id.value);
}

}  // namespace

void Oracle::read(const Step& step) {
  asked_.clear();
  for (std::size_t i = 0; i < step.from_timers; ++i)
    apply(step.actions[i]);
  apply(step.event);
  for (std::size_t i = step.from_timers; i < step.actions.size(); ++i)
    apply(step.actions[i]);
  require(asked_.empty(), "a submit was not answered");
  for (const auto& [id, lease] : leases_) {
    require(!lease.node || nodes_[lease.node.value].up, text("lease", id) + " is on a lost node");
  }
}

std::vector<TaskNo> Oracle::live() const {
  std::vector<TaskNo> live;
  for (const auto& [no, known] : tasks_)
    live.push_back(no);
  return live;
}

Oracle::Task& Oracle::task(TaskNo no) {
  const auto it = tasks_.find(no);
  require(it != tasks_.end(),
          text("task", no) + (ended_.contains(no) ? " has ended" : " is unknown"));
  return it->second;
}
const Oracle::Task& Oracle::task(TaskNo no) const { return const_cast<Oracle*>(this)->task(no); }

Mib Oracle::leased(GpuId gpu) const {
  Mib sum;
  for (const auto& [id, lease] : leases_) {
    if (lease.instance) continue;  // its memory is cut off
    if (std::count(lease.gpus.begin(), lease.gpus.end(), gpu) > 0) sum += lease.vram;
  }
  return sum;
}
std::vector<const Oracle::Lease*> Oracle::leases_on(GpuId gpu) const {
  std::vector<const Lease*> leases;
  for (const auto& [id, lease] : leases_) {
    if (std::count(lease.gpus.begin(), lease.gpus.end(), gpu) > 0) leases.push_back(&lease);
  }
  return leases;
}
bool Oracle::takes_batches(GpuId gpu) const {
  const std::vector<const Lease*> leases = leases_on(gpu);
  return gpus_.at(gpu).spec.mig == core::mig::Geometry::none &&
         std::none_of(leases.begin(), leases.end(),
                      [](const Lease* lease) { return lease->instance.has_value(); });
}
Mib Oracle::weights(GpuId gpu) const {
  Mib sum;
  for (const auto& [model, weights] : gpus_.at(gpu).weights)
    sum += weights.size;
  return sum;
}
void Oracle::take_away(Gpu& gpu, ModelId model) {
  gpu.weights.erase(model);
  gpu.was_left = true;
}
bool Oracle::uses(GpuId gpu, ModelId model) const {
  return std::any_of(leases_.begin(), leases_.end(), [&](const auto& entry) {
    const Lease& lease = entry.second;
    return lease.model == model && std::count(lease.gpus.begin(), lease.gpus.end(), gpu) > 0;
  });
}

void Oracle::lose(GpuId gpu) {
  Gpu& lost = gpus_.at(gpu);
  lost.up = false;
  lost.weights.clear();
  lost.loading.clear();
}

// A model given to a queue with live gangs is its when they have ended.
void Oracle::put(const core::PutQueue& put) {
  const ModelId before = queues_[put.queue].model;
  queues_[put.queue] = put.spec;
  next_models_.erase(put.queue);
  if (!put.spec.model || gangs(put.queue) == 0) return;
  queues_[put.queue].model = before;
  next_models_[put.queue] = put.spec.model;
}
std::int64_t Oracle::gangs(QueueId queue) const {
  return std::count_if(tasks_.begin(), tasks_.end(), [&](const auto& entry) {
    const Task& live = entry.second;
    return live.spec.queue == queue && (live.spec.gpus > 1 || live.placed);
  });
}

Oracle::Node& Oracle::node_for(NodeId id) {
  if (nodes_.size() <= id.value) nodes_.resize(id.value + 1);
  return nodes_[id.value];
}

void Oracle::bring_back(Gpu& gpu) const {
  if (!nodes_[gpu.spec.node.value].up) return;
  if (!gpu.up) gpu.was_left = false;
  gpu.up = true;
}

void Oracle::apply(const core::Event& event) {
  if (const auto* hold = std::get_if<core::HoldStarts>(&event.body)) starts_held_ = hold->held;
  require(event.now >= now_, "time ran back before the event");
  if (!std::holds_alternative<core::Tick>(event.body)) now_ = event.now;
  std::visit(
      [&](const auto& e) {
        using Body = std::decay_t<decltype(e)>;
        if constexpr (std::is_same_v<Body, core::SetPolicy>) policy_ = e.spec;
        if constexpr (std::is_same_v<Body, core::PutTenant>) tenants_[e.tenant] = e.spec;
        if constexpr (std::is_same_v<Body, core::PutQueue>) put(e);
        if constexpr (std::is_same_v<Body, core::PutModel>) models_[e.model] = e.spec;
        if constexpr (std::is_same_v<Body, core::PutNode>) node_for(e.node).spec = e.spec;
        if constexpr (std::is_same_v<Body, core::PutGpu>) {
          gpus_[e.gpu].spec = e.spec;
          if (!node_for(e.spec.node).up) lose(e.gpu);
        }
        if constexpr (std::is_same_v<Body, core::Submit>) asked_[e.task] = e.spec;
        if constexpr (std::is_same_v<Body, core::SubmitWorkflow>) {
          for (std::size_t i = 0; i < e.tasks.size(); ++i) {
            asked_[TaskNo{e.first.value + i}] = e.tasks[i];
          }
        }
        if constexpr (std::is_same_v<Body, core::DrainQueue>) {
          queue_draining_[e.queue] = e.draining;
        }
        if constexpr (std::is_same_v<Body, core::PauseQueue>) queue_paused_[e.queue] = e.paused;
        if constexpr (std::is_same_v<Body, core::PauseTenant>) tenant_paused_[e.tenant] = e.paused;
        if constexpr (std::is_same_v<Body, core::Release>) {
          if (tasks_.contains(e.task)) tasks_.at(e.task).held = false;
        }
        if constexpr (std::is_same_v<Body, core::ResolveSignal>) signals_.insert(e.signal);
        if constexpr (std::is_same_v<Body, core::DrainGpu>) {
          if (gpus_.contains(e.gpu)) gpus_.at(e.gpu).draining = e.draining;
        }
        if constexpr (std::is_same_v<Body, core::GpuLost>) {
          if (gpus_.contains(e.gpu)) lose(e.gpu);
        }
        if constexpr (std::is_same_v<Body, core::NodeLost>) {
          if (e.node.value < nodes_.size()) nodes_[e.node.value].up = false;
          for (auto& [id, gpu] : gpus_) {
            if (gpu.spec.node == e.node) lose(id);
          }
        }
        if constexpr (std::is_same_v<Body, core::GpuReturned>) {
          if (gpus_.contains(e.gpu)) bring_back(gpus_.at(e.gpu));
        }
        if constexpr (std::is_same_v<Body, core::NodeReturned>) {
          if (e.node.value < nodes_.size()) nodes_[e.node.value].up = true;
          for (auto& [id, gpu] : gpus_) {
            if (gpu.spec.node == e.node) bring_back(gpu);
          }
        }
        if constexpr (std::is_same_v<Body, core::GpuUtilisation>) {
          if (gpus_.contains(e.gpu)) gpus_.at(e.gpu).reported = e.utilisation;
        }
        if constexpr (std::is_same_v<Body, core::ModelLoaded>) {
          if (!gpus_.contains(e.gpu) || !gpus_.at(e.gpu).up) return;
          Gpu& gpu = gpus_.at(e.gpu);
          const auto known = gpu.weights.find(e.model);
          if (e.load) {
            const bool is_answer = known != gpu.weights.end() && known->second.load == e.load;
            if (!is_answer || gpu.loading.erase(e.model) == 0) return;
            if (!e.ok) take_away(gpu, e.model);
            return;
          }
          // Unasked: taken over where it fits, unless something has left the GPU before.
          const Mib size = models_.at(e.model).weights;
          const auto usable = Mib{gpu.spec.vram.value * policy_.vram_usable.value / 1000};
          if (!takes_batches(e.gpu)) return;
          if (!gpu.was_left && e.ok && leased(e.gpu) + weights(e.gpu) + size <= usable) {
            gpu.weights.try_emplace(e.model, Weights{size, {}});
          }
        }
        if constexpr (std::is_same_v<Body, core::ModelUnloaded>) {
          if (!gpus_.contains(e.gpu)) return;
          Gpu& gpu = gpus_.at(e.gpu);
          const auto known = gpu.weights.find(e.model);
          if (known == gpu.weights.end() || known->second.load != e.load) return;
          if (!gpu.loading.contains(e.model) && !uses(e.gpu, e.model)) take_away(gpu, e.model);
        }
      },
      event.body);
}

bool Oracle::is_placed(const Task& task) const {
  const QueueId queue = task.spec.queue;
  const bool packs = policy_.packing == core::Packing::frag && !next_models_.contains(queue);
  return !queues_.at(queue).model && (packs || !is_plain(shape_of(task.spec, task.vram)));
}

// A model that waited for the last gang of its queue has come.
void Oracle::gang_left(QueueId queue) {
  if (!next_models_.contains(queue) || gangs(queue) > 0) return;
  queues_.at(queue).model = next_models_.extract(queue).mapped();
}

void Oracle::change(const core::TaskChanged& changed) {
  Task& known = task(changed.task);
  const std::string who = text("task", changed.task);
  require(!known.lease, who + " was changed while it ran");
  const QueueId before = known.spec.queue;
  known.spec.queue = changed.queue;
  known.spec.priority = changed.priority;
  known.vram = changed.vram;
  if (before == changed.queue) return;
  known.placed = is_placed(known);
  gang_left(before);
}

void Oracle::apply(const core::Action& action) {
  std::visit(
      [&](const auto& a) {
        using Body = std::decay_t<decltype(a)>;
        if constexpr (std::is_same_v<Body, core::Instant>) {
          require(a.at >= now_, "time ran back at an instant");
          now_ = a.at;
        }
        if constexpr (std::is_same_v<Body, core::TaskAccepted>) {
          const auto asked = asked_.find(a.task);
          require(asked != asked_.end(), text("task", a.task) + " was accepted unasked");
          require(!tasks_.contains(a.task) && !ended_.contains(a.task),
                  text("task", a.task) + " was accepted twice");
          Task fresh;
          fresh.spec = asked->second;
          require(!queue_draining_[fresh.spec.queue],
                  text("task", a.task) + " was accepted while its queue drained");
          fresh.submitted = now_;
          fresh.held = fresh.spec.held;
          fresh.isolation = tenants_.at(fresh.spec.tenant).isolation;
          require(fresh.spec.profile == 0 || fresh.isolation != core::Isolation::gpu,
                  text("task", a.task) + " was accepted with a profile against its isolation");
          fresh.vram = fresh.spec.vram;
          const ModelId model = queues_.at(fresh.spec.queue).model;
          if (model && fresh.vram.value == 0) fresh.vram = models_.at(model).vram_per_task;
          fresh.placed = is_placed(fresh);
          tasks_[a.task] = fresh;
          asked_.erase(asked);
        }
        if constexpr (std::is_same_v<Body, core::TaskRefused>) asked_.erase(a.task);
        if constexpr (std::is_same_v<Body, core::TaskReady>) {
          require(!task(a.task).lease, text("task", a.task) + " became ready while it ran");
        }
        if constexpr (std::is_same_v<Body, core::TaskChanged>) change(a);
        if constexpr (std::is_same_v<Body, core::StopTask>) task(a.task).stopping = a.lease;
        if constexpr (std::is_same_v<Body, core::TaskDeferred>) {
          Task& deferred = task(a.task);
          deferred.lease = LeaseId::none();
          deferred.held = deferred.held || a.reason.code == core::ReasonCode::task_held ||
                          a.reason.code == core::ReasonCode::poison_held;
        }
        if constexpr (std::is_same_v<Body, core::TaskFinished>) {
          const Task& finished = task(a.task);
          require(core::is_terminal(a.state), text("task", a.task) + " ended in no end");
          require(a.state != core::TaskState::completed || finished.lease,
                  text("task", a.task) + " completed without running");
          const bool by_deadline =
              a.reason.code == core::ReasonCode::deadline_passed && finished.lease;
          require(a.state != core::TaskState::expired || by_deadline || !finished.started_once,
                  text("task", a.task) + " expired after it had started");
          const QueueId queue = finished.spec.queue;
          tasks_.erase(a.task);
          ended_[a.task] = a.state;
          gang_left(queue);
        }
        if constexpr (std::is_same_v<Body, core::BatchStarted>) start(a);
        if constexpr (std::is_same_v<Body, core::SliceLost>) {
          require(leases_.contains(a.lease), text("lease", a.lease) + " is unknown");
          require(std::erase(leases_.at(a.lease).gpus, a.gpu) == 1,
                  text("lease", a.lease) + " lost a slice it did not have");
        }
        if constexpr (std::is_same_v<Body, core::LeaseClosed>) {
          require(leases_.erase(a.lease) == 1, text("lease", a.lease) + " closed twice");
          for (const auto& [no, known] : tasks_) {
            require(known.lease != a.lease, text("task", no) + " was left in a closed lease");
          }
        }
        if constexpr (std::is_same_v<Body, core::LoadModel>) {
          Gpu& gpu = gpus_.at(a.gpu);
          require(gpu.up && !gpu.draining, "a load on a GPU that takes no work");
          const Weights weights_now{models_.at(a.model).weights, a.load};
          require(a.load.value == next_load_++, "a load has the number of another");
          require(gpu.weights.emplace(a.model, weights_now).second,
                  text("model", a.model) + " loaded where it is");
          gpu.loading.insert(a.model);
          const Mib usable{gpu.spec.vram.value * policy_.vram_usable.value / 1000};
          require(leased(a.gpu) + weights(a.gpu) <= usable,
                  text("model", a.model) + " loaded over the VRAM of " + text("GPU", a.gpu));
        }
        if constexpr (std::is_same_v<Body, core::EvictModel>) {
          Gpu& gpu = gpus_.at(a.gpu);
          require(!uses(a.gpu, a.model), text("model", a.model) + " evicted while in use");
          require(!gpu.loading.contains(a.model), text("model", a.model) + " evicted in its load");
          require(gpu.weights.contains(a.model) && gpu.weights.at(a.model).load == a.load,
                  text("model", a.model) + " evicted from nowhere");
          take_away(gpu, a.model);
        }
      },
      action);
}

void Oracle::check_gpu(const core::BatchStarted& batch, GpuId id) const {
  const std::string where = text("lease", batch.lease) + " on " + text("GPU", id);
  const Gpu& gpu = gpus_.at(id);
  require(gpu.up, where + ": the GPU is lost");
  require(!gpu.draining, where + ": the GPU drains");
  if (batch.instance) return check_instance(batch, id);
  require(takes_batches(id), where + ": the GPU is cut into instances");
  const Mib usable{gpu.spec.vram.value * policy_.vram_usable.value / 1000};
  const Mib used = leased(id) + weights(id) + batch.vram;
  require(used <= usable,
          where + ": " + std::to_string(used.value) + " MiB of " + std::to_string(usable.value));
  if (batch.model) {
    require(gpu.weights.contains(batch.model) && !gpu.loading.contains(batch.model),
            where + ": " + text("model", batch.model) + " is not resident");
  }
  Milli shares;
  bool idle = true;
  for (const auto& [other, lease] : leases_) {
    if (std::count(lease.gpus.begin(), lease.gpus.end(), id) == 0) continue;
    shares += lease.share;
    idle = false;
  }
  const Milli load = std::max(shares, gpu.reported) + batch.share;
  require(idle || load <= policy_.gpu_load_threshold,
          where + ": load " + std::to_string(load.value) + " of " +
              std::to_string(policy_.gpu_load_threshold.value));
  require(idle || batch.gpus.size() == 1, where + ": a gang on a busy GPU");
}

// Bits of the slices, by the rule of the tables: a start that is allowed, nobody else's slices, one
// media extension, all instances of one geometry and nothing else beside them.
void Oracle::check_instance(const core::BatchStarted& batch, GpuId id) const {
  const std::string where = text("lease", batch.lease) + " on " + text("GPU", id);
  const core::MigInstance& own = *batch.instance;
  const Gpu& gpu = gpus_.at(id);
  require(batch.gpus.size() == 1 && batch.tasks.size() == 1, where + ": an instance is shared");
  require(own.geometry != core::mig::Geometry::none && own.geometry == gpu.spec.mig,
          where + ": the GPU is cut in another way");
  require(gpu.weights.empty(), where + ": models are in the way");
  const core::mig::SlotClass* slot = core::mig::slot_class(own.geometry, own.profile);
  require(slot != nullptr, where + ": the GPU does not have the profile");
  require(own.start < 8 && (slot->starts >> own.start & 1) != 0, where + ": no legal start");
  require(batch.vram == slot->memory, where + ": another VRAM than the profile's");
  require(batch.share.value == slot->compute_slices * 1000 / 7, where + ": another share");
  const auto mask = [](const core::mig::SlotClass& of, unsigned start) {
    return ((1U << of.memory_slices) - 1U) << start;
  };
  int compute = slot->compute_slices;
  for (const Lease* lease : leases_on(id)) {
    require(lease->instance.has_value(), where + ": a batch runs there");
    const core::MigInstance& other = *lease->instance;
    require(other.geometry == own.geometry, where + ": instances of two geometries");
    const core::mig::SlotClass& taken = *core::mig::slot_class(other.geometry, other.profile);
    require((mask(taken, other.start) & mask(*slot, own.start)) == 0, where + ": an overlap");
    require(!taken.media || !slot->media, where + ": two with the media extension");
    compute += taken.compute_slices;
  }
  require(compute <= 7, where + ": more compute slices than there are");
}

void Oracle::check_alone(const core::BatchStarted& batch, const Lease& lease) const {
  if (batch.instance) return;
  for (const GpuId gpu : batch.gpus) {
    for (const Lease* other : leases_on(gpu)) {
      require(!lease.alone && !other->alone,
              text("lease", batch.lease) + " shares " + text("GPU", gpu) + " against an isolation");
    }
  }
}

void Oracle::check_task(const core::BatchStarted& batch, const core::StartedTask& started) const {
  const std::string who = text("task", started.task);
  const Task& known = task(started.task);
  require(!starts_held_, who + " started while starts were held");
  require(!known.lease, who + " started twice");
  require(!known.stopping || !leases_.contains(known.stopping),
          who + " started beside its last attempt, which is being stopped");
  require(!known.held, who + " started while held");
  require(known.spec.queue == batch.queue, who + " is of another queue than its batch");
  require(known.spec.gpus == batch.gpus.size(), who + " started on a part of its GPUs");
  require(known.spec.cpu == batch.cpu && known.spec.memory == batch.memory,
          who + " got other CPUs or memory than it asked for");
  require(is_plain(shape_of(known.spec, known.vram)) || batch.tasks.size() == 1,
          who + " asks for more than a part of a GPU and shares a batch");
  check_domain(batch, known.spec);
  require(batch.instance ? batch.instance->profile == known.spec.profile : known.spec.profile == 0,
          who + " has another instance than it asked for");
  require(batch.instance || known.spec.share <= batch.share,
          who + " has a larger share than its batch");
  require(known.spec.not_before <= now_, who + " started too early");
  require(known.started_once || known.submitted + known.spec.tolerated_wait >= now_,
          who + " started past its tolerated wait");
  for (const TenantId tenant : with_those_above(known.spec.tenant)) {
    require(!tenant_paused_.contains(tenant) || !tenant_paused_.at(tenant),
            who + " started while " + text("tenant", tenant) + " was paused");
  }
  for (const core::Dependency& on : known.spec.depends_on) {
    if (on.kind == core::Dependency::Kind::signal) {
      require(signals_.contains(SignalId{on.id}), who + " started before its signal");
      continue;
    }
    const auto end = ended_.find(TaskNo{on.id});
    require(end != ended_.end(), who + " started before its dependency ended");
    require(end->second == core::TaskState::completed ||
                known.spec.on_dependency_failure == core::OnDependencyFailure::release,
            who + " started though its dependency failed");
  }
}

// GPUs of a kind that it allows, and each group in one domain of the level that it requires.
void Oracle::check_domain(const core::BatchStarted& batch, const core::TaskSpec& spec) const {
  const std::string who = text("lease", batch.lease);
  const std::size_t group_size = std::max<std::size_t>(1, batch.gpus.size() / spec.groups);
  for (std::size_t i = 0; i < batch.gpus.size(); ++i) {
    const core::GpuSpec& gpu = gpus_.at(batch.gpus[i]).spec;
    require(core::allows(spec.kinds, gpu.kind), who + " has a kind of GPU that was not asked for");
    const core::GpuSpec& first = gpus_.at(batch.gpus[i - i % group_size]).spec;
    if (!spec.required || i % group_size == 0) continue;
    const auto rack = [&](NodeId node) { return nodes_.at(node.value).spec.rack; };
    require(rack(gpu.node) == rack(first.node), who + ": a group is in several racks");
    if (spec.within == core::Level::rack) continue;
    const bool is_island = spec.within == core::Level::island;
    require(is_island || gpu.node == first.node, who + ": a group is on several nodes");
    require(!is_island || (gpu.island && gpu.island == first.island),
            who + ": a group is on several islands");
  }
}

std::map<NodeId, std::int64_t> Oracle::parts_of(const Lease& lease) const {
  std::map<NodeId, std::int64_t> parts;
  if (lease.node) parts[lease.node] = 1;
  for (const GpuId gpu : lease.gpus)
    ++parts[gpus_.at(gpu).spec.node];
  return parts;
}

// Each node gives the part of its GPUs, rounded up, and never more than it has in all.
void Oracle::check_nodes(const core::BatchStarted& batch, const Lease& lease) const {
  const std::string who = text("lease", batch.lease);
  require(static_cast<bool>(batch.node) == batch.gpus.empty(), who + " has both GPUs and a node");
  if (lease.cpu.value == 0 && lease.memory.value == 0) return;
  const auto part = [](std::int64_t whole, std::int64_t m, std::int64_t n) {
    return whole / n * m + (whole % n * m + n - 1) / n;
  };
  for (const auto& [node, mine] : parts_of(lease)) {
    require(nodes_.at(node.value).up, who + " starts on a lost node");
    std::int64_t cpu = part(lease.cpu.value, mine, lease.asked);
    std::int64_t memory = part(lease.memory.value, mine, lease.asked);
    for (const auto& [id, other] : leases_) {
      const auto parts = parts_of(other);
      const auto found = parts.find(node);
      if (found == parts.end()) continue;
      cpu += part(other.cpu.value, found->second, other.asked);
      memory += part(other.memory.value, found->second, other.asked);
    }
    const core::NodeSpec& has = nodes_.at(node.value).spec;
    // A node put anew with less is over-committed by what ran before.
    require(lease.cpu.value == 0 || cpu <= has.cpu.value,
            who + ": " + std::to_string(cpu) + " milli-CPUs of " + std::to_string(has.cpu.value) +
                " on " + text("node", node));
    require(lease.memory.value == 0 || memory <= has.memory.value,
            who + ": " + std::to_string(memory) + " MiB of " + std::to_string(has.memory.value) +
                " on " + text("node", node));
  }
}

std::vector<TenantId> Oracle::with_those_above(TenantId tenant) const {
  std::vector<TenantId> chain;
  for (; tenant; tenant = tenants_.at(tenant).parent)
    chain.push_back(tenant);
  return chain;
}

// Limits of the queue and of every tenant and all above it, with this batch counted in.
void Oracle::check_limits(const core::BatchStarted& batch, const Lease& lease) const {
  std::int64_t in_queue = batch.share.value * static_cast<std::int64_t>(batch.gpus.size());
  std::map<TenantId, std::int64_t> by_tenant;
  const auto count = [&](const Lease& running) {
    for (const auto& [tenant, use] : running.use) {
      for (const TenantId above : with_those_above(tenant))
        by_tenant[above] += use;
    }
  };
  count(lease);
  for (const auto& [id, other] : leases_) {
    count(other);
    if (other.queue == batch.queue) {
      in_queue += other.share.value * static_cast<std::int64_t>(other.gpus.size());
    }
  }
  const auto& queue_max = queues_.at(batch.queue).max_gpus;
  require(!queue_max || in_queue <= queue_max->value,
          text("queue", batch.queue) + " uses more GPUs than it may");
  for (const auto& [of, own] : lease.use) {
    for (const TenantId tenant : with_those_above(of)) {
      const core::TenantSpec& spec = tenants_.at(tenant);
      const std::int64_t use = by_tenant.at(tenant);
      const std::string who = text("tenant", tenant) + " uses " + std::to_string(use);
      require(!spec.max_gpus || use <= spec.max_gpus->value, who + ", more than its maximum");
      require(!spec.borrow_gpus || use <= spec.guaranteed_gpus.value + spec.borrow_gpus->value,
              who + ", more than it may borrow");
    }
  }
}

void Oracle::start(const core::BatchStarted& batch) {
  const std::string who = text("lease", batch.lease);
  require(leases_ever_.insert(batch.lease).second, who + " was promised twice");
  require(!batch.tasks.empty() && (!batch.gpus.empty() || batch.node), who + " is empty");
  const core::QueueSpec& queue = queues_.at(batch.queue);
  require(batch.tasks.size() <= queue.max_batch_size, who + " is larger than max_batch_size");
  require(batch.tasks.size() == 1 || batch.gpus.size() == 1, who + " is a batch of gangs");
  require(batch.model == queue.model, who + " has another model than its queue");
  require(!queue_paused_[batch.queue], who + " started while its queue was paused");
  require(std::set<GpuId>(batch.gpus.begin(), batch.gpus.end()).size() == batch.gpus.size(),
          who + " names a GPU twice");
  for (const GpuId gpu : batch.gpus)
    check_gpu(batch, gpu);

  Lease lease{batch.queue,
              batch.model,
              batch.share,
              batch.vram,
              batch.gpus,
              batch.node,
              batch.cpu,
              batch.memory,
              batch.instance,
              false,
              std::max<std::int64_t>(1, static_cast<std::int64_t>(batch.gpus.size())),
              {}};
  check_nodes(batch, lease);
  const auto count = static_cast<std::int64_t>(batch.tasks.size());
  const std::int64_t use = batch.share.value * static_cast<std::int64_t>(batch.gpus.size());
  Mib vram;
  std::set<TenantId> tenants;
  bool isolated = false;
  bool lone = false;
  for (std::int64_t i = 0; i < count; ++i) {
    const core::StartedTask& started = batch.tasks[static_cast<std::size_t>(i)];
    check_task(batch, started);
    Task& known = task(started.task);
    known.lease = batch.lease;
    known.started_once = true;
    vram += known.vram;
    tenants.insert(known.spec.tenant);
    isolated = isolated || tenants_.at(known.spec.tenant).isolation != core::Isolation::none;
    lone = lone || (known.spec.command && !queues_.at(batch.queue).batch_commands);
    lease.alone = lease.alone || known.isolation >= core::Isolation::slice;
    lease.use.emplace_back(known.spec.tenant, use * (i + 1) / count - use * i / count);
  }
  require(batch.instance ? vram <= batch.vram : vram == batch.vram,
          who + " promises " + std::to_string(batch.vram.value) + " MiB for tasks of " +
              std::to_string(vram.value));
  require(!isolated || tenants.size() == 1, who + " mixes an isolated tenant with others");
  require(!lone || count == 1, who + " has a command that shares no batch beside other tasks");
  check_alone(batch, lease);
  check_limits(batch, lease);
  leases_[batch.lease] = std::move(lease);
}

}  // namespace berth::property
