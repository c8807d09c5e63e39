// Between the files of placed work only: placed_ops, placed_tenants, placed_order, placed_cells,
// placed_plan, placed_next, placed_estimate, find_place, mig_ops.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/state/state.h"

namespace berth::core {

// Brings the cells up to date with the nodes that changed.
void update_cells(State& state);
// What is blocked is open again: nothing is known any more.
void open_blocked(State& state);
// Brings key and bench of a shape up to date with its flows.
void refresh_shape(State& state, std::uint32_t shape);
// Shapes that stand in one index, and what they need there.
BlockedClass blocked_class(const Shape& shape);
Need need_of(const Shape& shape);

// The place of a flow among all placed work, by its own key.
OrderKey placed_key_of(const State& state, const Flow& flow);
// The key of one of the tenant's flows, as it is kept, with the tenant's V.
OrderKey with_v(const State& state, TenantId tenant, OrderKey key);
// Where the flow stands among its tenant's; without a key: nowhere. Its tenant moves with it.
void rank_flow(State& state, std::uint32_t flow, const std::optional<OrderKey>& key);
// Brings up to date where the tenant stands among all, or among those of a class.
void rank_tenant(State& state, TenantId tenant);
void rank_tenant(State& state, NeedyTenants& needy, TenantId tenant);
// What a shape is called by in the order: the key of its best flow. REQUIRES one that competes.
OrderKey exact_key(State& state, std::uint32_t shape);
// It was tried and fits nowhere; or fits.
void block(State& state, std::uint32_t shape);
void open(State& state, std::uint32_t shape);
// Whether it fits nowhere now, as far as is known without trying.
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

// The plan, made if there is none.
PlacedPlan& plan_of(State& state);
// How the shape may be taken, before its GPUs are known, beside so many reservations.
std::vector<Parts> ways_of(State& state, const Shape& shape, Duration run, std::size_t reserved);
// How long the task will be counted on to hold these GPUs, as far as is known. With the same grace
// as a lease: otherwise each start beside a reservation could push it back by a grace.
Duration planned_run(const State& state, const TaskRow& row, const std::vector<GpuId>& gpus);
// The reservations are gone; the plan too, once nobody has asked for it for a while.
void forget_reservations(State& state);
// Reserves the task's earliest start, if one can be foreseen.
void reserve_start(State& state, const TaskRow& row, const Shape& shape);
// Whether work on the place now delays no reservation and keeps within the caps.
bool fits_beside(State& state, const TaskRow& row, const Shape& shape, const Place& place);
// What the shape takes if it has but one task that competes, and that is believed how long it runs.
std::optional<Stay> lone_stay(const State& state, std::uint32_t shape);
// Whether there may be such a place for work that takes so much for so long, by counts alone.
bool may_fit_beside(State& state, const Stay& stay);

// Whether any shape may fit that is not known to fit nowhere.
bool something_may_fit(State& state);
// Whether the tasks that were first in the last pass still are, in the same order.
bool keeps_first(State& state);
// Finds what starts next (state.placed.next), and makes reservations. REQUIRES settled cells.
void find_next(State& state);

}  // namespace berth::core
