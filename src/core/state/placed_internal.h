// Between the files of placed work only: placed_ops, placed_cells, placed_plan, find_place,
// mig_ops.
#pragma once

#include <cstdint>

#include "core/state/state.h"

namespace berth::core {

// Brings the cells up to date with the nodes that changed.
void update_cells(State& state);
// What is blocked is open again: nothing is known any more.
void open_blocked(State& state);
// It was tried and fits nowhere.
void block(State& state, std::uint32_t shape);
bool is_known_blocked(const State& state, std::uint32_t shape);

// Where the shape can start now, on GPUs of these kinds (none: of those it allows).
Place find_place(State& state, const Shape& shape, KindMask only = 0);

// The same of a task that asks for a MIG profile (mig_ops).
Place find_instance(const State& state, const Shape& shape);
// Which sorts of GPUs in MIG mode there are.
void list_mig_sorts(State& state);
// Where a shape with a profile waits for service.
void leave_mig_bench(State& state, std::uint32_t shape);
void take_mig_bench(State& state, std::uint32_t shape, PlacedBench bench);
// Finds what starts next of those, if it goes before what was found of the others.
void settle_mig(State& state);

// Finds what starts next beside the reservations, and makes those. REQUIRES settled cells.
void plan_next(State& state);

}  // namespace berth::core
