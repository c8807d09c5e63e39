// Checks instances of GPUs in MIG mode, and the work that asks for them. See check.h.
#include <map>
#include <set>

#include "core/mig/placement.h"
#include "core/state/check.h"

namespace berth::core {
namespace {

// What the instances of a GPU take together. Plain bits, without the primitives.
struct Taken {
  unsigned used = 0;
  bool media = false;
  bool overlap = false;
  bool legal = true;
  std::set<mig::Geometry> cuts;
};

Taken taken_of(const State& state, const Gpu& gpu) {
  Taken taken;
  for (const std::uint32_t slot : gpu.leases) {
    const Lease& lease = state.leases[slot];
    if (!lease.instance) {
      taken.cuts.insert(mig::Geometry::none);
      continue;
    }
    const MigInstance& instance = *lease.instance;
    taken.cuts.insert(instance.geometry);
    const mig::SlotClass* row = mig::slot_class(instance.geometry, instance.profile);
    if (row == nullptr || instance.start >= 8 || (row->starts >> instance.start & 1) == 0) {
      taken.legal = false;
      continue;
    }
    const unsigned mask = ((1U << row->memory_slices) - 1U) << instance.start;
    taken.overlap = taken.overlap || (taken.used & mask) != 0 || (row->media && taken.media);
    taken.used |= mask;
    taken.media = taken.media || row->media;
  }
  return taken;
}

void check_slices(const State& state, GpuId id, Findings& findings) {
  const Gpu& gpu = state.gpu(id);
  const Taken taken = taken_of(state, gpu);
  findings.must(taken.legal, "GPU ", id, " has an instance where none may start");
  findings.must(!taken.overlap, "GPU ", id, " has instances that overlap");
  findings.must(taken.cuts.size() <= 1, "GPU ", id, " is cut in ", taken.cuts.size(), " ways");
  findings.same(static_cast<unsigned>(gpu.slices.used), taken.used, "slices in use of GPU ", id);
  findings.same(gpu.slices.media, taken.media, "the media extension of GPU ", id);
  const mig::Geometry cut = taken.cuts.empty() ? mig::Geometry::none : *taken.cuts.begin();
  findings.must(gpu.cut == cut, "GPU ", id, " is cut as ", mig::name_of(gpu.cut), ", derived ",
                mig::name_of(cut));
  const bool is_cut_so = taken.cuts.empty() || cut == gpu.spec.mig;
  const bool takes = gpu.spec.mig != mig::Geometry::none && gpu.up && !gpu.draining &&
                     state.node(gpu.spec.node).up && is_cut_so && gpu.residences.empty();
  findings.same(gpu.mig_entry.has_value(), takes, "whether GPU ", id, " takes instances");
  findings.must(!takes || gpu.mig_entry == MigEntry{{gpu.spec.kind, gpu.spec.mig}, gpu.slices},
                "GPU ", id, " stands elsewhere among those that take instances");
}

// By plain loops: whether an instance for the shape could start there.
bool could_start(const State& state, GpuId id, const Shape& shape) {
  const Gpu& gpu = state.gpu(id);
  if (!gpu.mig_entry || !allows(shape.kinds, gpu.spec.kind)) return false;
  const mig::SlotClass* slot = mig::slot_class(gpu.spec.mig, shape.profile);
  if (slot == nullptr || slot->memory.value < shape.vram) return false;
  const Node& node = state.node(gpu.spec.node);
  const Milli cpu_left = node.spec.cpu - node.cpu_used - node.cpu_claimed;
  const Mib memory_left = node.spec.memory - node.memory_used - node.memory_claimed;
  const std::int64_t cpu = std::max<std::int64_t>(0, cpu_left.value);
  const std::int64_t memory = std::max<std::int64_t>(0, memory_left.value);
  if (shape.cpu.value > cpu || shape.memory.value > memory) return false;
  for (int start = 0; start < mig::kMemorySlicesMax; ++start) {
    if (mig::legal(gpu.slices, *slot, start)) return true;
  }
  return false;
}

// A blocked shape fits on no GPU but those that were freed since.
void check_blocked(const State& state, Findings& findings) {
  for (std::uint32_t number = 0; number < state.placed.shapes.size(); ++number) {
    if (state.placed.shapes[number].bench != PlacedBench::blocked) continue;
    const Shape& shape = state.shape_table.shape(number);
    if (shape.profile == mig::kNoProfile) continue;
    for (std::uint32_t i = 0; i < state.gpus.size(); ++i) {
      findings.must(
          state.placed.mig.freed.contains(GpuId{i}) || !could_start(state, GpuId{i}, shape),
          "shape ", number, " is blocked and could start on GPU ", i);
    }
  }
}

}  // namespace

void check_mig(const State& state, Findings& findings) {
  std::map<MigKind, std::map<std::uint64_t, mig::State>> derived;
  for (std::uint32_t i = 0; i < state.gpus.size(); ++i) {
    check_slices(state, GpuId{i}, findings);
    const Gpu& gpu = state.gpus[i];
    if (gpu.mig_entry) derived[gpu.mig_entry->kind][i] = gpu.slices;
  }
  for (const auto& [kind, index] : state.placed.mig.gpus) {
    for (std::uint16_t i = 0; i < mig::kStates; ++i) {
      for (const GpuId gpu : index.in_state(mig::State::at(i))) {
        const auto known = derived[kind].find(gpu.value);
        const bool agrees = known != derived[kind].end() && known->second.index() == i;
        findings.must(agrees, "GPU ", gpu, " is indexed with other slices than it has");
        if (agrees) derived[kind].erase(known);
      }
    }
  }
  for (const auto& [kind, left] : derived)
    findings.must(left.empty(), left.size(), " GPUs that take instances are in no index");
  check_blocked(state, findings);
}

}  // namespace berth::core
