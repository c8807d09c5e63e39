// Primitives over GPUs in MIG mode and the work that asks for instances. See mig_work.h.
#include <algorithm>

#include "base/assert.h"
#include "core/mig/placement.h"
#include "core/mig/value.h"
#include "core/state/placed_internal.h"

namespace berth::core {
namespace {

// --- what fits where ---

bool has_free_start(mig::State slices, const mig::SlotClass& slot) {
  for (int start = 0; start < mig::kMemorySlicesMax; ++start) {
    if (mig::legal(slices, slot, start)) return true;
  }
  return false;
}

bool node_gives(const State& state, NodeId id, const Shape& shape) {
  const Node& node = state.node(id);
  const Milli cpu = std::max(node.spec.cpu - node.cpu_used - node.cpu_claimed, Milli{0});
  const Mib memory = std::max(node.spec.memory - node.memory_used - node.memory_claimed, Mib{0});
  return shape.cpu <= cpu && shape.memory <= memory;
}

// Whether some state that fitted nothing before might now.
bool has_more(const MigEntry& now, const std::optional<MigEntry>& before) {
  if (!before || before->kind != now.kind) return true;
  return (before->slices.used & ~now.slices.used) != 0 ||
         (before->slices.media && !now.slices.media);
}

// Where an instance costs least on GPUs cut alike whose nodes can carry the task.
std::optional<mig::MigIndex::Place> best_among(const State& state, const mig::MigIndex& gpus,
                                               const Shape& shape) {
  std::optional<mig::MigIndex::Place> found;
  gpus.visit(shape.profile, [&](const mig::MigIndex::Place& place) {
    if (!node_gives(state, state.gpu(place.gpu).spec.node, shape)) return true;
    found = place;
    return false;
  });
  return found;
}

// --- benches ---

MigClass mig_class_of(const Shape& shape) { return {shape.profile, shape.kinds}; }

void move_mig(State& state, std::uint32_t number, PlacedBench bench) {
  leave_mig_bench(state, number);
  take_mig_bench(state, number, bench);
}

// The best blocked shape that fits this GPU; none: UINT32_MAX.
std::uint32_t best_for(const State& state, GpuId gpu) {
  const PlacedWork& placed = state.placed;
  const Node& node = state.node(state.gpu(gpu).spec.node);
  const Milli left = node.spec.cpu - node.cpu_used - node.cpu_claimed;
  const std::int64_t cpu = std::max<std::int64_t>(0, left.value);
  std::uint32_t best = UINT32_MAX;
  const auto take_better = [&](std::uint32_t number, const OrderKey& key) {
    if (best != UINT32_MAX && placed.shapes[best].key < key) return true;
    if (!fits_instance(state, gpu, state.shape_table.shape(number))) return false;
    best = number;
    return true;
  };
  for (const auto& [klass, shapes] : placed.mig.blocked) {
    if (!fits_instance(state, gpu, {.profile = klass.profile, .kinds = klass.kinds})) continue;
    const auto found = shapes.best(cpu);
    if (!found || take_better(found->handle, found->key)) continue;
    // The first has CPUs enough and is short of memory or VRAM; others may not be.
    shapes.visit([&](std::int64_t need, const IndexedHeap<OrderKey>& heap) {
      if (need > cpu) return;
      for (const auto& entry : heap.entries())
        take_better(entry.handle, entry.key);
    });
  }
  return best;
}

// Where there is room now for blocked work that goes before what is open, that is open again.
void wake_blocked(State& state) {
  PlacedWork& placed = state.placed;
  MigWork& work = placed.mig;
  std::uint32_t best = UINT32_MAX;
  for (auto gpu = work.freed.begin(); gpu != work.freed.end();) {
    const std::uint32_t shape = best_for(state, *gpu);
    if (shape == UINT32_MAX) {
      gpu = work.freed.erase(gpu);
      continue;
    }
    if (best == UINT32_MAX || placed.shapes[shape].key < placed.shapes[best].key) best = shape;
    ++gpu;
  }
  if (best == UINT32_MAX) return;
  const bool goes_first = work.open.empty() || placed.shapes[best].key < work.open.top().key;
  if (goes_first) move_mig(state, best, PlacedBench::open);
}

}  // namespace

// --- GPUs ---

bool takes_instances(const State& state, const Gpu& gpu) {
  const bool accepts = gpu.up && !gpu.draining && state.node(gpu.spec.node).up;
  const bool is_cut_so = gpu.leases.empty() || gpu.cut == gpu.spec.mig;
  return gpu.spec.mig != mig::Geometry::none && accepts && is_cut_so && gpu.residences.empty();
}

void leave_mig_index(State& state, GpuId id) {
  Gpu& gpu = state.gpu(id);
  if (!gpu.mig_entry) return;
  state.placed.mig.gpus.at(gpu.mig_entry->kind).erase(id, gpu.mig_entry->slices);
  gpu.mig_entry.reset();
}

void index_mig(State& state, GpuId id) {
  Gpu& gpu = state.gpu(id);
  const std::optional<MigEntry> before = gpu.mig_entry;
  leave_mig_index(state, id);
  if (!takes_instances(state, gpu)) return;
  const MigEntry entry{{gpu.spec.kind, gpu.spec.mig}, gpu.slices};
  MigWork& work = state.placed.mig;
  const auto [index, fresh] =
      work.gpus.try_emplace(entry.kind, mig::uniform_table(entry.kind.geometry));
  index->second.put(id, entry.slices);
  gpu.mig_entry = entry;
  if (!work.blocked.empty() && has_more(entry, before)) work.freed.insert(id);
}

void note_mig_node(State& state, NodeId id) {
  for (const GpuId gpu : state.node(id).gpus) {
    if (state.gpu(gpu).spec.mig == mig::Geometry::none) continue;
    index_mig(state, gpu);
    const bool may_help = state.gpu(gpu).mig_entry && !state.placed.mig.blocked.empty();
    if (may_help) state.placed.mig.freed.insert(gpu);
  }
}

void list_mig_sorts(State& state) {
  std::set<MigSort> sorts;
  for (const Gpu& gpu : state.gpus) {
    const NodeSpec& node = state.node(gpu.spec.node).spec;
    if (gpu.spec.mig == mig::Geometry::none) continue;
    sorts.insert({{gpu.spec.kind, gpu.spec.mig}, node.cpu, node.memory});
  }
  state.placed.mig.sorts.assign(sorts.begin(), sorts.end());
}

void take_instance(State& state, GpuId id, const MigInstance& instance) {
  Gpu& gpu = state.gpu(id);
  ASSERT(gpu.cut == instance.geometry || gpu.slices == mig::State{});
  gpu.cut = instance.geometry;
  gpu.slices = mig::take(instance.geometry, gpu.slices, instance.profile, instance.start);
}

void give_instance(State& state, GpuId id, const MigInstance& instance) {
  Gpu& gpu = state.gpu(id);
  ASSERT(gpu.cut == instance.geometry);
  gpu.slices = mig::give(instance.geometry, gpu.slices, instance.profile, instance.start);
  if (gpu.slices == mig::State{}) gpu.cut = mig::Geometry::none;
}

const mig::SlotClass* slot_for(mig::Geometry geometry, const Shape& shape) {
  if (geometry == mig::Geometry::none) return nullptr;
  const mig::SlotClass* slot = mig::slot_class(geometry, shape.profile);
  return slot != nullptr && slot->memory.value >= shape.vram ? slot : nullptr;
}

bool fits_instance(const State& state, GpuId id, const Shape& shape) {
  const Gpu& gpu = state.gpu(id);
  if (!gpu.mig_entry || !allows(shape.kinds, gpu.spec.kind)) return false;
  const mig::SlotClass* slot = slot_for(gpu.spec.mig, shape);
  return slot != nullptr && has_free_start(gpu.slices, *slot) &&
         node_gives(state, gpu.spec.node, shape);
}

// --- work ---

void leave_mig_bench(State& state, std::uint32_t number) {
  PlacedWork& placed = state.placed;
  ShapeWork& work = placed.shapes[number];
  if (work.bench == PlacedBench::open) placed.mig.open.erase(placed.positions, number);
  if (work.bench == PlacedBench::blocked) {
    const Shape& shape = state.shape_table.shape(number);
    const auto at = placed.mig.blocked.find(mig_class_of(shape));
    at->second.erase(placed.positions, number, shape.cpu.value);
    if (at->second.empty()) placed.mig.blocked.erase(at);
  }
  work.bench = PlacedBench::none;
}

void take_mig_bench(State& state, std::uint32_t number, PlacedBench bench) {
  PlacedWork& placed = state.placed;
  ShapeWork& work = placed.shapes[number];
  work.bench = bench;
  if (bench == PlacedBench::open) placed.mig.open.put(placed.positions, number, work.key);
  if (bench == PlacedBench::blocked) {
    const Shape& shape = state.shape_table.shape(number);
    placed.mig.blocked[mig_class_of(shape)].insert(placed.positions, number, shape.cpu.value,
                                                   work.key);
  }
}

Place find_instance(const State& state, const Shape& shape) {
  std::optional<mig::MigIndex::Place> best;
  mig::Geometry geometry = mig::Geometry::none;
  for (const auto& [kind, gpus] : state.placed.mig.gpus) {
    if (!allows(shape.kinds, kind.kind) || slot_for(kind.geometry, shape) == nullptr) continue;
    const auto place = best_among(state, gpus, shape);
    if (!place || (best && std::pair(best->cost, best->gpu) < std::pair(place->cost, place->gpu))) {
      continue;
    }
    best = place;
    geometry = kind.geometry;
  }
  if (!best) return {};
  return {NodeId::none(), {best->gpu}, MigInstance{geometry, shape.profile, best->start}};
}

void settle_mig(State& state) {
  PlacedWork& placed = state.placed;
  for (;;) {
    if (!placed.mig.freed.empty()) wake_blocked(state);
    if (placed.mig.open.empty()) return;
    const auto [number, key] = [&] {
      const auto top = placed.mig.open.top();
      return std::pair(top.handle, top.key);
    }();
    if (placed.next && placed.next->key < key) return;
    if (exact_key(state, number) != key) {
      refresh_shape(state, number);  // it has been charged since, and may have to wait for others
      continue;
    }
    Place place = find_instance(state, state.shape_table.shape(number));
    if (!place) {
      move_mig(state, number, PlacedBench::blocked);
      continue;
    }
    const Flow& leader = state.flows.flow(placed.shapes[number].flows.top().handle);
    placed.next = NextStart{leader.head.slot, key, std::move(place)};
    return;
  }
}

}  // namespace berth::core
