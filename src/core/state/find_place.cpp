// Where a shape can start: on one node by packing, on several by the gang search. See placed.h.
#include <algorithm>
#include <variant>

#include "base/assert.h"
#include "core/state/placed_internal.h"
#include "core/topology/gang_search.h"

namespace berth::core {
namespace {

Place on_one_node(State& state, const Shape& shape) {
  const auto choice = state.placed.pack.best(shape);
  if (!choice) return {};
  const Cell& cell = state.placed.cells[choice->node.value];
  Place place;
  if (shape.gpus == 0) place.node = cell.node;
  for (std::size_t i = 0; i < cell.gpus.size(); ++i) {
    if ((choice->gpus >> i & 1) != 0) place.gpus.push_back(cell.gpus[i]);
  }
  return place;
}

// Cells of one node have its CPUs in common; a gang on several of them may not count them twice.
// (It is never on several kinds of cell; more than 16 GPUs of one kind on a node are several.) A
// node that was put anew with less than is used there has nothing left, and no less than that.
bool nodes_have_enough(const State& state, const Shape& shape, const std::vector<GpuId>& gpus) {
  for (const NodeCount& part : count_by_node(state, gpus, NodeId::none())) {
    const Node& node = state.node(part.node);
    const std::int64_t cpu = node_part(shape.cpu.value, part.gpus, shape.gpus);
    const std::int64_t memory = node_part(shape.memory.value, part.gpus, shape.gpus);
    const Milli cpu_left = node.spec.cpu - node.cpu_used - node.cpu_claimed;
    const Mib memory_left = node.spec.memory - node.memory_used - node.memory_claimed;
    if (cpu > std::max(cpu_left, Milli{0}).value) return false;
    if (memory > std::max(memory_left, Mib{0}).value) return false;
  }
  return true;
}

Place as_gang(const State& state, const Shape& shape) {
  for (const Shape& asked : shapes_for_tree(state, shape)) {
    const GangAnswer answer = find_gang(*state.placed.tree, asked);
    const auto* gang = std::get_if<Gang>(&answer);
    if (gang == nullptr || !nodes_have_enough(state, shape, gang->gpus)) continue;
    return {NodeId::none(), gang->gpus, {}};
  }
  return {};
}

}  // namespace

Shape shape_for_tree(const State& state, const Shape& shape) {
  Shape asked = shape;
  asked.kinds = 0;
  for (std::size_t i = 0; i < state.placed.kinds.size(); ++i) {
    const CellKind& kind = state.placed.kinds[i];
    if (kind.mig != mig::Geometry::none) continue;
    if (allows(shape.kinds, kind.kind) && kind.usable.value >= shape.vram) {
      asked.kinds |= KindMask{1} << i;
    }
  }
  return asked;
}

std::vector<Shape> shapes_for_tree(const State& state, const Shape& shape) {
  Shape asked = shape_for_tree(state, shape);
  if (asked.kinds == 0) return {};
  const bool asks_for_node = shape.cpu.value > 0 || shape.memory.value > 0;
  if (!asks_for_node) return {asked};
  std::vector<Shape> each;
  for (KindMask left = asked.kinds; left != 0; left &= left - 1) {
    asked.kinds = left & (~left + 1);
    each.push_back(asked);
  }
  return each;
}

Place find_place(State& state, const Shape& shape, KindMask only) {
  Shape asked = shape;
  if (only != 0) asked.kinds = only;
  return lies_on_one_node(shape) ? on_one_node(state, asked) : as_gang(state, asked);
}

}  // namespace berth::core
