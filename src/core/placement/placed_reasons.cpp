// See placed_reasons.h.
#include "core/placement/placed_reasons.h"

#include <algorithm>
#include <bit>
#include <variant>

#include "core/mig/placement.h"
#include "core/topology/gang_search.h"

namespace berth::core {
namespace {

Reason short_of(ReasonCode code, std::int64_t need, std::int64_t have) {
  return {code, need, have, Reason::kNoSubject, Time::never()};
}

// What the cells have at most: GPUs first, then CPUs and memory where the GPUs are.
struct Most {
  std::int64_t gpus = 0;
  std::int64_t share = 0;
  std::int64_t vram = 0;
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
};

Most most_of(const State& state, const Shape& shape) {
  Most most;
  for (const Cell& cell : state.placed.cells) {
    const NodeView& view = cell.view;
    if (shape.gpus > 0 && (view.gpus == 0 || !allows(shape.kinds, view.kind))) continue;
    const std::int64_t gpus = std::popcount(usable_gpus(view, shape));
    most.gpus = std::max(most.gpus, gpus);
    for (std::size_t i = 0; i < view.gpus; ++i) {
      most.share = std::max<std::int64_t>(most.share, view.left[i]);
      if (view.left[i] < shape.share) continue;
      most.vram = std::max<std::int64_t>(most.vram, view.vram[i]);
    }
    if (gpus < shape.gpus) continue;
    most.cpu = std::max(most.cpu, view.cpu.value);
    most.memory = std::max(most.memory, view.memory.value);
  }
  return most;
}

Reason lack_on_one_node(const State& state, const Shape& shape) {
  const Most most = most_of(state, shape);
  if (shape.gpus == 1 && shape.share < kWholeGpu.value && most.share < shape.share) {
    return short_of(ReasonCode::compute_short, shape.share, most.share);
  }
  if (shape.gpus == 1 && most.share >= shape.share && most.vram < shape.vram) {
    return short_of(ReasonCode::vram_short, shape.vram, most.vram);
  }
  if (most.gpus < shape.gpus) return short_of(ReasonCode::node_gpus_short, shape.gpus, most.gpus);
  if (most.cpu < shape.cpu.value) {
    return short_of(ReasonCode::cpu_short, shape.cpu.value, most.cpu);
  }
  if (most.memory < shape.memory.value) {
    return short_of(ReasonCode::memory_short, shape.memory.value, most.memory);
  }
  return short_of(ReasonCode::node_short, 0, 0);
}

ReasonCode gpus_short_at(Level level) {
  switch (level) {
    case Level::gpu:
    case Level::island:
      return ReasonCode::island_gpus_short;
    case Level::node:
      return ReasonCode::node_gpus_short;
    case Level::rack:
      return ReasonCode::rack_gpus_short;
    case Level::cluster:
      break;
  }
  return ReasonCode::gpus_short;
}

Reason reason_of(const Lack& lack, const Shape& shape) {
  const bool in_cluster = lack.level == Level::cluster;
  const std::int64_t need = in_cluster ? shape.gpus : lack.group_size;
  if (lack.what == Lacking::cpu) return short_of(ReasonCode::cpu_short, shape.cpu.value, 0);
  if (lack.what == Lacking::memory) {
    return short_of(ReasonCode::memory_short, shape.memory.value, 0);
  }
  if (lack.groups > 1 && lack.groups_found > 0) {
    return short_of(ReasonCode::groups_short, lack.groups, lack.groups_found);
  }
  return short_of(gpus_short_at(lack.level), need, lack.gpus_found);
}

Reason lack_of_gang(const State& state, const Shape& shape) {
  std::optional<Lack> closest;
  for (const Shape& asked : shapes_for_tree(state, shape)) {
    const GangAnswer answer = find_gang(*state.placed.tree, asked);
    if (std::holds_alternative<Gang>(answer)) return {};
    const auto* lack = std::get_if<Lack>(&answer);
    if (lack != nullptr && (!closest || lack->gpus_found > closest->gpus_found)) closest = *lack;
  }
  if (closest) return reason_of(*closest, shape);
  return short_of(ReasonCode::gpus_short, shape.gpus, 0);
}

bool fits_somewhere(const State& state, const Shape& shape) {
  return std::any_of(state.placed.cells.begin(), state.placed.cells.end(),
                     [&](const Cell& cell) { return fits(cell.view, shape); });
}

// Of the instances on the GPU that overlap with one that began here.
std::optional<Holder> last_in_the_way(const State& state, GpuId id, const mig::SlotClass& slot,
                                      int start) {
  std::optional<Holder> last;
  for (const std::uint32_t i : state.gpu(id).leases) {
    const Lease& lease = state.leases[i];
    const mig::SlotClass& other =
        *mig::slot_class(lease.instance->geometry, lease.instance->profile);
    const bool overlaps =
        (mig::slices_from(other, lease.instance->start) & mig::slices_from(slot, start)) != 0;
    if (!overlaps && !(slot.media && other.media)) continue;
    const Time end = likely_end(state, lease);
    if (!last || last->expected_end < end) last = Holder{lease.id, id, lease.vram, end};
  }
  return last;
}

// GPUs in MIG mode that have the shape's profile, and what nodes with a free start could give.
struct MigRoom {
  std::int64_t gpus = 0;
  std::int64_t starts = 0;
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
};

MigRoom mig_room(const State& state, const Shape& shape) {
  MigRoom room;
  for (std::uint32_t i = 0; i < state.gpus.size(); ++i) {
    const Gpu& gpu = state.gpus[i];
    const mig::SlotClass* slot = slot_for(gpu.spec.mig, shape);
    if (slot == nullptr || !gpu.mig_entry || !allows(shape.kinds, gpu.spec.kind)) continue;
    ++room.gpus;
    const Node& node = state.node(gpu.spec.node);
    for (int start = 0; start < mig::kMemorySlicesMax; ++start) {
      if (!mig::legal(gpu.slices, *slot, start)) continue;
      ++room.starts;
      room.cpu = std::max(room.cpu, (node.spec.cpu - node.cpu_used).value);
      room.memory = std::max(room.memory, (node.spec.memory - node.memory_used).value);
    }
  }
  return room;
}

Reason lack_of_instance(const State& state, const Shape& shape) {
  for (std::uint32_t i = 0; i < state.gpus.size(); ++i) {
    if (fits_instance(state, GpuId{i}, shape)) return {};
  }
  const MigRoom room = mig_room(state, shape);
  if (room.gpus == 0) return short_of(ReasonCode::no_gpu_up, 1, 0);
  if (room.starts == 0) {
    return {ReasonCode::mig_start_short, room.gpus, 0, shape.profile, Time::never()};
  }
  if (room.cpu < shape.cpu.value) {
    return short_of(ReasonCode::cpu_short, shape.cpu.value, room.cpu);
  }
  if (room.memory < shape.memory.value) {
    return short_of(ReasonCode::memory_short, shape.memory.value, room.memory);
  }
  return short_of(ReasonCode::node_short, 0, 0);
}

// Of the instances that lie where one could start, the one that is expected to end last; of all
// starts, that of the one which is free first.
std::optional<Holder> first_start_to_be_free(const State& state, const Shape& shape) {
  std::optional<Holder> first;
  for (std::uint32_t i = 0; i < state.gpus.size(); ++i) {
    const Gpu& gpu = state.gpus[i];
    const mig::SlotClass* slot = slot_for(gpu.spec.mig, shape);
    if (slot == nullptr || !gpu.mig_entry || !allows(shape.kinds, gpu.spec.kind)) continue;
    for (int start = 0; start < mig::kMemorySlicesMax; ++start) {
      if ((slot->starts >> start & 1) == 0) continue;
      const auto last = last_in_the_way(state, GpuId{i}, *slot, start);
      if (last && (!first || last->expected_end < first->expected_end)) first = last;
    }
  }
  return first;
}

Reason lack_of(const State& state, const Shape& shape) {
  if (shape.profile != mig::kNoProfile) return lack_of_instance(state, shape);
  if (!lies_on_one_node(shape)) return lack_of_gang(state, shape);
  if (fits_somewhere(state, shape)) return {};
  return lack_on_one_node(state, shape);
}

// The lease on GPUs that it may use which is expected to end first.
std::optional<Holder> first_to_end(const State& state, const Shape& shape) {
  std::optional<Holder> first;
  for (std::uint32_t i = 0; i < state.gpus.size(); ++i) {
    const Gpu& gpu = state.gpus[i];
    const bool may_use = gpu.up && !gpu.draining && takes_batches(gpu) &&
                         allows(shape.kinds, gpu.spec.kind) && gpu.usable.value >= shape.vram;
    if (!may_use) continue;
    for (const std::uint32_t slot : gpu.leases) {
      const Lease& lease = state.leases[slot];
      const Time end = likely_end(state, lease);
      if (!first || end < first->expected_end) first = Holder{lease.id, GpuId{i}, lease.vram, end};
    }
  }
  return first;
}

// When something ends that has CPUs or memory.
Time first_end_on_nodes(const State& state) {
  Time first = Time::never();
  for (const Lease& lease : state.leases) {
    const bool has_some = lease.id && (lease.cpu.value > 0 || lease.memory.value > 0);
    if (has_some) first = std::min(first, likely_end(state, lease));
  }
  return first;
}

// It fits now, but others are planned: the first of them that it would delay.
Reason behind_reservation(const State& state) {
  const Reservation& first = state.placed.plan.reservations.front();
  return {ReasonCode::behind_reservation, 0, 0, first.handle, first.start};
}

// It fits, but the plan has no room for it: work on a GPU that drains counts there until it ends.
Reason lack_in_plan(const State& state, const Shape& shape) {
  const PlacedPlan& plan = state.placed.plan;
  if (!plan.kept || !plan.long_work.cap || shape.gpus == 0) return {};
  const std::int64_t amount = std::int64_t{shape.share} * shape.gpus;
  const auto free_in = [&](PoolId pool) {
    return plan.pools.profile(pool).level(state.now, state.now);
  };
  std::int64_t most = 0;
  if (shape.gpus == 1) {
    for (const Cell& cell : state.placed.cells) {
      const bool counts = !cell.gpus.empty() && allows(shape.kinds, cell.view.kind);
      if (counts) most = std::max(most, free_in(cell.pool));
    }
  } else {
    most = free_in(plan.all);
  }
  if (most >= amount) return {};
  const Parts all{{plan.all, amount}};
  Reason reason = short_of(ReasonCode::gpus_short, shape.gpus, most / kWholeGpu.value);
  reason.at = plan.pools.next_end(all, state.now);
  return reason;
}

}  // namespace

Time likely_end(const State& state, const Lease& lease) {
  if (lease.expected.ns == 0) return Time::never();
  return std::max(state.now, lease.started + lease.expected);
}

PlacedReason why_not_placed(const State& state, std::uint32_t slot) {
  const TaskRow& row = state.tasks.row(slot);
  const Shape shape = shape_of(state, row);
  PlacedReason out;
  if (const auto claim = state.claims.find(row.no); claim != state.claims.end()) {
    const auto free = std::count_if(claim->second.begin(), claim->second.end(),
                                    [&](GpuId gpu) { return state.gpu(gpu).leases.empty(); });
    out.reason = {ReasonCode::preempting, shape.gpus, free, row.no.value, Time::never()};
    return out;
  }
  const bool is_mig = shape.profile != mig::kNoProfile;  // what needs no cells
  if (state.placed.cells_stale && !is_mig) return out;
  out.reason = lack_of(state, shape);
  if (!out.reason) {
    if (is_mig) return out;
    out.reason = long_work_lack(state, row, shape);
    if (!out.reason) out.reason = lack_in_plan(state, shape);
    if (out.reason) return out;
    const std::vector<Reservation>& planned = state.placed.plan.reservations;
    if (!planned.empty() && planned.front().handle != row.no.value) {
      out.reason = behind_reservation(state);
    }
    return out;
  }
  const bool is_of_node =
      out.reason.code == ReasonCode::cpu_short || out.reason.code == ReasonCode::memory_short;
  if (is_of_node) {
    out.reason.at = first_end_on_nodes(state);
  } else if ((out.holder =
                  is_mig ? first_start_to_be_free(state, shape) : first_to_end(state, shape))) {
    out.reason.at = out.holder->expected_end;
  }
  return out;
}

}  // namespace berth::core
