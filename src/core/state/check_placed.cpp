// Checks placed work: benches, cells, and the pools of the plan. See check.h, and placed.h for the
// invariants.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "core/state/check.h"
#include "core/topology/gang_search.h"

namespace berth::core {
namespace {

bool has_profile(const State& state, std::uint32_t shape) {
  return state.shape_table.shape(shape).profile != mig::kNoProfile;
}

std::string_view name_of(PlacedBench bench) {
  constexpr std::array<std::string_view, 3> kNames = {"none", "open", "blocked"};
  return kNames[static_cast<std::size_t>(bench)];
}

// --- benches ---

// Who stands in an index, by shape or flow, with which key.
using Standing = std::map<std::uint32_t, OrderKey>;

void compare(const Standing& found, const Standing& derived, std::string_view name,
             Findings& findings) {
  for (const auto& [shape, key] : derived) {
    const auto at = found.find(shape);
    if (at == found.end()) {
      findings.say(shape, " is missing from ", name);
    } else {
      findings.must(at->second == key, shape, " stands in ", name, " by ", at->second,
                    ", its key is ", key);
    }
  }
  for (const auto& [shape, key] : found)
    findings.must(derived.contains(shape), shape, " stands in ", name, " for nothing");
}

Standing listed(const IndexedHeap<OrderKey>& heap) {
  Standing found;
  for (const auto& entry : heap.entries())
    found[entry.handle] = entry.key;
  return found;
}

// The subtree's own sums: what a search leaves out must not fit.
template <class Needed>
void check_subtree(const TreeByNeed<Needed>& shapes, std::uint32_t at, Standing& found,
                   Findings& findings, std::map<std::uint32_t, Needed>* needs = nullptr) {
  const auto& node = shapes.node(at);
  if (needs != nullptr) needs->emplace(node.member, node.need);
  OrderKey least_key = node.key;
  Needed least = node.need;
  for (const std::uint32_t child : {node.left, node.right}) {
    if (child == shapes.kNil) continue;
    check_subtree(shapes, child, found, findings, needs);
    const auto& below = shapes.node(child);
    least_key = std::min(least_key, below.least_key);
    least = least_of(least, below.least);
  }
  findings.must(node.least_key == least_key && node.least == least, "member ", node.member,
                " of a tree has other sums below it than derived");
  findings.must(found.emplace(node.member, node.key).second, "member ", node.member,
                " stands twice in a tree");
}

BlockedClass blocked_class_of(const Shape& shape) {
  return {!lies_on_one_node(shape), shape.gpus, shape.share, shape.kinds};
}

void check_blocked(const State& state, const Standing& derived, Findings& findings) {
  Standing found;
  for (const auto& [klass, shapes] : state.placed.blocked) {
    findings.must(!shapes.empty(), "a class of blocked shapes is empty");
    if (shapes.empty()) continue;
    check_subtree(shapes, shapes.root(), found, findings);
    shapes.visit([&, &klass = klass](std::uint32_t number) {
      findings.must(blocked_class_of(state.shape_table.shape(number)) == klass, "shape ", number,
                    " is blocked in the class of others");
    });
  }
  compare(found, derived, "the blocked shapes", findings);
}

void check_blocked_mig(const State& state, const Standing& derived, Findings& findings) {
  Standing found;
  for (const auto& [klass, shapes] : state.placed.mig.blocked) {
    findings.must(!shapes.empty(), "a class of blocked profiles is empty");
    shapes.visit([&, &klass = klass](std::int64_t need, const IndexedHeap<OrderKey>& heap) {
      for (const auto& entry : heap.entries()) {
        const Shape& shape = state.shape_table.shape(entry.handle);
        const bool is_of_class = MigClass{shape.profile, shape.kinds} == klass;
        findings.must(is_of_class && shape.cpu.value == need, "shape ", entry.handle,
                      " is blocked among profiles that are not its own");
        found[entry.handle] = entry.key;
      }
    });
  }
  compare(found, derived, "the blocked profiles", findings);
}

void check_lone(const PlacedWork& placed, const Standing& derived, Findings& findings) {
  Standing found;
  std::map<std::uint32_t, Stay> stays;
  if (!placed.lone.empty()) check_subtree(placed.lone, placed.lone.root(), found, findings, &stays);
  compare(found, derived, "the open shapes of one task", findings);
  for (const auto& [number, stay] : stays) {
    findings.must(number < placed.shapes.size() && placed.shapes[number].lone == stay, "shape ",
                  number, " stands in the tree by another stay than its own");
  }
}

// What waits in a shape and competes.
struct Waiting {
  OrderKey key;  // of the first
  std::uint32_t tasks = 0;
  std::uint32_t slot = 0;  // of one of them
};

// What the shape's only task takes, if its run is believed.
std::optional<Stay> derived_stay(const State& state, std::uint32_t number, const Waiting& waiting) {
  const Shape& shape = state.shape_table.shape(number);
  if (waiting.tasks != 1 || shape.gpus == 0) return std::nullopt;
  const TaskRow& row = state.tasks.row(waiting.slot);
  const QueueSpec& queue = state.queue(row.queue).spec;
  if (queue.batch_base.ns > 0 || queue.batch_per_task.ns > 0) return std::nullopt;
  if (row.expected_run.ns == 0) return std::nullopt;
  return Stay{std::int64_t{shape.share} * shape.gpus, row.expected_run + kChargeGrace};
}

// A shape with flows that compete is open or blocked; open by a lower bound of its key, and in the
// tree if it has one task.
void check_benches(const State& state, const Derived& derived, Findings& findings) {
  const PlacedWork& placed = state.placed;
  std::map<std::uint32_t, Waiting> exact;
  for (std::uint32_t id = 0; id < derived.flows.size(); ++id) {
    const Flow& flow = state.flows.flow(id);
    if (flow.shape == kNoSlot || !derived.flows[id].startable) continue;
    const OrderKey key =
        state.rule->placed_key(state, state.queue(flow.queue), derived.flows[id].key);
    Waiting& waiting = exact.try_emplace(flow.shape, Waiting{key}).first->second;
    waiting.key = std::min(waiting.key, key);
    waiting.tasks += derived.flows[id].live;
    waiting.slot = derived.flows[id].head.slot;
  }
  Standing open, lone, blocked, open_mig, blocked_mig;
  for (std::uint32_t number = 0; number < placed.shapes.size(); ++number) {
    const ShapeWork& work = placed.shapes[number];
    const auto best = exact.find(number);
    const bool competes = best != exact.end();
    findings.must(competes == (work.bench != PlacedBench::none), "shape ", number, " is ",
                  name_of(work.bench), competes ? " and competes" : " and does not compete");
    check_heap(findings, work.flows, state.flow_positions,
               "the flows of shape " + std::to_string(number));
    if (!competes || work.bench == PlacedBench::none) continue;
    findings.must(work.key <= best->second.key, "the key ", work.key, " of shape ", number,
                  " is above the exact one ", best->second.key);
    const bool is_open = work.bench == PlacedBench::open;
    if (has_profile(state, number)) {
      (is_open ? open_mig : blocked_mig)[number] = work.key;
    } else if (is_open) {
      findings.must(work.lone == derived_stay(state, number, best->second), "shape ", number,
                    " stands among the open by what its tasks do not take");
      (work.lone ? lone : open)[number] = work.key;
    } else {
      blocked[number] = OrderKey{};
    }
  }
  for (const auto& [number, waiting] : exact) {
    findings.must(number < placed.shapes.size(), "shape ", number, " competes and stands nowhere");
  }
  check_heap(findings, placed.open, placed.positions, "the open shapes");
  check_heap(findings, placed.mig.open, placed.positions, "the open profiles");
  compare(listed(placed.open), open, "the open shapes", findings);
  check_lone(placed, lone, findings);
  compare(listed(placed.mig.open), open_mig, "the open profiles", findings);
  check_blocked(state, blocked, findings);
  check_blocked_mig(state, blocked_mig, findings);
}

// --- tenants ---

// Each tenant's flows, as they are kept in order; that the keys are right is checked with the
// flows.
void check_order_of_tenants(const State& state, const Derived& derived, Findings& findings) {
  const PlacedWork& placed = state.placed;
  std::vector<Standing> flows(placed.of_tenant.size());
  std::map<std::pair<BlockedClass, TenantId>, Standing> needy;
  for (std::uint32_t id = 0; id < derived.flows.size(); ++id) {
    const Flow& flow = state.flows.flow(id);
    if (flow.shape == kNoSlot || !derived.flows[id].startable) continue;
    if (has_profile(state, flow.shape) || flow.tenant.value >= flows.size()) continue;
    if (placed.flow_positions.get(id) == HeapPositions::kAbsent) continue;  // check_flows says so
    const IndexedHeap<OrderKey>& heap = placed.of_tenant[flow.tenant.value];
    const OrderKey& key = heap.key_of(placed.flow_positions, id);
    flows[flow.tenant.value][id] = key;
    const Shape& shape = state.shape_table.shape(flow.shape);
    if (lies_on_one_node(shape)) needy[{blocked_class_of(shape), flow.tenant}][id] = key;
  }
  for (std::uint32_t i = 0; i < flows.size(); ++i) {
    check_heap(findings, placed.of_tenant[i], placed.flow_positions,
               "the flows of tenant " + std::to_string(i));
    compare(listed(placed.of_tenant[i]), flows[i], "the flows of a tenant", findings);
  }
  check_heap(findings, placed.ranked, placed.tenant_positions, "the ranked tenants");
  for (const auto& entry : placed.ranked.entries()) {
    findings.must(!placed.of_tenant[entry.handle].empty(), "tenant ", entry.handle,
                  " is ranked for nothing");
  }
  for (const auto& [klass, work] : placed.needy) {
    check_heap(findings, work.tenants, work.positions, "tenants by what they need");
    findings.same(work.tenants.size(), work.flows.size(), "tenants of a class by need");
    for (const auto& [tenant, tree] : work.flows) {
      Standing found;
      if (!tree.empty()) check_subtree(tree, tree.root(), found, findings);
      compare(found, needy[{klass, tenant}], "a tenant's flows by what they need", findings);
      needy.erase({klass, tenant});
      if (tree.empty() || work.positions.get(tenant.value) == HeapPositions::kAbsent) continue;
      OrderKey best = tree.node(tree.root()).least_key;
      if (state.rule->value_is_v) best.value = state.tenant(tenant).v_us;
      findings.must(work.tenants.key_of(work.positions, tenant.value) <= best, "tenant ", tenant,
                    " stands above its best flow among those that need alike");
    }
  }
  for (const auto& [key, left] : needy) {
    findings.must(left.empty(), left.size(), " flows of tenant ", key.second,
                  " are not found by what they need");
  }
}

// --- cells ---

CellKind kind_of(const Gpu& gpu) { return {gpu.spec.kind, gpu.usable, gpu.spec.mig}; }

// Each GPU in one cell of its node and kind, the cells of a node together.
void check_partition(const State& state, Findings& findings) {
  const PlacedWork& placed = state.placed;
  std::set<CellKind> kinds;
  for (const Gpu& gpu : state.gpus)
    kinds.insert(kind_of(gpu));
  const std::size_t told_apart = std::min<std::size_t>(kinds.size(), kMaxKinds);
  const std::vector<CellKind> first(kinds.begin(),
                                    std::next(kinds.begin(), static_cast<long>(told_apart)));
  findings.must(placed.kinds == first, "cells are of ", placed.kinds.size(), " kinds, derived ",
                first.size(), ", or others");
  std::vector<std::uint32_t> cell_of(state.gpus.size(), kNoSlot);
  std::vector<std::uint32_t> cells(state.nodes.size(), 0);
  for (std::uint32_t i = 0; i < placed.cells.size(); ++i) {
    const Cell& cell = placed.cells[i];
    ++cells[cell.node.value];
    findings.must(cell.gpus.size() <= kNodeGpusMax, "cell ", i, " has ", cell.gpus.size(), " GPUs");
    findings.must(i == 0 || placed.cells[i - 1].node <= cell.node, "cell ", i,
                  " stands before one of an earlier node");
    for (const GpuId id : cell.gpus) {
      const Gpu& gpu = state.gpu(id);
      findings.must(gpu.spec.node == cell.node && kind_of(gpu) == kind_of(state.gpu(cell.gpus[0])),
                    "GPU ", id, " stands in cell ", i, " of another node or kind");
      findings.must(cell_of[id.value] == kNoSlot, "GPU ", id, " stands in two cells");
      cell_of[id.value] = i;
    }
  }
  findings.must(placed.cell_of == cell_of, "GPUs stand in other cells than they know");
  std::uint32_t next = 0;
  for (std::uint32_t i = 0; i < state.nodes.size(); ++i) {
    findings.must(i < placed.first_cell.size() && placed.first_cell[i] == next && cells[i] > 0,
                  "the cells of node ", i, " do not begin at ", next);
    next += cells[i];
  }
}

NodeView derived_view(const State& state, const Cell& cell) {
  const Node& node = state.node(cell.node);
  NodeView view;
  view.gpus = static_cast<std::uint8_t>(cell.gpus.size());
  if (!cell.gpus.empty()) view.kind = state.gpu(cell.gpus[0]).spec.kind;
  const auto not_below_zero = [](std::int64_t amount) { return std::max<std::int64_t>(0, amount); };
  if (node.up) {
    view.cpu.value =
        not_below_zero(node.spec.cpu.value - node.cpu_used.value - node.cpu_claimed.value);
    view.memory.value =
        not_below_zero(node.spec.memory.value - node.memory_used.value - node.memory_claimed.value);
  }
  for (std::size_t i = 0; i < cell.gpus.size(); ++i) {
    const Gpu& gpu = state.gpu(cell.gpus[i]);
    view.island[i] = static_cast<std::uint8_t>(i);
    for (std::size_t j = i; gpu.spec.island && j-- > 0;) {
      if (state.gpu(cell.gpus[j]).spec.island == gpu.spec.island) {
        view.island[i] = static_cast<std::uint8_t>(j);
      }
    }
    const bool is_cut = gpu.spec.mig != mig::Geometry::none || gpu.slices.used != 0;
    const bool is_claimed = gpu.kept_for && state.claims.contains(gpu.kept_for);
    const std::int64_t free = gpu.usable.value - gpu.leased.value - gpu.weights.value;
    if (!node.up || !gpu.up || gpu.draining || gpu.held_for || is_cut || is_claimed || free < 0) {
      continue;
    }
    std::int64_t idle = 0;
    for (const Residence& residence : gpu.residences) {
      if (!residence.loading && residence.leases == 0) idle += residence.weights.value;
    }
    const std::int64_t load = std::max(gpu.shares.value, gpu.reported.value);
    const std::int64_t left = state.policy.gpu_load_threshold.value - load;
    view.left[i] = static_cast<std::uint16_t>(gpu.leases.empty() ? 1000 : not_below_zero(left));
    view.vram[i] = static_cast<std::uint32_t>(free + idle);
  }
  return view;
}

// The GPUs of a cell that a gang may take whole.
GpuMask whole_gpus(const State& state, const Cell& cell) {
  GpuMask whole = 0;
  for (std::size_t i = 0; i < cell.gpus.size(); ++i) {
    const Gpu& gpu = state.gpu(cell.gpus[i]);
    const std::vector<CellKind>& kinds = state.placed.kinds;
    const bool is_known = cell.kind < kinds.size() && kinds[cell.kind] == kind_of(gpu);
    const bool is_whole = gpu.leases.empty() && gpu.weights_busy.value == 0;
    if (!is_known || !is_whole || cell.view.left[i] != kWholeGpu.value) continue;
    whole = static_cast<GpuMask>(whole | 1U << i);
  }
  return whole;
}

void check_cell(const State& state, std::uint32_t number, Findings& findings) {
  const PlacedWork& placed = state.placed;
  const Cell& cell = placed.cells[number];
  findings.must(cell.view == derived_view(state, cell), "cell ", number, " of node ", cell.node,
                " is seen with other room than it has");
  const NodeView* packed = placed.pack.find(NodeId{number});
  findings.must(packed != nullptr && *packed == cell.view, "packing sees cell ", number,
                " with other room");
  if (cell.gpus.empty()) return;
  const Room room{whole_gpus(state, cell), cell.view.cpu, cell.view.memory};
  findings.must(placed.tree->room_on(NodeId{number}) == room, "the gang search sees cell ", number,
                " with other room");
}

// --- what is blocked fits nowhere ---

bool fits_as_gang(const State& state, const Shape& shape) {
  for (const Shape& asked : shapes_for_tree(state, shape)) {
    if (gang_fits(*state.placed.tree, asked) == GangFits::yes) return true;
  }
  return false;
}

void check_blocked_fit_nowhere(const State& state, Findings& findings) {
  const PlacedWork& placed = state.placed;
  for (std::uint32_t number = 0; number < placed.shapes.size(); ++number) {
    const ShapeWork& work = placed.shapes[number];
    if (work.bench != PlacedBench::blocked || has_profile(state, number)) continue;
    const Shape& shape = state.shape_table.shape(number);
    if (lies_on_one_node(shape)) {
      for (std::uint32_t i = 0; i < placed.cells.size(); ++i) {
        findings.must(placed.freed.contains(i) || !fits(placed.cells[i].view, shape), "shape ",
                      number, " is blocked and fits cell ", i, ", which is not freed");
      }
      continue;
    }
    // Beside CPUs, cells of one node may have too little together, though each has enough.
    const bool asks_for_node = shape.cpu.value > 0 || shape.memory.value > 0;
    const bool is_known = work.tried_at == placed.version || placed.gangs_tried == placed.version;
    if (!is_known || asks_for_node) continue;
    findings.must(!fits_as_gang(state, shape), "shape ", number,
                  " is blocked, was tried, and fits as a gang");
  }
}

void check_cells(const State& state, Findings& findings) {
  const PlacedWork& placed = state.placed;
  std::set<NodeId> dirty;
  for (std::uint32_t i = 0; i < state.nodes.size(); ++i) {
    if (state.nodes[i].dirty) dirty.insert(NodeId{i});
  }
  if (!placed.in_use || placed.cells_stale) return;  // made anew before anyone asks
  const std::set<NodeId> noted(placed.dirty.begin(), placed.dirty.end());
  findings.must(noted == dirty && noted.size() == placed.dirty.size(), "the list of nodes to look ",
                "at has ", placed.dirty.size(), ", derived ", dirty.size());
  check_partition(state, findings);
  std::size_t packed = 0;
  placed.pack.visit([&](NodeId, const NodeView&) { ++packed; });
  findings.same(packed, placed.cells.size(), "cells that packing knows");
  for (std::uint32_t i = 0; i < placed.cells.size(); ++i) {
    if (!dirty.contains(placed.cells[i].node)) check_cell(state, i, findings);
  }
  for (const std::uint32_t cell : placed.freed)
    findings.must(cell < placed.cells.size(), "cell ", cell, " is freed and does not exist");
  if (dirty.empty()) check_blocked_fit_nowhere(state, findings);
}

// --- the plan ---

struct DerivedPool {
  std::int64_t capacity = 0;
  std::int64_t used = 0;
  std::map<Time, std::pair<std::int64_t, std::int64_t>> points;  // ends, reserved
};

void add_upwards(const Pools& pools, std::vector<DerivedPool>& derived, PoolId pool,
                 const auto& add) {
  for (; pool; pool = pools.parent(pool))
    add(derived[pool.value]);
}

// What runs, by the GPUs it has.
void add_lease(const State& state, const Lease& lease, std::vector<DerivedPool>& derived) {
  const PlacedPlan& plan = state.placed.plan;
  const Time end = planned_end(lease);
  const auto take = [&](PoolId pool, std::int64_t amount) {
    add_upwards(plan.pools, derived, pool, [&](DerivedPool& at) {
      at.used += amount;
      at.points[end].first += amount;
    });
  };
  for (const GpuId gpu : lease.gpus)
    take(state.placed.cells[state.placed.cell_of[gpu.value]].pool, lease.share.value);
  const bool is_long = lease.expected.ns <= 0 || lease.expected > plan.long_work.limit;
  if (!plan.long_work.cap || !is_long) return;
  const std::int64_t all = lease.share.value * static_cast<std::int64_t>(lease.gpus.size());
  take(plan.long_work.cap, std::min(all, plan.pools.capacity(plan.long_work.cap)));
}

void add_capacities(const State& state, std::vector<DerivedPool>& derived) {
  const PlacedPlan& plan = state.placed.plan;
  for (const Cell& cell : state.placed.cells) {
    if (cell.gpus.empty()) continue;
    std::int64_t accepting = 0;
    for (const GpuId id : cell.gpus) {
      const Gpu& gpu = state.gpu(id);
      const bool accepts = gpu.up && !gpu.draining && gpu.spec.mig == mig::Geometry::none &&
                           state.node(cell.node).up;
      accepting += accepts ? kWholeGpu.value : 0;
    }
    add_upwards(plan.pools, derived, cell.pool,
                [&](DerivedPool& pool) { pool.capacity += accepting; });
  }
  if (!plan.long_work.cap) return;
  derived[plan.long_work.cap.value].capacity =
      scale(derived[plan.all.value].capacity, state.policy.long_share.value, 1000);
}

void check_plan(const State& state, Findings& findings) {
  const PlacedPlan& plan = state.placed.plan;
  if (!plan.kept || state.placed.cells_stale) return;
  std::vector<DerivedPool> derived(plan.pools.size());
  add_capacities(state, derived);
  for (const Lease& lease : state.leases) {
    if (lease.id && !lease.gpus.empty() && !lease.instance) add_lease(state, lease, derived);
  }
  for (const Reservation& reservation : plan.reservations) {
    for (const Part& part : reservation.parts) {
      add_upwards(plan.pools, derived, part.pool, [&](DerivedPool& pool) {
        pool.points[reservation.start].second -= part.amount;
        pool.points[reservation.start + reservation.run].second += part.amount;
      });
    }
  }
  for (std::uint32_t i = 0; i < derived.size(); ++i) {
    const DerivedPool& pool = derived[i];
    const Profile& profile = plan.pools.profile(PoolId{i});
    findings.same(plan.pools.capacity(PoolId{i}), pool.capacity, "capacity of pool ", i);
    findings.same(profile.free(), pool.capacity - pool.used, "what is free of pool ", i);
    std::vector<Profile::Breakpoint> points;
    for (const auto& [at, change] : pool.points) {
      const auto& [ends, reserved] = change;
      if (at != Time::never() && (ends != 0 || reserved != 0))
        points.push_back({at, ends, reserved});
    }
    findings.must(profile.breakpoints() == points, "pool ", i, " has ",
                  profile.breakpoints().size(), " changes ahead, derived ", points.size(),
                  ", or others");
  }
}

// --- what preemption goes by ---

void check_ranks(const State& state, const Derived& derived, Findings& findings) {
  std::uint32_t guarantees = 0;
  std::uint64_t low = 0;
  for (const Tenant& tenant : state.tenants)
    guarantees += tenant.spec.guaranteed_gpus.value > 0 ? 1 : 0;
  for (const std::uint32_t slot : derived.live)
    low += state.tasks.row(slot).tier > 0 ? 1 : 0;
  findings.same(state.placed.guarantees, guarantees, "tenants with a guarantee");
  findings.same(state.placed.low_tier_tasks, low, "tasks of lower tiers");
  for (const auto& [task, gpus] : state.claims) {
    const std::uint32_t slot = state.tasks.slot_of(task);
    findings.must(slot != kNoSlot && state.tasks.row(slot).shape != kNoSlot &&
                      state.tasks.row(slot).state == TaskState::pending,
                  "task ", task, " has a claim and is no placed work that waits");
  }
}

}  // namespace

void check_placed(const State& state, const Derived& derived, Findings& findings) {
  check_benches(state, derived, findings);
  check_order_of_tenants(state, derived, findings);
  check_cells(state, findings);
  check_plan(state, findings);
  check_ranks(state, derived, findings);
}

}  // namespace berth::core
