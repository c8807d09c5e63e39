// Primitives over GPUs and the models resident on them. See state.h.
#include <algorithm>

#include "base/assert.h"
#include "core/state/state.h"

namespace berth::core {
namespace {

// In residences or pauses, which are sorted by model.
auto position_of(auto& entries, ModelId model) {
  return std::lower_bound(entries.begin(), entries.end(), model,
                          [](const auto& entry, ModelId m) { return entry.model < m; });
}

void leave_indexes(State& state, GpuId id) {
  Gpu& gpu = state.gpu(id);
  if (!gpu.indexed) return;
  state.free_fit.erase(id, gpu.free_entry);
  state.reclaim_fit.erase(id, gpu.reclaim_entry);
  for (const Residence& residence : gpu.residences) {
    if (!residence.loading) state.model(residence.model).fit.erase(id, gpu.free_entry);
  }
  gpu.indexed = false;
}

// The sets of GPUs by usable VRAM that the GPU belongs to as it stands.
void forget_standing(State& state, GpuId id) {
  const std::uint64_t key = usable_key(state, id);
  for (OrderedSet* set : {&state.usable, &state.accepting, &state.holdable})
    set->erase(key);
}

void note_standing(State& state, GpuId id) {
  const Gpu& gpu = state.gpu(id);
  if (gpu.spec.mig != mig::Geometry::none) return;  // of no use to batches
  const std::uint64_t key = usable_key(state, id);
  state.usable.insert(key);
  if (!gpu.up || gpu.draining) return;
  state.accepting.insert(key);
  if (!is_held(gpu)) state.holdable.insert(key);
}

// Adds the GPU's residences to those that are open, or takes them out, when it is open itself.
void count_open(State& state, const Gpu& gpu, int sign) {
  if (!is_open(gpu)) return;
  for (const Residence& residence : gpu.residences) {
    if (residence.loading) continue;
    state.model(residence.model).resident_open += static_cast<std::uint32_t>(sign);
  }
}

}  // namespace

FitIndex empty_fit_index(const State& state) {
  FitIndex index;
  index.keep_numbers(state.policy.packing == Packing::first_fit);
  return index;
}

Mib usable_part(const State& state, Mib vram) {
  return Mib{vram.value * state.policy.vram_usable.value / 1000};
}

Mib free_vram(const Gpu& gpu) { return gpu.usable - gpu.leased - gpu.weights; }

Mib reclaimable_vram(const Gpu& gpu) { return gpu.usable - gpu.leased - gpu.weights_busy; }

Milli load_of(const Gpu& gpu) { return std::max(gpu.shares, gpu.reported); }

bool compute_allows(const State& state, const Gpu& gpu, Milli share) {
  if (!takes_batches(gpu)) return false;
  return gpu.leases.empty() || load_of(gpu) + share <= state.policy.gpu_load_threshold;
}

bool takes_batches(const Gpu& gpu) {
  return gpu.spec.mig == mig::Geometry::none && gpu.cut == mig::Geometry::none;
}

bool is_open(const Gpu& gpu) {
  return gpu.up && !gpu.draining && !is_held(gpu) && gpu.spec.mig == mig::Geometry::none;
}

void index_gpu(State& state, GpuId id) {
  Gpu& gpu = state.gpu(id);
  note_node(state, gpu.spec.node);
  leave_indexes(state, id);
  const bool idle = gpu.leases.empty();
  const bool startable = is_open(gpu) && takes_batches(gpu) && free_vram(gpu).value >= 0 &&
                         (idle || load_of(gpu) < state.policy.gpu_load_threshold);
  if (startable) {
    const Milli load = idle ? Milli{0} : load_of(gpu);
    gpu.free_entry = {free_vram(gpu), idle, load};
    gpu.reclaim_entry = {reclaimable_vram(gpu), idle, load};
    state.free_fit.insert(id, gpu.free_entry);
    state.reclaim_fit.insert(id, gpu.reclaim_entry);
    for (const Residence& residence : gpu.residences) {
      if (!residence.loading) state.model(residence.model).fit.insert(id, gpu.free_entry);
    }
    gpu.indexed = true;
  }
  if (gpu.spec.mig != mig::Geometry::none) index_mig(state, id);
}

void set_gpu_spec(State& state, GpuId id, const GpuSpec& spec) {
  Gpu& gpu = state.gpu(id);
  const bool changes_mode = gpu.spec.mig != spec.mig;
  if (changes_mode && gpu.held_for) release_hold(state, id);
  if (changes_mode && gpu.kept_for) release_keep(state, id);
  leave_mig_index(state, id);
  count_open(state, gpu, -1);
  gpu.spec = spec;
  count_open(state, gpu, 1);
}

void refresh_gpu(State& state, GpuId id) {
  index_gpu(state, id);
  for (const Residence& residence : state.gpu(id).residences)
    refresh_queues_of(state, residence.model);
}

Residence* find_residence(Gpu& gpu, ModelId model) {
  const auto it = position_of(gpu.residences, model);
  return it != gpu.residences.end() && it->model == model ? &*it : nullptr;
}

const Residence* find_residence(const Gpu& gpu, ModelId model) {
  const auto it = position_of(gpu.residences, model);
  return it != gpu.residences.end() && it->model == model ? &*it : nullptr;
}

Residence& add_residence(State& state, GpuId id, ModelId model, LoadId load, bool loading) {
  leave_indexes(state, id);
  Gpu& gpu = state.gpu(id);
  ASSERT(find_residence(gpu, model) == nullptr);
  const auto at = gpu.residences.insert(position_of(gpu.residences, model), Residence{});
  at->model = model;
  at->load = load;
  at->loading = loading;
  at->since = at->idle_since = state.now;
  at->weights = state.model(model).spec.weights;
  gpu.weights += at->weights;
  Model& owner = state.model(model);
  owner.gpus.insert(std::lower_bound(owner.gpus.begin(), owner.gpus.end(), id), id);
  if (loading) {
    gpu.weights_busy += at->weights;
    ++owner.loading;
  } else {
    ++owner.resident;
    if (is_open(gpu)) ++owner.resident_open;
  }
  return *at;
}

void note_resident(State& state, GpuId id, ModelId model) {
  leave_indexes(state, id);
  Gpu& gpu = state.gpu(id);
  Residence& residence = *find_residence(gpu, model);
  ASSERT(residence.loading);
  residence.loading = false;
  residence.since = residence.idle_since = state.now;
  gpu.weights_busy -= residence.weights;
  Model& owner = state.model(model);
  --owner.loading;
  ++owner.resident;
  if (is_open(gpu)) ++owner.resident_open;
}

void remove_residence(State& state, GpuId id, ModelId model) {
  leave_indexes(state, id);
  Gpu& gpu = state.gpu(id);
  const auto at = position_of(gpu.residences, model);
  ASSERT(at != gpu.residences.end() && at->model == model);
  ASSERT(at->leases == 0 || !gpu.up);
  Model& owner = state.model(model);
  gpu.weights -= at->weights;
  if (at->loading || at->leases > 0) gpu.weights_busy -= at->weights;
  if (at->loading) {
    --owner.loading;
  } else {
    --owner.resident;
    if (is_open(gpu)) --owner.resident_open;
    owner.resident_time = owner.resident_time + (state.now - at->since);
  }
  owner.gpus.erase(std::lower_bound(owner.gpus.begin(), owner.gpus.end(), id));
  gpu.residences.erase(at);
  gpu.adopts = false;
}

Node& node_for(State& state, NodeId id) {
  if (!state.has(id)) {
    state.nodes.resize(id.value + 1);
    state.placed.cells_stale = true;
  }
  return state.node(id);
}

void join_node(State& state, GpuId id) {
  state.placed.cells_stale = true;
  auto& gpus = node_for(state, state.gpu(id).spec.node).gpus;
  gpus.insert(std::lower_bound(gpus.begin(), gpus.end(), id), id);
}

void leave_node(State& state, GpuId id) {
  state.placed.cells_stale = true;
  std::erase(state.node(state.gpu(id).spec.node).gpus, id);
}

std::int64_t node_part(std::int64_t whole, std::int64_t m, std::int64_t n) {
  return (whole * m + n - 1) / n;
}

std::vector<NodeCount> count_by_node(const State& state, const std::vector<GpuId>& gpus,
                                     NodeId node) {
  if (node) return {{node, 1}};
  std::vector<NodeCount> counts;
  for (const GpuId gpu : gpus) {
    const NodeId home = state.gpu(gpu).spec.node;
    if (!counts.empty() && counts.back().node == home) {
      ++counts.back().gpus;
    } else {
      counts.push_back({home, 1});
    }
  }
  std::sort(counts.begin(), counts.end(),
            [](const NodeCount& a, const NodeCount& b) { return a.node < b.node; });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < counts.size(); ++i) {
    if (counts[i].node == counts[kept].node) {
      counts[kept].gpus += counts[i].gpus;
    } else {
      counts[++kept] = counts[i];
    }
  }
  if (!counts.empty()) counts.resize(kept + 1);
  return counts;
}

void use_nodes(State& state, const Lease& lease, int sign) {
  if (lease.cpu.value == 0 && lease.memory.value == 0) return;
  const std::int64_t n = std::max<std::int64_t>(1, lease.asked);
  for (const NodeCount& part : count_by_node(state, lease.gpus, lease.node)) {
    Node& node = state.node(part.node);
    node.cpu_used += Milli{sign * node_part(lease.cpu.value, part.gpus, n)};
    node.memory_used += Mib{sign * node_part(lease.memory.value, part.gpus, n)};
    ASSERT(node.cpu_used.value >= 0 && node.memory_used.value >= 0);
    note_node(state, part.node);
    if (sign < 0) note_mig_node(state, part.node);
  }
}

void set_usable(State& state, GpuId id, Mib usable) {
  forget_standing(state, id);
  state.gpu(id).usable = usable;
  note_standing(state, id);
}

void set_gpu_flags(State& state, GpuId id, bool up, bool draining) {
  state.placed.plan.kept = false;  // its pools have another size
  state.placed.stale = true;
  forget_standing(state, id);
  Gpu& gpu = state.gpu(id);
  count_open(state, gpu, -1);
  gpu.up = up;
  gpu.draining = draining;
  count_open(state, gpu, 1);
  note_standing(state, id);
}

void hold_gpu(State& state, GpuId id, QueueId queue) {
  ASSERT(!is_held(state.gpu(id)));
  count_open(state, state.gpu(id), -1);
  state.gpu(id).held_for = queue;
  state.holdable.erase(usable_key(state, id));
  state.queue(queue).holds.push_back(id);
  state.holding.insert(queue);
  refresh_gpu(state, id);
}

void release_hold(State& state, GpuId id) {
  const QueueId holder = state.gpu(id).held_for;
  ASSERT(holder);
  state.gpu(id).held_for = QueueId::none();
  note_standing(state, id);
  count_open(state, state.gpu(id), 1);
  std::erase(state.queue(holder).holds, id);
  if (state.queue(holder).holds.empty()) state.holding.erase(holder);
  refresh_gpu(state, id);
}

void keep_gpu(State& state, GpuId id, TaskNo task) {
  ASSERT(!is_held(state.gpu(id)));
  count_open(state, state.gpu(id), -1);
  state.gpu(id).kept_for = task;
  state.holdable.erase(usable_key(state, id));
  std::vector<GpuId>& kept = state.kept[task];
  kept.insert(std::lower_bound(kept.begin(), kept.end(), id), id);
  refresh_gpu(state, id);
}

void release_keep(State& state, GpuId id) {
  const TaskNo task = state.gpu(id).kept_for;
  ASSERT(task);
  drop_claim(state, task);  // of all its GPUs or none
  state.gpu(id).kept_for = TaskNo::none();
  if (state.gpu(id).up) {
    note_standing(state, id);
    count_open(state, state.gpu(id), 1);
  }
  std::erase(state.kept[task], id);
  if (state.kept[task].empty()) state.kept.erase(task);
  refresh_gpu(state, id);
}

void release_keeps(State& state, TaskNo task) {
  const auto found = state.kept.find(task);
  if (found == state.kept.end()) return;
  const std::vector<GpuId> gpus = found->second;
  for (const GpuId gpu : gpus)
    release_keep(state, gpu);
}

const LoadPause* find_pause(const Gpu& gpu, ModelId model) {
  const auto it = position_of(gpu.pauses, model);
  return it != gpu.pauses.end() && it->model == model ? &*it : nullptr;
}

void pause_loads(State& state, GpuId id, ModelId model) {
  constexpr std::uint32_t kDoublingsMax = 9;
  auto& pauses = state.gpu(id).pauses;
  auto at = position_of(pauses, model);
  if (at == pauses.end() || at->model != model) {
    at = pauses.insert(at, LoadPause{model, 0, {}});
    ++state.model(model).failing_gpus;
  }
  const std::uint32_t doublings = std::min(at->failures, kDoublingsMax);
  if (at->failures < UINT32_MAX) ++at->failures;
  at->until = state.now + std::min(Duration{seconds(1).ns << doublings}, minutes(5));
}

void end_pause(State& state, GpuId id, ModelId model) {
  auto& pauses = state.gpu(id).pauses;
  const auto at = position_of(pauses, model);
  if (at == pauses.end() || at->model != model) return;
  --state.model(model).failing_gpus;
  pauses.erase(at);
}

void end_pauses(State& state, GpuId id) {
  for (const LoadPause& pause : state.gpu(id).pauses)
    --state.model(pause.model).failing_gpus;
  state.gpu(id).pauses.clear();
}

Duration keep_alive_step(const Model& model) { return std::max(model.spec.keep_alive, seconds(1)); }

void arm_keep_alive(State& state, GpuId id) {
  Time due = Time::never();
  for (const Residence& residence : state.gpu(id).residences) {
    if (residence.loading || residence.leases > 0) continue;
    const Duration step = keep_alive_step(state.model(residence.model));
    if (step == Duration::forever()) continue;
    const std::int64_t since_look = (state.now - residence.idle_since).ns % step.ns;
    due = std::min(due, state.now - Duration{since_look} + step);
  }
  state.timers.set(TimerKind::keep_alive, id.value, id.value, due);
}

}  // namespace berth::core
