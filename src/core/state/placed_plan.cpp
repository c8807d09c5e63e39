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

constexpr std::size_t kDomainTimesMax = 32;

// What these GPUs are in the pools of the plan.
Parts parts_of(const State& state, const std::vector<GpuId>& gpus, Milli share, Duration run) {
  Parts parts;
  for (const GpuId gpu : gpus) {
    const PoolId pool = state.placed.cells[state.placed.cell_of[gpu.value]].pool;
    // The GPUs of one cell stand together; were they apart, two parts of a pool would do as well.
    if (!parts.empty() && parts.back().pool == pool) {
      parts.back().amount += share.value;
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
    plan.kind_of.resize(plan.pools.size(), UINT32_MAX);
    plan.kind_of[cell.pool.value] = cell.kind;
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

std::vector<PoolId> domains_at(const State& state, Level level, std::uint32_t kind) {
  std::vector<PoolId> domains;
  if (level == Level::rack) {
    for (const auto& [key, pool] : state.placed.plan.racks) {
      if (key.first == kind) domains.push_back(pool);
    }
    return domains;
  }
  for (const Cell& cell : state.placed.cells) {
    if (!cell.gpus.empty() && cell.kind == kind) domains.push_back(cell.pool);
  }
  return domains;
}

FreeTimes& times_of(State& state, Level level, std::uint32_t kind, std::int64_t amount) {
  std::vector<DomainTimes>& times = state.placed.plan.times;
  for (DomainTimes& known : times) {
    if (known.level == level && known.kind == kind && known.times.amount() == amount) {
      return known.times;
    }
  }
  if (times.size() == kDomainTimesMax) times.erase(times.begin());
  times.push_back({level, kind, FreeTimes(domains_at(state, level, kind), amount)});
  return times.back().times;
}

// The domains of a level that have the amount free first; one of them is the first that has it
// beside so many reservations.
std::vector<PoolId> first_domains(State& state, Level level, std::uint32_t kind,
                                  std::int64_t amount, std::size_t reserved) {
  return times_of(state, level, kind, amount).first(state.placed.plan.pools, reserved + 2);
}

// What runs on these parts has changed.
void note_times(PlacedPlan& plan, const Parts& parts) {
  for (DomainTimes& known : plan.times) {
    for (const Part& part : parts) {
      const bool is_pool = part.pool.value < plan.kind_of.size();
      if (!is_pool || plan.kind_of[part.pool.value] != known.kind) continue;
      known.times.note(known.level == Level::rack ? plan.pools.parent(part.pool) : part.pool);
    }
  }
}

bool has_caps(const State& state) { return state.policy.long_work != Duration::forever(); }

// Whether there is a plan to be told of a change. One that was made of other cells is none.
bool is_kept(State& state) {
  PlacedPlan& plan = state.placed.plan;
  if (state.placed.cells_stale) plan.kept = false;
  if (plan.kept && state.placed.ranked.empty() && ++plan.idle_changes > state.leases.size()) {
    plan = PlacedPlan{};
  }
  return plan.kept;
}

}  // namespace

PlacedPlan& plan_of(State& state) {
  ASSERT(!state.placed.cells_stale);
  if (!state.placed.plan.kept) make_plan(state);
  state.placed.plan.idle_changes = 0;
  return state.placed.plan;
}

std::vector<Parts> ways_of(State& state, const Shape& shape, Duration run, std::size_t reserved) {
  const PlacedWork& placed = state.placed;
  const Shape asked = shape_for_tree(state, shape);
  const std::int64_t amount = std::int64_t{shape.share} * shape.gpus;
  std::vector<Parts> ways;
  const auto add = [&](PoolId pool) {
    if (placed.plan.pools.capacity(pool) < amount) return;
    Parts way{{pool, amount}};
    cap_long_work(placed.plan.pools, placed.plan.long_work, run, amount, way);
    ways.push_back(std::move(way));
  };
  const auto allowed = [&](std::uint32_t kind) { return (asked.kinds >> kind & 1) != 0; };
  // Kinds are mixed only where none alone will do; how many of each is not foreseen.
  const bool asks_for_node = shape.cpu.value > 0 || shape.memory.value > 0;
  const bool may_mix = shape.gpus > 1 && std::popcount(asked.kinds) > 1 && !asks_for_node;
  const bool whole = shape.required && shape.groups == 1 && shape.gpus > 1;
  // An island of several nodes lies in one rack.
  const bool is_joined = shape.within == Level::island && !placed.tree->joined_islands().empty();
  const bool on_node = whole && shape.within <= Level::node && !is_joined;
  const bool in_rack = whole && (shape.within == Level::rack || is_joined);
  for (std::uint32_t kind = 0; kind < placed.kinds.size(); ++kind) {
    if (!allowed(kind)) continue;
    if (!on_node && !in_rack) {
      add(placed.plan.roots[kind]);
      continue;
    }
    const Level level = on_node ? Level::node : Level::rack;
    for (const PoolId domain : first_domains(state, level, kind, amount, reserved))
      add(domain);
  }
  if (may_mix && !on_node) add(placed.plan.all);
  return ways;
}

Duration planned_run(const State& state, const TaskRow& row, const std::vector<GpuId>& gpus) {
  const Queue& queue = state.queue(row.queue);
  Milli slowest = kWholeGpu;
  for (const GpuId gpu : gpus)
    slowest = std::min(slowest, speed_on(state, queue, gpu));
  const Duration run = predict_batch(queue, 1, row.expected_run, slowest);
  return run.ns > 0 ? run + kChargeGrace : Duration::forever();
}

Time planned_end(const Lease& lease) {
  return lease.started + std::max(lease.charged, lease.expected) + kChargeGrace;
}

void plan_start(State& state, const Lease& lease) {
  if (!is_planned(lease) || !is_kept(state)) return;
  state.placed.stale = true;
  const Parts parts = parts_of(state, lease);
  state.placed.plan.pools.start(parts, planned_end(lease));
  note_times(state.placed.plan, parts);
}

void plan_finish(State& state, const Lease& lease) {
  if (!is_planned(lease) || !is_kept(state)) return;
  state.placed.stale = true;
  const Parts parts = parts_of(state, lease);
  state.placed.plan.pools.finish(parts, planned_end(lease));
  note_times(state.placed.plan, parts);
}

void plan_finish(State& state, const Lease&, GpuId) {
  state.placed.plan.kept = false;  // a GPU is lost: its pools have another size too
  state.placed.stale = true;
}

void plan_move_end(State& state, const Lease& lease, Time before) {
  if (!is_planned(lease) || !is_kept(state)) return;
  const Time end = planned_end(lease);
  if (end == before) return;
  state.placed.stale = true;
  const Parts parts = parts_of(state, lease);
  state.placed.plan.pools.move_end(parts, before, end);
  note_times(state.placed.plan, parts);
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
  const Duration run =
      kChargeGrace + predict_batch(queue, next_batch_size(state, id), leader.expected_run,
                                   speed_on(state, queue, gpu));
  const Parts parts = parts_of(state, {gpu}, Milli{leader.share}, run);
  if (plan.pools.fits(parts, state.now, state.now, run)) return nullptr;
  return first_delayed(plan.pools, plan.reservations, parts, state.now, run);
}

Reason long_work_lack(const State& state, const TaskRow& row, const Shape& shape) {
  const PlacedPlan& plan = state.placed.plan;
  if (!plan.kept || state.placed.cells_stale || !plan.long_work.cap) return {};
  Parts way;
  cap_long_work(plan.pools, plan.long_work, planned_run(state, row, {}),
                std::int64_t{shape.share} * shape.gpus, way);
  if (way.empty()) return {};
  const std::int64_t free = plan.pools.profile(plan.long_work.cap).level(state.now, state.now);
  if (free >= way.front().amount) return {};
  const Time again = plan.pools.next_end(way, state.now);
  return {ReasonCode::long_work_short, way.front().amount, std::max<std::int64_t>(0, free),
          Reason::kNoSubject, again};
}

void forget_reservations(State& state) {
  PlacedPlan& plan = state.placed.plan;
  if (plan.kept) {
    drop_reservations(plan.pools, plan.reservations);
  } else {
    plan.reservations.clear();
  }
  plan.last.reset();
}

void reserve_start(State& state, const TaskRow& row, const Shape& shape) {
  PlacedPlan& plan = plan_of(state);
  const Duration run = planned_run(state, row, {});
  const std::vector<Parts> ways = ways_of(state, shape, run, plan.reservations.size());
  const bool scattered = std::any_of(ways.begin(), ways.end(), [&](const Parts& way) {
    return plan.pools.fits(way, state.now, state.now, run);
  });
  std::int64_t visits = state.policy.backfill_visits;
  timeline::reserve_earliest(plan.pools, state.now, {row.no.value, run, ways}, scattered,
                             plan.reservations, visits);
}

bool fits_beside(State& state, const TaskRow& row, const Shape& shape, const Place& place) {
  if (place.gpus.empty()) return true;
  if (state.placed.plan.reservations.empty() && !has_caps(state)) return true;
  const PlacedPlan& plan = plan_of(state);
  const Duration run = planned_run(state, row, place.gpus);
  const Parts parts = parts_of(state, place.gpus, Milli{shape.share}, run);
  return plan.pools.fits(parts, state.now, state.now, run);
}

bool may_fit_beside(State& state, const Stay& stay) {
  if (state.placed.plan.reservations.empty()) return true;
  const PlacedPlan& plan = plan_of(state);
  return plan.pools.profile(plan.all).fits(state.now, state.now, stay.run, stay.amount);
}

}  // namespace berth::core
