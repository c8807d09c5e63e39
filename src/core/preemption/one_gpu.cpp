// See one_gpu.h.
#include "core/preemption/one_gpu.h"

#include <algorithm>

namespace berth::core {
namespace {

// The GPUs of the lease; and those beside them on its nodes, where CPUs and memory may decide.
std::vector<GpuId> gpus_helped_by(const State& state, const Lease& lease, const Shape& shape) {
  if (shape.cpu.value == 0 && shape.memory.value == 0) return lease.gpus;
  std::vector<GpuId> gpus;
  for (const NodeCount& part : count_by_node(state, lease.gpus, lease.node)) {
    const std::vector<GpuId>& there = state.node(part.node).gpus;
    gpus.insert(gpus.end(), there.begin(), there.end());
  }
  return gpus;
}

bool has_gpu_room(const State& state, const Gpu& gpu, const TaskRow& row, const Gone& gone) {
  Mib vram{row.vram};
  Milli shares;
  Milli reported = gpu.reported;
  bool is_alone = true;
  for (const std::uint32_t slot : gpu.leases) {
    if (gone.contains(slot)) {
      reported -= state.leases[slot].share;
      continue;
    }
    is_alone = false;
    shares += state.leases[slot].share;
    vram += state.leases[slot].vram;
  }
  for (const Residence& residence : gpu.residences) {
    const auto uses = [&](std::uint32_t slot) {
      return state.leases[slot].model == residence.model && !gone.contains(slot);
    };
    const bool is_used = std::any_of(gpu.leases.begin(), gpu.leases.end(), uses);
    if (is_used || residence.loading) vram += residence.weights;
  }
  const Milli load = std::max(shares, reported) + Milli{row.share};
  const bool is_whole = row.share == kWholeGpu.value;
  const bool computes = is_alone || (!is_whole && load <= state.policy.gpu_load_threshold);
  return computes && vram <= gpu.usable;
}

// What the node would have left for the task.
bool has_node_room(const State& state, NodeId id, const Shape& shape, const Gone& gone) {
  if (shape.cpu.value == 0 && shape.memory.value == 0) return true;
  const Node& node = state.node(id);
  Milli cpu = node.spec.cpu - node.cpu_used - node.cpu_claimed;
  Mib memory = node.spec.memory - node.memory_used - node.memory_claimed;
  std::vector<std::uint32_t> leases;
  for (const GpuId gpu : node.gpus) {
    const std::vector<std::uint32_t>& there = state.gpu(gpu).leases;
    leases.insert(leases.end(), there.begin(), there.end());
  }
  std::sort(leases.begin(), leases.end());
  leases.erase(std::unique(leases.begin(), leases.end()), leases.end());
  for (const std::uint32_t slot : leases) {
    if (!gone.contains(slot)) continue;
    const Lease& lease = state.leases[slot];
    for (const NodeCount& part : count_by_node(state, lease.gpus, lease.node)) {
      if (part.node != id) continue;
      cpu += Milli{node_part(lease.cpu.value, part.gpus, lease.asked)};
      memory += Mib{node_part(lease.memory.value, part.gpus, lease.asked)};
    }
  }
  return shape.cpu <= cpu && shape.memory <= memory;
}

// Of those taken, the ones without which there would be no room, given the last.
std::vector<std::uint32_t> needed(const State& state, GpuId gpu, const TaskRow& row,
                                  const Shape& shape, const std::vector<std::uint32_t>& taken,
                                  Gone& gone) {
  std::vector<std::uint32_t> kept;
  for (auto slot = taken.rbegin(); slot != taken.rend(); ++slot) {
    gone.remove(*slot);
    if (has_room_without(state, gpu, row, shape, gone)) continue;
    gone.add(*slot);
    kept.push_back(*slot);
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

// Whether the queue that a GPU is held for, if any, leaves it to the task.
bool gives_way(const State& state, QueueId holder, const TaskRow& row) {
  if (!holder || holder == row.queue) return true;
  const std::uint32_t leader = state.queue(holder).leader_slot;
  return leader == kNoSlot || state.tasks.row(leader).tier > row.tier;
}

}  // namespace

bool may_become_free(const State& state, GpuId id, const TaskRow& row) {
  const Gpu& gpu = state.gpu(id);
  const bool is_loading = std::any_of(gpu.residences.begin(), gpu.residences.end(),
                                      [](const Residence& residence) { return residence.loading; });
  // What placed work has reserved is kept from batches.
  const bool is_kept =
      row.shape == kNoSlot ? static_cast<bool>(gpu.kept_for) : state.claims.contains(gpu.kept_for);
  return gpu.up && !gpu.draining && gives_way(state, gpu.held_for, row) && !is_loading &&
         takes_batches(gpu) && !is_kept && gpu.usable.value >= row.vram;
}

bool is_of_use(const State& state, GpuId gpu, const TaskRow& row, const Shape& shape) {
  return allows(shape.kinds, state.gpu(gpu).spec.kind) && may_become_free(state, gpu, row);
}

bool has_room_without(const State& state, GpuId gpu, const TaskRow& row, const Shape& shape,
                      const Gone& gone) {
  return has_gpu_room(state, state.gpu(gpu), row, gone) &&
         has_node_room(state, state.gpu(gpu).spec.node, shape, gone);
}

std::optional<OneGpuPlan> plan_one_gpu(const State& state, const TaskRow& row, const Shape& shape,
                                       VictimOrder& order,
                                       const std::vector<std::uint32_t>& stopping) {
  const Gone nobody(state);
  Gone gone(state);
  std::vector<std::uint32_t> taken;
  const auto find_room = [&](std::uint32_t slot) {
    const std::vector<GpuId> gpus = gpus_helped_by(state, state.leases[slot], shape);
    const auto found = std::find_if(gpus.begin(), gpus.end(), [&](GpuId gpu) {
      // Where there is room already, it waits for something else: its turn.
      return is_of_use(state, gpu, row, shape) && has_room_without(state, gpu, row, shape, gone) &&
             !has_room_without(state, gpu, row, shape, nobody);
    });
    return found == gpus.end() ? GpuId::none() : *found;
  };
  for (const std::uint32_t slot : stopping)
    gone.add(slot);
  for (const std::uint32_t slot : stopping) {
    if (const GpuId gpu = find_room(slot)) return OneGpuPlan{gpu, {}};
  }
  while (const auto more = order.next()) {
    taken.push_back(*more);
    gone.add(*more);
    if (const GpuId gpu = find_room(*more)) {
      return OneGpuPlan{gpu, needed(state, gpu, row, shape, taken, gone)};
    }
  }
  return std::nullopt;
}

}  // namespace berth::core
