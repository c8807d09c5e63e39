// The plan of placed work: what runs over time, reservations, and what may start beside them. See
// placed.h and timeline/plan.h.
#include <algorithm>
#include <bit>

#include "base/assert.h"
#include "core/state/flow_cursor.h"
#include "core/state/placed_internal.h"
#include "core/state/placed_order.h"

namespace berth::core {
namespace {

constexpr std::size_t kWaysMax = 512;

std::uint32_t cell_of(const State& state, GpuId gpu) {
  const PlacedWork& placed = state.placed;
  std::uint32_t cell = placed.first_cell[state.gpu(gpu).spec.node.value];
  while (std::find(placed.cells[cell].gpus.begin(), placed.cells[cell].gpus.end(), gpu) ==
         placed.cells[cell].gpus.end()) {
    ++cell;
  }
  return cell;
}

// What these GPUs are in the pools of the plan.
Parts parts_of(const State& state, const std::vector<GpuId>& gpus, Milli share, Duration run) {
  Parts parts;
  for (const GpuId gpu : gpus) {
    const PoolId pool = state.placed.cells[cell_of(state, gpu)].pool;
    const auto known = std::find_if(parts.begin(), parts.end(),
                                    [&](const Part& part) { return part.pool == pool; });
    if (known != parts.end()) {
      known->amount += share.value;
    } else {
      parts.push_back({pool, share.value});
    }
  }
  const PlacedPlan& plan = state.placed.plan;
  const std::int64_t amount = share.value * static_cast<std::int64_t>(gpus.size());
  if (amount > 0) cap_long_work(plan.pools, plan.long_work, run, amount, parts);
  return parts;
}

Parts parts_of(const State& state, const Lease& lease) {
  const bool knows_end = lease.expected.ns > 0;
  return parts_of(state, lease.gpus, lease.share, knows_end ? lease.expected : Duration::forever());
}

// Work without a GPU and MIG instances take nothing that anyone reserves.
bool is_planned(const Lease& lease) { return !lease.gpus.empty() && !lease.instance; }

// --- the pools ---

void add_pools(State& state) {
  PlacedWork& placed = state.placed;
  PlacedPlan& plan = placed.plan;
  plan.all = plan.pools.add();
  for (std::size_t kind = 0; kind < placed.kinds.size(); ++kind)
    plan.roots.push_back(plan.pools.add(plan.all));
  for (Cell& cell : placed.cells) {
    if (cell.gpus.empty()) continue;
    const bool is_up = state.node(cell.node).up;
    const RackId rack = state.node(cell.node).spec.rack;
    const auto [entry, fresh] = plan.racks.try_emplace({cell.kind, rack}, PoolId::none());
    if (fresh) entry->second = plan.pools.add(plan.roots[cell.kind]);
    cell.pool = plan.pools.add(entry->second);
    std::int64_t accepting = 0;
    const bool is_cut = state.gpu(cell.gpus.front()).spec.mig != mig::Geometry::none;
    for (const GpuId gpu : cell.gpus) {
      const bool accepts = is_up && !is_cut && state.gpu(gpu).up && !state.gpu(gpu).draining;
      accepting += accepts ? kWholeGpu.value : 0;
    }
    plan.pools.resize(cell.pool, accepting);
  }
}

void add_long_cap(State& state) {
  PlacedPlan& plan = state.placed.plan;
  if (state.policy.long_work == Duration::forever()) return;
  const std::int64_t all = plan.pools.capacity(plan.all);
  plan.long_work.limit = state.policy.long_work;
  plan.long_work.cap = plan.pools.add();
  plan.pools.resize(plan.long_work.cap, scale(all, state.policy.long_share.value, 1000));
}

void make_plan(State& state) {
  state.placed.plan = PlacedPlan{};
  add_pools(state);
  add_long_cap(state);
  state.placed.plan.kept = true;
  for (const Lease& lease : state.leases) {
    if (lease.id) plan_start(state, lease);
  }
}

// --- how a shape may be taken, before its GPUs are known ---

std::vector<Parts> ways_of(const State& state, const Shape& shape, Duration run) {
  const PlacedWork& placed = state.placed;
  const Shape asked = shape_for_tree(state, shape);
  const std::int64_t amount = std::int64_t{shape.share} * shape.gpus;
  std::vector<Parts> ways;
  const auto add = [&](PoolId pool) {
    if (ways.size() >= kWaysMax || placed.plan.pools.capacity(pool) < amount) return;
    Parts way{{pool, amount}};
    cap_long_work(placed.plan.pools, placed.plan.long_work, run, amount, way);
    ways.push_back(std::move(way));
  };
  const auto allowed = [&](std::uint32_t kind) { return (asked.kinds >> kind & 1) != 0; };
  // Kinds are mixed only where none alone will do; how many of each is not foreseen.
  const bool asks_for_node = shape.cpu.value > 0 || shape.memory.value > 0;
  const bool may_mix = shape.gpus > 1 && std::popcount(asked.kinds) > 1 && !asks_for_node;
  const bool whole = shape.required && shape.groups == 1 && shape.gpus > 1;
  if (whole && shape.within <= Level::node) {
    for (const Cell& cell : placed.cells) {
      if (!cell.gpus.empty() && allowed(cell.kind)) add(cell.pool);
    }
    // Of more nodes than are looked at one by one, the count alone is asked.
    for (std::uint32_t kind = 0; kind < placed.kinds.size() && ways.size() == kWaysMax; ++kind) {
      if (allowed(kind)) ways.push_back({{placed.plan.roots[kind], amount}});
    }
  } else if (whole && shape.within == Level::rack) {
    for (const auto& [key, pool] : placed.plan.racks) {
      if (allowed(key.first)) add(pool);
    }
    if (may_mix) add(placed.plan.all);
  } else {
    for (std::uint32_t kind = 0; kind < placed.kinds.size(); ++kind) {
      if (allowed(kind)) add(placed.plan.roots[kind]);
    }
    if (may_mix) add(placed.plan.all);
  }
  return ways;
}

// How long the task will be counted on to hold its GPUs, as far as is known. With the same grace as
// a lease: otherwise each start beside a reservation could push it back by a grace.
Duration planned_run(const State& state, const TaskRow& row, const std::vector<GpuId>& gpus = {}) {
  Milli slowest = kWholeGpu;
  for (const GpuId gpu : gpus)
    slowest = std::min(slowest, state.gpu(gpu).spec.speed);
  const Duration run = predict_batch(state.queue(row.queue), 1, row.expected_run, slowest);
  return run.ns > 0 ? run + kChargeGrace : Duration::forever();
}

// Where the task can start now without delaying a reservation.
Place place_beside(State& state, const TaskRow& row, const Shape& shape, Duration run,
                   const std::vector<Parts>& ways) {
  const Pools& pools = state.placed.plan.pools;
  const auto fits = [&](const Parts& way) { return pools.fits(way, state.now, state.now, run); };
  const auto fits_there = [&](const Place& place) {
    const Duration there = planned_run(state, row, place.gpus);
    const Parts parts = parts_of(state, place.gpus, Milli{shape.share}, there);
    return pools.fits(parts, state.now, state.now, there);
  };
  if (!std::any_of(ways.begin(), ways.end(), fits)) return {};
  if (is_known_blocked(state, row.shape)) return {};
  Place place = find_place(state, shape);
  if (!place) {
    block(state, row.shape);
    return {};
  }
  if (state.placed.plan.reservations.empty()) return place;
  if (fits_there(place)) return place;
  for (std::size_t i = 0; i < state.placed.kinds.size() && state.placed.kinds.size() > 1; ++i) {
    const KindId kind = state.placed.kinds[i].kind;
    if (!allows(shape.kinds, kind)) continue;
    place = find_place(state, shape, KindMask{1} << kind.value);
    if (place && fits_there(place)) return place;
  }
  return {};
}

}  // namespace

Time planned_end(const Lease& lease) {
  return lease.started + std::max(lease.charged, lease.expected) + kChargeGrace;
}

void plan_start(State& state, const Lease& lease) {
  if (!state.placed.plan.kept || !is_planned(lease)) return;
  state.placed.stale = true;
  state.placed.plan.pools.start(parts_of(state, lease), planned_end(lease));
}

void plan_finish(State& state, const Lease& lease) {
  if (!state.placed.plan.kept || !is_planned(lease)) return;
  state.placed.stale = true;
  state.placed.plan.pools.finish(parts_of(state, lease), planned_end(lease));
}

void plan_finish(State& state, const Lease&, GpuId) {
  state.placed.plan.kept = false;  // a GPU is lost: its pools have another size too
  state.placed.stale = true;
}

void plan_move_end(State& state, const Lease& lease, Time before) {
  if (!state.placed.plan.kept || !is_planned(lease)) return;
  const Time end = planned_end(lease);
  if (end == before) return;
  state.placed.stale = true;
  state.placed.plan.pools.move_end(parts_of(state, lease), before, end);
}

OrderKey placed_key_of(const State& state, std::uint32_t slot) {
  const TaskRow& row = state.tasks.row(slot);
  const Flow& flow = state.flows.flow(row.flow);
  const OrderKey key = state.rule->flow_key(state, flow, head_from(row, slot));
  return state.rule->placed_key(state, state.queue(row.queue), key);
}

const Reservation* delayed_by_batch(const State& state, QueueId id, GpuId gpu) {
  const PlacedPlan& plan = state.placed.plan;
  if (!plan.kept || state.placed.cells_stale) return nullptr;
  const Queue& queue = state.queue(id);
  const TaskRow& leader = state.tasks.row(queue.leader_slot);
  const Duration run = kChargeGrace + predict_batch(queue, next_batch_size(state, id),
                                                    leader.expected_run, state.gpu(gpu).spec.speed);
  const Parts parts = parts_of(state, {gpu}, Milli{leader.share}, run);
  if (plan.pools.fits(parts, state.now, state.now, run)) return nullptr;
  return first_delayed(plan.pools, plan.reservations, parts, state.now, run);
}

void plan_next(State& state) {
  PlacedWork& placed = state.placed;
  placed.freed.clear();
  if (!placed.plan.kept) make_plan(state);
  drop_reservations(placed.plan.pools, placed.plan.reservations);
  std::int64_t visits = state.policy.backfill_visits;
  PlacedOrder order(state);
  while (visits > 0) {
    const auto item = order.next();
    if (!item) return;
    --visits;
    const TaskRow& row = state.tasks.row(item->slot);
    const Shape shape = shape_of(state, row);
    const Duration run = planned_run(state, row);
    if (shape.gpus == 0) {
      if (is_known_blocked(state, row.shape)) continue;
      if (Place place = find_place(state, shape)) {
        placed.stale = true;
        placed.next = NextStart{item->slot, item->key, std::move(place)};
        return;
      }
      block(state, row.shape);
      continue;
    }
    const std::vector<Parts> ways = ways_of(state, shape, run);
    if (Place place = place_beside(state, row, shape, run, ways)) {
      placed.stale = true;
      placed.next = NextStart{item->slot, item->key, std::move(place)};
      return;
    }
    if (placed.plan.reservations.size() >= state.policy.reservations) continue;
    const Pending pending{row.no.value, run, ways};
    const bool scattered = std::any_of(ways.begin(), ways.end(), [&](const Parts& way) {
      return placed.plan.pools.fits(way, state.now, state.now, run);
    });
    timeline::reserve_earliest(placed.plan.pools, state.now, pending, scattered,
                               placed.plan.reservations, visits);
  }
}

}  // namespace berth::core
