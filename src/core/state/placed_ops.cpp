// Primitives over placed work: who leads a shape, which cells changed, what is open. See placed.h.
#include <algorithm>

#include "base/assert.h"
#include "core/state/placed_internal.h"
#include "core/topology/gang_search.h"

namespace berth::core {
namespace {

OrderKey key_of(const State& state, const Flow& flow) {
  const OrderKey key = state.rule->flow_key(state, flow, flow.head);
  return state.rule->placed_key(state, state.queue(flow.queue), key);
}

// --- the list of shapes that a tenant leads ---

Tenant& leader_of(State& state, const ShapeWork& work) {
  return state.tenant(state.flows.flow(work.leader_flow).tenant);
}

void unlink_led(State& state, std::uint32_t number) {
  auto& shapes = state.placed.shapes;
  ShapeWork& work = shapes[number];
  if (work.leader_flow == UINT32_MAX) return;
  std::uint32_t& before = work.led_prev != UINT32_MAX ? shapes[work.led_prev].led_next
                                                      : leader_of(state, work).first_led_shape;
  before = work.led_next;
  if (work.led_next != UINT32_MAX) shapes[work.led_next].led_prev = work.led_prev;
  work.led_prev = work.led_next = UINT32_MAX;
}

void link_led(State& state, std::uint32_t number) {
  auto& shapes = state.placed.shapes;
  ShapeWork& work = shapes[number];
  if (work.leader_flow == UINT32_MAX) return;
  Tenant& tenant = leader_of(state, work);
  work.led_next = tenant.first_led_shape;
  if (work.led_next != UINT32_MAX) shapes[work.led_next].led_prev = number;
  tenant.first_led_shape = number;
}

// Sifts stale keys down until the top is exact; it then leads.
void settle_leader(State& state, std::uint32_t number) {
  ShapeWork& work = state.placed.shapes[number];
  std::uint32_t leader = UINT32_MAX;
  while (!work.flows.empty() && leader == UINT32_MAX) {
    const auto top = work.flows.top();
    const OrderKey exact = key_of(state, state.flows.flow(top.handle));
    if (exact == top.key) {
      leader = top.handle;
      work.key = exact;
    } else {
      work.flows.put(state.flow_positions, top.handle, exact);
    }
  }
  if (leader == work.leader_flow) return;
  unlink_led(state, number);
  work.leader_flow = leader;
  link_led(state, number);
}

// --- benches ---

BlockedClass blocked_class(const Shape& shape) {
  return {!lies_on_one_node(shape), shape.gpus, shape.share, shape.kinds};
}

bool asks_for_instance(const State& state, std::uint32_t number) {
  return state.shape_table.shape(number).profile != mig::kNoProfile;
}

void leave_bench(State& state, std::uint32_t number) {
  if (asks_for_instance(state, number)) return leave_mig_bench(state, number);
  PlacedWork& placed = state.placed;
  ShapeWork& work = placed.shapes[number];
  if (work.bench == PlacedBench::open) placed.open.erase(placed.positions, number);
  if (work.bench == PlacedBench::blocked) {
    const Shape& shape = state.shape_table.shape(number);
    const auto at = placed.blocked.find(blocked_class(shape));
    at->second.erase(placed.positions, number, shape.cpu.value);
    if (at->second.empty()) placed.blocked.erase(at);
  }
  work.bench = PlacedBench::none;
}

void take_bench(State& state, std::uint32_t number, PlacedBench bench) {
  if (asks_for_instance(state, number)) return take_mig_bench(state, number, bench);
  PlacedWork& placed = state.placed;
  ShapeWork& work = placed.shapes[number];
  work.bench = bench;
  if (bench == PlacedBench::open) placed.open.put(placed.positions, number, work.key);
  if (bench == PlacedBench::blocked) {
    const Shape& shape = state.shape_table.shape(number);
    placed.blocked[blocked_class(shape)].insert(placed.positions, number, shape.cpu.value,
                                                work.key);
  }
}

void move_to(State& state, std::uint32_t number, PlacedBench bench) {
  leave_bench(state, number);
  take_bench(state, number, bench);
}

// --- what becomes open again ---

// The best blocked shape that fits this cell alone; none: UINT32_MAX.
std::uint32_t best_for(const State& state, const Cell& cell) {
  std::uint32_t best = UINT32_MAX;
  const auto take_better = [&](std::uint32_t number, const OrderKey& key) {
    if (best != UINT32_MAX && state.placed.shapes[best].key < key) return true;
    if (!fits(cell.view, state.shape_table.shape(number))) return false;
    best = number;
    return true;
  };
  for (const auto& [klass, shapes] : state.placed.blocked) {
    if (klass.is_gang) continue;
    const auto found = shapes.best(cell.view.cpu.value);
    if (!found || take_better(found->handle, found->key)) continue;
    // The first has CPUs enough and is short of something else; others may not be.
    shapes.visit([&](std::int64_t cpu, const IndexedHeap<OrderKey>& heap) {
      if (cpu > cell.view.cpu.value) return;
      for (const auto& entry : heap.entries())
        take_better(entry.handle, entry.key);
    });
  }
  return best;
}

// The best of the blocked gangs that fit now.
std::uint32_t best_gang(State& state) {
  PlacedWork& placed = state.placed;
  std::uint32_t best = UINT32_MAX;
  if (placed.gangs_tried == placed.version) return best;
  for (const auto& [klass, shapes] : placed.blocked) {
    if (!klass.is_gang || klass.gpus > placed.tree->free_gpus()) continue;
    shapes.visit([&](std::int64_t, const IndexedHeap<OrderKey>& heap) {
      for (const auto& entry : heap.entries()) {
        ShapeWork& work = placed.shapes[entry.handle];
        if (best != UINT32_MAX && placed.shapes[best].key < work.key) continue;
        if (work.tried_at == placed.version) continue;
        const std::vector<Shape> asked =
            shapes_for_tree(state, state.shape_table.shape(entry.handle));
        const bool fits_now = std::any_of(asked.begin(), asked.end(), [&](const Shape& shape) {
          return gang_fits(*placed.tree, shape) != GangFits::no;
        });
        if (fits_now) {
          best = entry.handle;
        } else {
          work.tried_at = placed.version;
        }
      }
    });
  }
  if (best == UINT32_MAX) placed.gangs_tried = placed.version;
  return best;
}

// Where there is room now for blocked work that goes before what is open, that is open again.
void wake_blocked(State& state) {
  PlacedWork& placed = state.placed;
  std::uint32_t best = best_gang(state);
  for (auto cell = placed.freed.begin(); cell != placed.freed.end();) {
    const std::uint32_t shape = best_for(state, placed.cells[*cell]);
    if (shape == UINT32_MAX) {
      cell = placed.freed.erase(cell);
      continue;
    }
    if (best == UINT32_MAX || placed.shapes[shape].key < placed.shapes[best].key) best = shape;
    ++cell;
  }
  if (best == UINT32_MAX) return;
  const bool goes_first = placed.open.empty() || placed.shapes[best].key < placed.open.top().key;
  if (goes_first) move_to(state, best, PlacedBench::open);
}

// The first open shape that fits, once what does not is known to be blocked.
void find_next(State& state) {
  PlacedWork& placed = state.placed;
  for (;;) {
    if (!placed.blocked.empty()) wake_blocked(state);
    if (placed.open.empty()) return;
    const std::uint32_t number = placed.open.top().handle;
    Place place = find_place(state, state.shape_table.shape(number));
    if (!place) {
      block(state, number);
      continue;
    }
    const Flow& leader = state.flows.flow(placed.shapes[number].leader_flow);
    placed.stale = true;
    placed.next = NextStart{leader.head.slot, placed.shapes[number].key, std::move(place)};
    return;
  }
}

// What starts next on cells, by the order alone or by a plan.
void settle_cells(State& state) {
  PlacedWork& placed = state.placed;
  if (placed.ranked.empty()) {
    placed.plan.kept = false;
    placed.plan.reservations.clear();
    return;
  }
  update_cells(state);
  if (!placed.stale) return;
  placed.stale = false;
  if (state.policy.reservations > 0) {
    plan_next(state);
  } else {
    find_next(state);
  }
}

}  // namespace

Shape shape_of(const State& state, const TaskRow& row) {
  if (row.shape != kNoSlot) return state.shape_table.shape(row.shape);
  return {.gpus = row.gpus, .share = row.share, .vram = row.vram};
}

void refresh_shape(State& state, std::uint32_t number) {
  if (state.placed.shapes.size() <= number) state.placed.shapes.resize(number + 1);
  const OrderKey key_before = state.placed.shapes[number].key;
  settle_leader(state, number);
  ShapeWork& work = state.placed.shapes[number];
  const PlacedBench before = work.bench;
  if (key_before != work.key) state.placed.stale = true;
  leave_bench(state, number);
  if (work.leader_flow == UINT32_MAX) {
    return state.placed.ranked.erase(state.placed.rank_positions, number);
  }
  if (!asks_for_instance(state, number)) {
    state.placed.ranked.put(state.placed.rank_positions, number, work.key);
  }
  take_bench(state, number, before == PlacedBench::none ? PlacedBench::open : before);
}

void refresh_led_shapes(State& state, TenantId tenant) {
  std::uint32_t led = state.tenant(tenant).first_led_shape;
  while (led != UINT32_MAX) {
    const std::uint32_t next = state.placed.shapes[led].led_next;
    refresh_shape(state, led);
    led = next;
  }
}

void seat_placed(State& state, std::uint32_t id, bool competes) {
  const Flow& flow = state.flows.flow(id);
  PlacedWork& placed = state.placed;
  if (placed.shapes.size() <= flow.shape) placed.shapes.resize(flow.shape + 1);
  placed.stale = true;
  IndexedHeap<OrderKey>& flows = placed.shapes[flow.shape].flows;
  if (competes) {
    flows.put(state.flow_positions, id, key_of(state, flow));
  } else {
    flows.erase(state.flow_positions, id);
  }
  refresh_shape(state, flow.shape);
}

void open_blocked(State& state) {
  for (std::uint32_t number = 0; number < state.placed.shapes.size(); ++number) {
    if (state.placed.shapes[number].bench != PlacedBench::blocked) continue;
    move_to(state, number, PlacedBench::open);
  }
}

void block(State& state, std::uint32_t number) {
  move_to(state, number, PlacedBench::blocked);
  state.placed.shapes[number].tried_at = state.placed.version;
}

bool is_known_blocked(const State& state, std::uint32_t number) {
  const ShapeWork& work = state.placed.shapes[number];
  return work.bench == PlacedBench::blocked && work.tried_at == state.placed.version;
}

void settle_placed(State& state) {
  if (state.placed.next) return;
  settle_cells(state);
  settle_mig(state);
}

}  // namespace berth::core
