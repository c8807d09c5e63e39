// Primitives over placed work: who leads a shape, which cells changed, what is open. See placed.h.
#include <algorithm>
#include <set>
#include <tuple>

#include "base/assert.h"
#include "core/state/state.h"

namespace berth::core {
namespace {

constexpr std::size_t kCellGpusMax = kNodeGpusMax;

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

BlockedClass class_of(const Shape& shape) { return {shape.gpus, shape.share, shape.kinds}; }

void leave_bench(State& state, std::uint32_t number) {
  PlacedWork& placed = state.placed;
  ShapeWork& work = placed.shapes[number];
  if (work.bench == PlacedBench::open) placed.open.erase(placed.positions, number);
  if (work.bench == PlacedBench::blocked) {
    const Shape& shape = state.shape_table.shape(number);
    const auto at = placed.blocked.find(class_of(shape));
    at->second.erase(placed.positions, number, shape.cpu.value);
    if (at->second.empty()) placed.blocked.erase(at);
  }
  work.bench = PlacedBench::none;
}

void take_bench(State& state, std::uint32_t number, PlacedBench bench) {
  PlacedWork& placed = state.placed;
  ShapeWork& work = placed.shapes[number];
  work.bench = bench;
  if (bench == PlacedBench::open) placed.open.put(placed.positions, number, work.key);
  if (bench == PlacedBench::blocked) {
    const Shape& shape = state.shape_table.shape(number);
    placed.blocked[class_of(shape)].insert(placed.positions, number, shape.cpu.value, work.key);
  }
}

void move_to(State& state, std::uint32_t number, PlacedBench bench) {
  leave_bench(state, number);
  take_bench(state, number, bench);
}

// --- cells ---

NodeView view_of(const State& state, const Cell& cell) {
  const Node& node = state.node(cell.node);
  NodeView view;
  view.gpus = static_cast<std::uint8_t>(cell.gpus.size());
  if (!cell.gpus.empty()) view.kind = state.gpu(cell.gpus.front()).spec.kind;
  if (!node.up) return view;
  view.cpu = std::max(node.spec.cpu - node.cpu_used, Milli{0});
  view.memory = std::max(node.spec.memory - node.memory_used, Mib{0});
  for (std::size_t i = 0; i < cell.gpus.size(); ++i) {
    const Gpu& gpu = state.gpu(cell.gpus[i]);
    view.island[i] = static_cast<std::uint8_t>(i);
    for (std::size_t j = 0; j < i && gpu.spec.island; ++j) {
      if (state.gpu(cell.gpus[j]).spec.island == gpu.spec.island) view.island[i] = view.island[j];
    }
    if (!is_open(gpu) || free_vram(gpu).value < 0) continue;
    const Milli room =
        gpu.leases.empty() ? kWholeGpu : state.policy.gpu_load_threshold - load_of(gpu);
    view.left[i] = static_cast<std::uint16_t>(std::max<std::int64_t>(0, room.value));
    view.vram[i] = static_cast<std::uint32_t>(free_vram(gpu).value);
  }
  return view;
}

void add_cells(PlacedWork& placed, const State& state, NodeId id) {
  std::map<KindId, std::vector<GpuId>> by_kind;
  for (const GpuId gpu : state.node(id).gpus)
    by_kind[state.gpu(gpu).spec.kind].push_back(gpu);
  for (const auto& [kind, gpus] : by_kind) {
    for (std::size_t from = 0; from < gpus.size(); from += kCellGpusMax) {
      const std::size_t to = std::min(gpus.size(), from + kCellGpusMax);
      Cell& cell = placed.cells.emplace_back();
      cell.node = id;
      cell.gpus.assign(gpus.begin() + static_cast<std::ptrdiff_t>(from),
                       gpus.begin() + static_cast<std::ptrdiff_t>(to));
    }
  }
  if (by_kind.empty()) placed.cells.emplace_back().node = id;
}

// What the cell has when everything is up and nothing runs.
NodeView empty_view(const State& state, const Cell& cell) {
  NodeView view = view_of(state, cell);
  view.cpu = state.node(cell.node).spec.cpu;
  view.memory = state.node(cell.node).spec.memory;
  for (std::size_t i = 0; i < cell.gpus.size(); ++i) {
    view.left[i] = static_cast<std::uint16_t>(kWholeGpu.value);
    view.vram[i] = static_cast<std::uint32_t>(state.gpu(cell.gpus[i]).usable.value);
  }
  return view;
}

void list_empty_cells(State& state) {
  const auto comes_before = [](const NodeView& a, const NodeView& b) {
    return std::tie(a.kind, a.gpus, a.cpu, a.memory, a.vram, a.island) <
           std::tie(b.kind, b.gpus, b.cpu, b.memory, b.vram, b.island);
  };
  std::set<NodeView, decltype(comes_before)> kinds(comes_before);
  for (const Cell& cell : state.placed.cells)
    kinds.insert(empty_view(state, cell));
  state.placed.empty_cells.assign(kinds.begin(), kinds.end());
}

void make_cells(State& state) {
  PlacedWork& placed = state.placed;
  placed.cells.clear();
  placed.first_cell.clear();
  placed.freed.clear();
  placed.dirty.clear();
  for (std::uint32_t i = 0; i < state.nodes.size(); ++i) {
    placed.first_cell.push_back(static_cast<std::uint32_t>(placed.cells.size()));
    add_cells(placed, state, NodeId{i});
    state.nodes[i].dirty = false;
  }
  placed.first_cell.push_back(static_cast<std::uint32_t>(placed.cells.size()));
  for (std::uint32_t i = 0; i < placed.cells.size(); ++i) {
    placed.cells[i].view = view_of(state, placed.cells[i]);
  }
  list_empty_cells(state);
  placed.cells_stale = false;
  for (std::uint32_t number = 0; number < placed.shapes.size(); ++number) {
    if (placed.shapes[number].bench == PlacedBench::blocked) {
      move_to(state, number, PlacedBench::open);
    }
  }
}

// Whether anything might fit now that did not before.
bool has_more(const NodeView& now, const NodeView& before) {
  if (now.cpu > before.cpu || now.memory > before.memory) return true;
  for (std::size_t i = 0; i < now.gpus; ++i) {
    if (now.left[i] > before.left[i] || now.vram[i] > before.vram[i]) return true;
  }
  return false;
}

void update_cells(State& state) {
  PlacedWork& placed = state.placed;
  if (placed.cells_stale) return make_cells(state);
  for (const NodeId node : placed.dirty) {
    state.node(node).dirty = false;
    const std::uint32_t end = placed.first_cell[node.value + 1];
    for (std::uint32_t i = placed.first_cell[node.value]; i < end; ++i) {
      const NodeView now = view_of(state, placed.cells[i]);
      if (has_more(now, placed.cells[i].view)) placed.freed.insert(i);
      placed.cells[i].view = now;
    }
  }
  placed.dirty.clear();
}

// --- what becomes open again ---

// The best blocked shape that fits this cell; none: UINT32_MAX.
std::uint32_t best_for(const State& state, const Cell& cell) {
  std::uint32_t best = UINT32_MAX;
  for (const auto& [klass, shapes] : state.placed.blocked) {
    const auto found = shapes.best(cell.view.cpu.value);
    if (!found) continue;
    if (best != UINT32_MAX && state.placed.shapes[best].key < found->key) continue;
    if (fits(cell.view, state.shape_table.shape(found->handle))) best = found->handle;
  }
  return best;
}

// Where a freed cell has room for blocked work that goes before what is open, that is open again.
void wake_blocked(State& state) {
  PlacedWork& placed = state.placed;
  std::uint32_t best = UINT32_MAX;
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

}  // namespace

Shape shape_of(const State& state, const TaskRow& row) {
  if (row.shape != kNoSlot) return state.shape_table.shape(row.shape);
  return {.gpus = row.gpus, .share = row.share, .vram = row.vram};
}

void refresh_shape(State& state, std::uint32_t number) {
  if (state.placed.shapes.size() <= number) state.placed.shapes.resize(number + 1);
  settle_leader(state, number);
  ShapeWork& work = state.placed.shapes[number];
  const PlacedBench before = work.bench;
  leave_bench(state, number);
  if (work.leader_flow == UINT32_MAX) return;
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
  IndexedHeap<OrderKey>& flows = placed.shapes[flow.shape].flows;
  if (competes) {
    flows.put(state.flow_positions, id, key_of(state, flow));
  } else {
    flows.erase(state.flow_positions, id);
  }
  refresh_shape(state, flow.shape);
}

void note_node(State& state, NodeId id) {
  Node& node = state.node(id);
  if (!state.placed.in_use || node.dirty) return;
  node.dirty = true;
  state.placed.dirty.push_back(id);
}

void keep_cells(State& state) {
  state.placed.in_use = true;
  if (state.placed.cells_stale) make_cells(state);
}

void settle_placed(State& state) {
  PlacedWork& placed = state.placed;
  if (placed.open.empty() && placed.blocked.empty()) return;
  update_cells(state);
  for (;;) {
    if (!placed.freed.empty()) wake_blocked(state);
    if (placed.open.empty()) return;
    const std::uint32_t shape = placed.open.top().handle;
    if (find_place(state, shape)) return;
    move_to(state, shape, PlacedBench::blocked);
  }
}

}  // namespace berth::core
