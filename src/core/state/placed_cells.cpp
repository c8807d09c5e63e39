// Cells: what the nodes have free, as packing and the gang search see it. See placed.h.
#include <algorithm>
#include <set>
#include <tuple>

#include "base/assert.h"
#include "core/state/placed_internal.h"
#include "core/state/state.h"

namespace berth::core {
namespace {

NodeView view_of(const State& state, const Cell& cell) {
  const Node& node = state.node(cell.node);
  NodeView view;
  view.gpus = static_cast<std::uint8_t>(cell.gpus.size());
  if (!cell.gpus.empty()) view.kind = state.gpu(cell.gpus.front()).spec.kind;
  for (std::size_t i = 0; i < cell.gpus.size(); ++i) {
    const IslandId island = state.gpu(cell.gpus[i]).spec.island;
    view.island[i] = static_cast<std::uint8_t>(i);
    for (std::size_t j = 0; j < i && island; ++j) {
      if (state.gpu(cell.gpus[j]).spec.island == island) view.island[i] = view.island[j];
    }
  }
  if (!node.up) return view;
  view.cpu = std::max(node.spec.cpu - node.cpu_used - node.cpu_claimed, Milli{0});
  view.memory = std::max(node.spec.memory - node.memory_used - node.memory_claimed, Mib{0});
  for (std::size_t i = 0; i < cell.gpus.size(); ++i) {
    const Gpu& gpu = state.gpu(cell.gpus[i]);
    const Mib vram = reclaimable_vram(gpu);
    const bool accepts =
        gpu.up && !gpu.draining && !gpu.held_for && takes_batches(gpu) && !is_claimed(state, gpu);
    if (!accepts || free_vram(gpu).value < 0) continue;
    const Milli room =
        gpu.leases.empty() ? kWholeGpu : state.policy.gpu_load_threshold - load_of(gpu);
    view.left[i] = static_cast<std::uint16_t>(std::max<std::int64_t>(0, room.value));
    view.vram[i] = static_cast<std::uint32_t>(vram.value);
  }
  return view;
}

CellKind cell_kind(const Gpu& gpu) { return {gpu.spec.kind, gpu.usable, gpu.spec.mig}; }

// Beyond the kinds that can be told apart there are no gangs.
bool is_told_apart(const State& state, const Cell& cell) {
  if (cell.gpus.empty()) return false;
  const Gpu& gpu = state.gpu(cell.gpus.front());
  return gpu.spec.mig == mig::Geometry::none && state.placed.kinds[cell.kind] == cell_kind(gpu);
}

// The GPUs that a gang may take whole.
Room room_of(const State& state, const Cell& cell) {
  Room room{0, cell.view.cpu, cell.view.memory};
  if (!is_told_apart(state, cell)) return room;
  for (std::size_t i = 0; i < cell.gpus.size(); ++i) {
    const Gpu& gpu = state.gpu(cell.gpus[i]);
    const bool is_whole = gpu.leases.empty() && gpu.weights_busy.value == 0;
    if (is_whole && cell.view.left[i] == kWholeGpu.value) {
      room.gpus = static_cast<GpuMask>(room.gpus | 1U << i);
    }
  }
  return room;
}

void update_indexes(State& state, std::uint32_t number) {
  const Cell& cell = state.placed.cells[number];
  state.placed.pack.put(NodeId{number}, cell.view);
  state.placed.tree->set_node(NodeId{number}, room_of(state, cell));
}

void add_cells(PlacedWork& placed, const State& state, NodeId id) {
  std::map<CellKind, std::vector<GpuId>> by_kind;
  for (const GpuId gpu : state.node(id).gpus)
    by_kind[cell_kind(state.gpu(gpu))].push_back(gpu);
  for (const auto& [kind, gpus] : by_kind) {
    const auto known = std::lower_bound(placed.kinds.begin(), placed.kinds.end(), kind);
    for (std::size_t from = 0; from < gpus.size(); from += kNodeGpusMax) {
      const std::size_t to = std::min<std::size_t>(gpus.size(), from + kNodeGpusMax);
      Cell& cell = placed.cells.emplace_back();
      cell.node = id;
      // Beyond the kinds that can be told apart, a GPU counts as one of a smaller kind.
      cell.kind = static_cast<std::uint32_t>(
          known != placed.kinds.end() && *known == kind
              ? known - placed.kinds.begin()
              : std::max<std::ptrdiff_t>(0, known - placed.kinds.begin() - 1));
      for (std::size_t i = from; i < to; ++i)
        placed.cell_of[gpus[i].value] = static_cast<std::uint32_t>(placed.cells.size() - 1);
      cell.gpus.assign(gpus.begin() + static_cast<std::ptrdiff_t>(from),
                       gpus.begin() + static_cast<std::ptrdiff_t>(to));
    }
  }
  if (by_kind.empty()) placed.cells.emplace_back().node = id;
}

void list_kinds(State& state) {
  std::set<CellKind> kinds;
  for (const Gpu& gpu : state.gpus)
    kinds.insert(cell_kind(gpu));
  state.placed.kinds.assign(kinds.begin(), kinds.end());
  if (state.placed.kinds.size() > kMaxKinds) state.placed.kinds.resize(kMaxKinds);
}

// What the cell has when everything is up and nothing runs.
NodeView empty_view(const State& state, const Cell& cell) {
  NodeView view = cell.view;
  view.cpu = state.node(cell.node).spec.cpu;
  view.memory = state.node(cell.node).spec.memory;
  for (std::size_t i = 0; i < cell.gpus.size(); ++i) {
    if (state.gpu(cell.gpus[i]).spec.mig != mig::Geometry::none) continue;
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
  std::set<NodeView, decltype(comes_before)> sorts(comes_before);
  for (const Cell& cell : state.placed.cells)
    sorts.insert(empty_view(state, cell));
  state.placed.empty_cells.assign(sorts.begin(), sorts.end());
}

HardwareTree tree_of(const State& state, bool with_links) {
  HardwareTree tree;
  tree.gpus.resize(state.gpus.size());
  for (std::uint32_t i = 0; i < state.placed.cells.size(); ++i) {
    const Cell& cell = state.placed.cells[i];
    const NodeSpec& spec = state.node(cell.node).spec;
    tree.racks = std::max(tree.racks, spec.rack.value + 1);
    tree.nodes.push_back({spec.rack, spec.cpu, spec.memory});
    for (std::size_t slot = 0; slot < cell.gpus.size(); ++slot) {
      const GpuSpec& gpu = state.gpu(cell.gpus[slot]).spec;
      TreeGpu& leaf = tree.gpus[cell.gpus[slot].value];
      leaf.node = NodeId{i};
      leaf.index = static_cast<std::uint8_t>(slot);
      leaf.kind = KindId{cell.kind};
      if (!with_links) continue;
      leaf.socket = gpu.socket;
      leaf.pcie_switch = gpu.pcie_switch;
      leaf.island = gpu.island;
    }
  }
  return tree;
}

// Links that contradict one another are as good as none.
HardwareTree sound_tree(const State& state) {
  HardwareTree tree = tree_of(state, true);
  return flaws_in(tree).empty() ? tree : tree_of(state, false);
}

void make_cells(State& state) {
  PlacedWork& placed = state.placed;
  list_kinds(state);
  placed.cells.clear();
  placed.first_cell.clear();
  placed.cell_of.assign(state.gpus.size(), 0);
  placed.freed.clear();
  placed.dirty.clear();
  placed.pack = PackIndex{};
  instruct_packing(state);
  placed.plan.kept = false;
  placed.stale = true;
  ++placed.version;
  for (std::uint32_t i = 0; i < state.nodes.size(); ++i) {
    placed.first_cell.push_back(static_cast<std::uint32_t>(placed.cells.size()));
    add_cells(placed, state, NodeId{i});
    state.nodes[i].dirty = false;
  }
  placed.first_cell.push_back(static_cast<std::uint32_t>(placed.cells.size()));
  const HardwareTree tree = sound_tree(state);
  placed.tree.emplace(tree);
  placed.empty_tree.emplace(tree);
  for (std::uint32_t i = 0; i < placed.cells.size(); ++i) {
    placed.cells[i].view = view_of(state, placed.cells[i]);
    update_indexes(state, i);
    const Cell& cell = placed.cells[i];
    const NodeSpec& spec = state.node(cell.node).spec;
    const std::uint32_t mask = is_told_apart(state, cell) ? (1U << cell.gpus.size()) - 1 : 0;
    const auto all = static_cast<GpuMask>(mask);
    placed.empty_tree->set_node(NodeId{i}, {all, spec.cpu, spec.memory});
  }
  list_empty_cells(state);
  list_mig_sorts(state);
  placed.cells_stale = false;
  open_blocked(state);
}

// Whether anything might fit now that did not before.
bool has_more(const NodeView& now, const NodeView& before) {
  if (now.cpu > before.cpu || now.memory > before.memory) return true;
  for (std::size_t i = 0; i < now.gpus; ++i) {
    if (now.left[i] > before.left[i] || now.vram[i] > before.vram[i]) return true;
  }
  return false;
}

}  // namespace

void note_node(State& state, NodeId id) {
  Node& node = state.node(id);
  if (!state.claims.empty()) state.placed.stale = true;  // views do not show what is claimed
  if (!state.placed.in_use || node.dirty) return;
  node.dirty = true;
  state.placed.dirty.push_back(id);
}

void keep_cells(State& state) {
  state.placed.in_use = true;
  if (state.placed.cells_stale) make_cells(state);
}

void update_cells(State& state) {
  PlacedWork& placed = state.placed;
  if (placed.cells_stale) return make_cells(state);
  for (const NodeId node : placed.dirty) {
    state.node(node).dirty = false;
    const std::uint32_t end = placed.first_cell[node.value + 1];
    for (std::uint32_t i = placed.first_cell[node.value]; i < end; ++i) {
      const NodeView now = view_of(state, placed.cells[i]);
      placed.stale = placed.stale || now != placed.cells[i].view;
      if (has_more(now, placed.cells[i].view)) {
        placed.freed.insert(i);
        ++placed.version;
      }
      placed.cells[i].view = now;
      update_indexes(state, i);
    }
  }
  placed.dirty.clear();
}

}  // namespace berth::core
