// See preemption.h.
#include "core/preemption/preemption.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "base/assert.h"
#include "core/preemption/one_gpu.h"
#include "core/preemption/victims.h"
#include "core/topology/gang_search.h"
#include "core/topology/what_if.h"

namespace berth::core {
namespace {

// The cluster as it would be without what is being stopped already, and the victims taken so far.
class Emptied {
 public:
  Emptied(const State& state, const TaskRow& row, FreeIndex& index,
          const std::vector<std::uint32_t>& stopping)
      : state_(state), row_(row), what_if_(index), index_(index) {
    for (const std::uint32_t slot : stopping)
      take(slot);
    stopping_ = stopping.size();
  }

  void take(std::uint32_t slot) {
    const Lease& lease = state_.leases[slot];
    for (const NodeCount& part : count_by_node(state_, lease.gpus, lease.node)) {
      const Milli cpu{node_part(lease.cpu.value, part.gpus, lease.asked)};
      const Mib memory{node_part(lease.memory.value, part.gpus, lease.asked)};
      add_to_node(part.node, cpu, memory);
    }
    for (const GpuId gpu : lease.gpus) {
      const std::size_t gone = ++gone_[gpu];
      if (gone < state_.gpu(gpu).leases.size() || !may_become_free(state_, gpu, row_)) continue;
      add_gpu(gpu);
    }
    marks_.push_back(what_if_.mark());
    taken_.push_back(slot);
  }
  void go_back(std::size_t count) {
    while (taken_.size() > stopping_ + count) {
      const Lease& lease = state_.leases[taken_.back()];
      for (const NodeCount& part : count_by_node(state_, lease.gpus, lease.node)) {
        Left& left = left_.at(part.node);
        left.cpu -= Milli{node_part(lease.cpu.value, part.gpus, lease.asked)};
        left.memory -= Mib{node_part(lease.memory.value, part.gpus, lease.asked)};
      }
      for (const GpuId gpu : lease.gpus)
        --gone_[gpu];
      taken_.pop_back();
      marks_.pop_back();
      what_if_.go_back(marks_.empty() ? 0 : marks_.back());
    }
  }

 private:
  // Of a node. Below zero where a claim counts on what has not gone yet.
  struct Left {
    Milli cpu;
    Mib memory;
  };

  void add_to_node(NodeId node, Milli cpu, Mib memory) {
    Left& left = left_.try_emplace(node, left_now(node)).first->second;
    left.cpu += cpu;
    left.memory += memory;
    const auto& first = state_.placed.first_cell;
    for (std::uint32_t cell = first[node.value]; cell < first[node.value + 1]; ++cell) {
      Room room = index_.room_on(NodeId{cell});
      room.cpu = std::max(Milli{0}, left.cpu);
      room.memory = std::max(Mib{0}, left.memory);
      what_if_.set_node(NodeId{cell}, room);
    }
  }
  Left left_now(NodeId id) const {
    const Node& node = state_.node(id);
    return {node.spec.cpu - node.cpu_used - node.cpu_claimed,
            node.spec.memory - node.memory_used - node.memory_claimed};
  }
  void add_gpu(GpuId gpu) {
    const std::uint32_t cell = state_.placed.cell_of[gpu.value];
    const auto& gpus = state_.placed.cells[cell].gpus;
    const auto place = std::find(gpus.begin(), gpus.end(), gpu) - gpus.begin();
    Room room = index_.room_on(NodeId{cell});
    room.gpus = static_cast<GpuMask>(room.gpus | 1U << place);
    what_if_.set_node(NodeId{cell}, room);
  }

  const State& state_;
  const TaskRow& row_;
  WhatIf what_if_;
  FreeIndex& index_;
  std::map<GpuId, std::size_t> gone_;  // leases taken from it
  std::map<NodeId, Left> left_;        // where something was taken
  std::size_t stopping_ = 0;
  std::vector<std::uint32_t> taken_;  // those that are being stopped first
  std::vector<std::size_t> marks_;
};

bool fits(const FreeIndex& index, const std::vector<Shape>& asked) {
  return std::any_of(asked.begin(), asked.end(),
                     [&](const Shape& shape) { return gang_fits(index, shape) == GangFits::yes; });
}

std::optional<Gang> found(const FreeIndex& index, const std::vector<Shape>& asked) {
  for (const Shape& shape : asked) {
    GangAnswer answer = find_gang(index, shape);
    if (auto* gang = std::get_if<Gang>(&answer)) return std::move(*gang);
  }
  return std::nullopt;
}

// Takes more and more victims until the task fits, then as few of them as will do. Nothing: it does
// not fit without all of them.
std::optional<std::vector<std::uint32_t>> fewest(Emptied& emptied, const FreeIndex& index,
                                                 VictimOrder& order,
                                                 const std::vector<Shape>& asked) {
  std::vector<std::uint32_t> taken;
  std::size_t too_few = 0;
  while (!fits(index, asked)) {
    too_few = taken.size();
    while (taken.size() < std::max<std::size_t>(2 * too_few, 1)) {
      const auto more = order.next();
      if (!more) break;
      taken.push_back(*more);
      emptied.take(*more);
    }
    if (taken.size() == too_few) return std::nullopt;
  }
  while (too_few + 1 < taken.size()) {
    const std::size_t middle = too_few + (taken.size() - too_few) / 2;
    emptied.go_back(middle);
    if (fits(index, asked)) {
      taken.resize(middle);
      continue;
    }
    too_few = middle;
    for (std::size_t i = middle; i < taken.size(); ++i)
      emptied.take(taken[i]);
  }
  return taken;
}

// Whether the nodes have the CPUs and memory for the gang when these leases are gone.
bool nodes_suffice(const State& state, const TaskRow& row, const Shape& shape,
                   const std::vector<GpuId>& gpus, const std::set<std::uint32_t>& gone) {
  for (const NodeCount& part : count_by_node(state, gpus, NodeId::none())) {
    const Node& node = state.node(part.node);
    const Milli cpu_left = node.spec.cpu - node.cpu_used - node.cpu_claimed;
    const Mib memory_left = node.spec.memory - node.memory_used - node.memory_claimed;
    std::int64_t cpu = cpu_left.value;
    std::int64_t memory = memory_left.value;
    for (const std::uint32_t slot : gone) {
      const Lease& lease = state.leases[slot];
      for (const NodeCount& held : count_by_node(state, lease.gpus, lease.node)) {
        if (held.node != part.node) continue;
        cpu += node_part(lease.cpu.value, held.gpus, lease.asked);
        memory += node_part(lease.memory.value, held.gpus, lease.asked);
      }
    }
    if (node_part(shape.cpu.value, part.gpus, row.gpus) > cpu) return false;
    if (node_part(shape.memory.value, part.gpus, row.gpus) > memory) return false;
  }
  return true;
}

// Of the victims, those that lie on the GPUs, and those without which CPUs or memory would be
// short.
std::vector<std::uint32_t> needed(const State& state, const TaskRow& row, const Shape& shape,
                                  const Gang& gang, const std::vector<std::uint32_t>& victims,
                                  const std::vector<std::uint32_t>& stopping) {
  std::set<std::uint32_t> on_gpus;
  for (const GpuId gpu : gang.gpus)
    on_gpus.insert(state.gpu(gpu).leases.begin(), state.gpu(gpu).leases.end());
  std::set<std::uint32_t> gone = on_gpus;
  gone.insert(stopping.begin(), stopping.end());
  std::set<NodeId> nodes;
  for (const GpuId gpu : gang.gpus)
    nodes.insert(state.gpu(gpu).spec.node);
  for (const std::uint32_t slot : victims) {
    if (nodes_suffice(state, row, shape, gang.gpus, gone)) break;
    const Lease& lease = state.leases[slot];
    const bool is_there = std::any_of(lease.gpus.begin(), lease.gpus.end(), [&](GpuId gpu) {
      return nodes.contains(state.gpu(gpu).spec.node);
    });
    if (is_there) gone.insert(slot);
  }
  for (const std::uint32_t slot : victims) {
    if (on_gpus.contains(slot) || !gone.contains(slot)) continue;
    gone.erase(slot);
    if (!nodes_suffice(state, row, shape, gang.gpus, gone)) gone.insert(slot);
  }
  std::vector<std::uint32_t> kept;
  for (const std::uint32_t slot : victims) {
    if (gone.contains(slot)) kept.push_back(slot);
  }
  return kept;
}

// Whether work of this shape stops others at all.
bool asks_for_gpus(const Shape& shape) {
  const bool is_whole = shape.share == kWholeGpu.value;
  return shape.gpus > 0 && shape.profile == mig::kNoProfile && (is_whole || shape.gpus == 1);
}

bool may_share_batch(const State& state, const TaskRow& a, const TaskRow& b) {
  const Sharing sharing = sharing_of(state, a.tenant, a.queue, a.command);
  if (sharing != sharing_of(state, b.tenant, b.queue, b.command)) return false;
  return sharing == Sharing::all || (sharing == Sharing::tenant && a.tenant == b.tenant);
}

// Whether another task of its queue has claimed a GPU already, and will start a batch there in
// which it may have a place.
bool waits_for_fellow(const State& state, const TaskRow& row) {
  if (state.queue(row.queue).spec.max_batch_size == 1) return false;
  return std::any_of(state.claims.begin(), state.claims.end(), [&](const auto& claim) {
    const TaskRow& other = state.tasks.row(state.tasks.slot_of(claim.first));
    if (other.queue != row.queue || other.gpus != row.gpus || other.tier > row.tier) return false;
    const Mib usable = state.gpu(claim.second.front()).usable;
    return is_plain(shape_of(state, other)) && row.share <= other.share &&
           may_share_batch(state, row, other) && Mib{row.vram} + Mib{other.vram} <= usable;
  });
}

// Plans for one task after the other on the same state.
class Planner {
 public:
  explicit Planner(const State& state) : state_(state), uses_(state) {
    for (std::uint32_t slot = 0; slot < state.leases.size(); ++slot) {
      if (state.leases[slot].id && state.leases[slot].preempted) stopping_.push_back(slot);
    }
  }

  // `is_first`: nobody waits before it, so what is being freed is its own.
  PreemptionAnswer plan_for(std::uint32_t slot, bool is_first);

 private:
  using Slots = std::vector<std::uint32_t>;
  std::optional<PreemptionPlan> plan_gang(const TaskRow& row, const Shape& shape,
                                          VictimOrder& order, const Slots& stopping) const;
  std::optional<PreemptionPlan> plan_one(const TaskRow& row, const Shape& shape, VictimOrder& order,
                                         const Slots& stopping) const;
  // When the task may ask: batches first get the time to be served as they come.
  Time asks_from(const TaskRow& row) const {
    return row.shape == kNoSlot ? row.eligible + kPreemptionStep : row.eligible;
  }
  const Victims& victims_of(std::int64_t rank) {
    const auto known = victims_.find(rank);
    if (known != victims_.end()) return known->second;
    return victims_.emplace(rank, victims_for(state_, rank)).first->second;
  }

  const State& state_;
  const Uses uses_;
  Slots stopping_;                           // leases that end when their agents say so
  std::map<std::int64_t, Victims> victims_;  // by the rank of who asks
};

PreemptionAnswer Planner::plan_for(std::uint32_t slot, bool is_first) {
  const TaskRow& row = state_.tasks.row(slot);
  const Shape shape = shape_of(state_, row);
  if (state_.now < asks_from(row)) return {std::nullopt, asks_from(row)};
  if (row.shape == kNoSlot && waits_for_fellow(state_, row)) return {};
  const std::int64_t rank = uses_.rank_of(row);
  const Victims& victims = victims_of(rank);
  PreemptionAnswer answer{.plan = std::nullopt, .again = victims.again};
  const bool outranks_some = !victims.heap.empty() || victims.again != Time::never();
  if (!outranks_some) return answer;
  VictimOrder order(state_, uses_, rank, victims, [&](std::uint32_t lease) {
    const std::vector<GpuId>& gpus = state_.leases[lease].gpus;
    return std::any_of(gpus.begin(), gpus.end(),
                       [&](GpuId gpu) { return is_of_use(state_, gpu, row, shape); });
  });
  const Slots stopping = is_first ? stopping_ : Slots{};
  const bool is_gang = row.shape != kNoSlot && shape.share == kWholeGpu.value;
  answer.plan =
      is_gang ? plan_gang(row, shape, order, stopping) : plan_one(row, shape, order, stopping);
  return answer;
}

std::optional<PreemptionPlan> Planner::plan_gang(const TaskRow& row, const Shape& shape,
                                                 VictimOrder& order, const Slots& stopping) const {
  const std::vector<Shape> asked = shapes_for_tree(state_, shape);
  FreeIndex index = *state_.placed.tree;
  Emptied emptied(state_, row, index, stopping);
  const auto taken = fewest(emptied, index, order, asked);
  if (!taken) return std::nullopt;
  const auto gang = found(index, asked);
  ASSERT(gang);
  // What fits on free GPUs waits for something else: its turn.
  const bool is_free = std::all_of(gang->gpus.begin(), gang->gpus.end(),
                                   [&](GpuId gpu) { return state_.gpu(gpu).leases.empty(); });
  if (taken->empty() && is_free) return std::nullopt;
  return PreemptionPlan{row.no, gang->gpus, needed(state_, row, shape, *gang, *taken, stopping)};
}

std::optional<PreemptionPlan> Planner::plan_one(const TaskRow& row, const Shape& shape,
                                                VictimOrder& order, const Slots& stopping) const {
  // Its queue's leader may wait for something larger, beside GPUs that would do for this one.
  if (row.shape == kNoSlot) {
    const auto free = state_.free_fit.find(Mib{row.vram}, Milli{row.share},
                                           state_.policy.gpu_load_threshold, state_.policy.packing);
    if (free) return PreemptionPlan{row.no, {*free}, {}};
  }
  auto found = plan_one_gpu(state_, row, shape, order, stopping);
  if (!found) return std::nullopt;
  return PreemptionPlan{row.no, {found->gpu}, std::move(found->victims)};
}

}  // namespace

PreemptionAnswer plan_preemption(const State& state, const std::vector<TaskNo>& waiting) {
  PreemptionAnswer none;
  Planner planner(state);
  for (const TaskNo task : waiting) {
    const std::uint32_t slot = state.tasks.slot_of(task);
    if (slot == kNoSlot) continue;
    const TaskRow& row = state.tasks.row(slot);
    if (row.state != TaskState::pending || state.claims.contains(task)) continue;
    if (!asks_for_gpus(shape_of(state, row))) continue;
    PreemptionAnswer answer = planner.plan_for(slot, task == waiting.front());
    if (answer.plan) return answer;
    none.again = std::min(none.again, answer.again);
  }
  return none;
}

void carry_out(const State& state, const PreemptionPlan& plan, Actions& out) {
  for (const GpuId gpu : plan.gpus) {
    const QueueId holder = state.gpu(gpu).held_for;
    if (holder) out.push_back(ReleaseHold{gpu, holder});
  }
  out.push_back(Preempt{plan.task, plan.gpus});
  for (const std::uint32_t slot : plan.victims) {
    const Lease& lease = state.leases[slot];
    for (const LeaseTask& task : lease.tasks) {
      if (!task.live) continue;
      const TaskRow& row = state.tasks.row(task.slot);
      out.push_back(StopTask{lease.id, task.task});
      out.push_back(TaskDeferred{task.task,
                                 {ReasonCode::preempted, 0, 0, plan.task.value, Time::never()},
                                 row.eligible,
                                 Failure::infrastructure});
    }
  }
}

}  // namespace berth::core
