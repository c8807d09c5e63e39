// Primitives over placed work: who leads a shape, which cells changed, what is open. See placed.h.
#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "core/state/placed_internal.h"

namespace berth::core {
namespace {

// --- benches ---

bool asks_for_instance(const State& state, std::uint32_t number) {
  return state.shape_table.shape(number).profile != mig::kNoProfile;
}

void leave_open(PlacedWork& placed, std::uint32_t number) {
  std::optional<Stay>& lone = placed.shapes[number].lone;
  if (lone) {
    placed.lone.erase(number, *lone);
  } else {
    placed.open.erase(placed.positions, number);
  }
  lone.reset();
}

void take_open(State& state, std::uint32_t number) {
  PlacedWork& placed = state.placed;
  ShapeWork& work = placed.shapes[number];
  work.lone = lone_stay(state, number);
  if (work.lone) {
    placed.lone.insert(number, *work.lone, work.key);
  } else {
    placed.open.put(placed.positions, number, work.key);
  }
}

void leave_bench(State& state, std::uint32_t number) {
  if (asks_for_instance(state, number)) return leave_mig_bench(state, number);
  PlacedWork& placed = state.placed;
  ShapeWork& work = placed.shapes[number];
  if (work.bench == PlacedBench::open) leave_open(placed, number);
  if (work.bench == PlacedBench::blocked) {
    const Shape& shape = state.shape_table.shape(number);
    const auto at = placed.blocked.find(blocked_class(shape));
    at->second.erase(number, need_of(shape));
    if (at->second.empty()) placed.blocked.erase(at);
  }
  work.bench = PlacedBench::none;
}

void take_bench(State& state, std::uint32_t number, PlacedBench bench) {
  if (asks_for_instance(state, number)) return take_mig_bench(state, number, bench);
  PlacedWork& placed = state.placed;
  ShapeWork& work = placed.shapes[number];
  work.bench = bench;
  if (bench == PlacedBench::open) take_open(state, number);
  if (bench == PlacedBench::blocked) {
    const Shape& shape = state.shape_table.shape(number);
    placed.blocked[blocked_class(shape)].insert(number, need_of(shape), OrderKey{});
  }
}

void move_to(State& state, std::uint32_t number, PlacedBench bench) {
  leave_bench(state, number);
  take_bench(state, number, bench);
}

// Whether a batch that needs no load stands ready, or GPUs are kept from batches.
bool batches_may_start(const State& state) {
  if (!state.kept.empty() || !state.hot.empty()) return true;
  return std::any_of(state.shapes.begin(), state.shapes.end(),
                     [](const auto& entry) { return !entry.second.empty(); });
}

bool is_stale(State& state) {
  PlacedWork& placed = state.placed;
  if (std::exchange(placed.reordered, false) && !placed.stale) {
    placed.stale = !placed.all_seen || !keeps_first(state);
  }
  if (!placed.all_seen && placed.looked_at != state.now) placed.stale = true;
  return placed.stale;
}

// What starts next on cells.
void settle_cells(State& state) {
  PlacedWork& placed = state.placed;
  // Who has a claim may have reached a limit by it, and compete no more.
  if (placed.ranked.empty() && state.claims.empty()) return forget_reservations(state);
  update_cells(state);
  if (!is_stale(state)) return;
  // While nothing fits, nobody but a batch that might be in the way asks what is reserved.
  const bool may_start = !state.claims.empty() || something_may_fit(state);
  if (!may_start && !batches_may_start(state)) return;
  placed.stale = false;
  find_next(state);
}

}  // namespace

BlockedClass blocked_class(const Shape& shape) {
  return {!lies_on_one_node(shape), shape.gpus, shape.share, shape.kinds};
}

Need need_of(const Shape& shape) {
  return {shape.cpu.value, shape.memory.value, shape.gpus > 0 ? shape.vram : 0};
}

std::optional<Stay> lone_stay(const State& state, std::uint32_t number) {
  const ShapeWork& work = state.placed.shapes[number];
  if (work.flows.size() != 1) return std::nullopt;
  const Flow& flow = state.flows.flow(work.flows.top().handle);
  if (flow.live != 1) return std::nullopt;
  const TaskRow& row = state.tasks.row(flow.head.slot);
  const Shape& shape = state.shape_table.shape(number);
  if (shape.gpus == 0 || !is_run_believed(state.queue(row.queue), row.expected_run)) {
    return std::nullopt;
  }
  return Stay{std::int64_t{shape.share} * shape.gpus, planned_run(state, row, {})};
}

OrderKey placed_key_of(const State& state, const Flow& flow) {
  const OrderKey key = state.rule->flow_key(state, flow, flow.head);
  return state.rule->placed_key(state, state.queue(flow.queue), key);
}

Shape shape_of(const State& state, const TaskRow& row) {
  if (row.shape != kNoSlot) return state.shape_table.shape(row.shape);
  return {.gpus = row.gpus, .share = row.share, .vram = row.vram};
}

OrderKey exact_key(State& state, std::uint32_t number) {
  IndexedHeap<OrderKey>& flows = state.placed.shapes[number].flows;
  for (;;) {
    const auto top = flows.top();
    const OrderKey exact = placed_key_of(state, state.flows.flow(top.handle));
    if (exact == top.key) return exact;
    flows.put(state.flow_positions, top.handle, exact);
  }
}

void refresh_shape(State& state, std::uint32_t number) {
  PlacedWork& placed = state.placed;
  ShapeWork& work = placed.shapes[number];
  if (work.flows.empty()) return leave_bench(state, number);
  const bool stands = work.bench != PlacedBench::none && work.key == work.flows.top().key;
  const bool is_open = work.bench == PlacedBench::open;
  if (asks_for_instance(state, number)) {
    if (stands) return;
    const bool was_blocked = work.bench == PlacedBench::blocked;
    leave_mig_bench(state, number);
    work.key = work.flows.top().key;
    return take_mig_bench(state, number, was_blocked ? PlacedBench::blocked : PlacedBench::open);
  }
  const std::optional<Stay> lone = lone_stay(state, number);
  if (stands && (!is_open || work.lone == lone)) return;
  work.key = work.flows.top().key;
  if (work.bench == PlacedBench::blocked) return;
  if (is_open && !work.lone && !lone) return placed.open.put(placed.positions, number, work.key);
  if (is_open) leave_open(placed, number);
  take_bench(state, number, PlacedBench::open);
}

void seat_placed(State& state, std::uint32_t id, bool competes) {
  const Flow& flow = state.flows.flow(id);
  PlacedWork& placed = state.placed;
  if (placed.shapes.size() <= flow.shape) placed.shapes.resize(flow.shape + 1);
  IndexedHeap<OrderKey>& flows = placed.shapes[flow.shape].flows;
  const std::uint32_t at = state.flow_positions.get(id);
  const bool was_in = at < flows.size() && flows.entries()[at].handle == id;
  if (was_in) note_order(state, flow.shape, flows.entries()[at].key);
  std::optional<OrderKey> key;
  if (competes) {
    key = placed_key_of(state, flow);
    note_order(state, flow.shape, *key);
    flows.put(state.flow_positions, id, *key);
  } else {
    flows.erase(state.flow_positions, id);
  }
  if (!asks_for_instance(state, flow.shape)) rank_flow(state, id, key);
  refresh_shape(state, flow.shape);
}

void note_order(State& state, std::uint32_t shape, const OrderKey& key) {
  PlacedWork& placed = state.placed;
  if (placed.stale) return;
  const bool waits_anyway = shape < placed.shapes.size() && is_known_blocked(state, shape) &&
                            placed.plan.last && *placed.plan.last < key;
  placed.stale = !waits_anyway;
}

void note_order(State& state) {
  if (!state.placed.ranked.empty()) state.placed.reordered = true;
}

void open_blocked(State& state) {
  for (std::uint32_t number = 0; number < state.placed.shapes.size(); ++number) {
    if (state.placed.shapes[number].bench != PlacedBench::blocked) continue;
    move_to(state, number, PlacedBench::open);
  }
}

void open(State& state, std::uint32_t number) {
  if (state.placed.shapes[number].bench == PlacedBench::blocked) {
    move_to(state, number, PlacedBench::open);
  }
}

void block(State& state, std::uint32_t number) {
  move_to(state, number, PlacedBench::blocked);
  state.placed.shapes[number].tried_at = state.placed.version;
}

bool is_known_blocked(const State& state, std::uint32_t number) {
  const PlacedWork& placed = state.placed;
  const ShapeWork& work = placed.shapes[number];
  if (work.bench != PlacedBench::blocked) return false;
  if (work.tried_at == placed.version) return true;
  const bool is_gang = !lies_on_one_node(state.shape_table.shape(number));
  return is_gang ? placed.gangs_tried == placed.version : placed.freed.empty();
}

void settle_placed(State& state) {
  if (state.placed.next) return;
  settle_cells(state);
  settle_mig(state);
}

void settle_reservations(State& state) {
  PlacedWork& placed = state.placed;
  if (placed.next) return;
  if (placed.ranked.empty() && state.claims.empty()) return;
  update_cells(state);
  if (!is_stale(state)) return;
  placed.stale = false;
  find_next(state);
  settle_mig(state);
}

}  // namespace berth::core
