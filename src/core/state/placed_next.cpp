// What of the placed work starts next. See placed.h.
//
// One pass in order of service. The first few tasks that cannot start get a reservation each
// (policy `reservations`), as far as their start can be foreseen. Behind them only those shapes
// come up that fit somewhere: the open ones, and the blocked ones that fit where room has appeared;
// but none whose only task would delay a reservation wherever it ran, by the counts alone.
// The first task that delays no reservation is next. How many tasks of fitting shapes are looked at
// is bounded (`backfill_visits`); a shape is searched a place for at most once in a pass.
//
// During a pass nothing moves between the indexes that are walked; what was learned of the shapes
// is written down at its end.
#include <algorithm>
#include <utility>
#include <vector>

#include "core/state/placed_internal.h"
#include "core/state/placed_order.h"
#include "core/topology/gang_search.h"

namespace berth::core {
namespace {

// Blocked gangs that fit now are open. A gang may use room on any cells, so all are asked, once for
// each version of the cells; those larger than all that is free are not.
void wake_gangs(State& state) {
  PlacedWork& placed = state.placed;
  if (placed.gangs_tried == placed.version) return;
  placed.gangs_tried = placed.version;
  const std::uint32_t free = placed.tree->free_gpus();
  std::vector<std::uint32_t> fitting;
  for (auto at = placed.blocked.lower_bound({.is_gang = true}); at != placed.blocked.end(); ++at) {
    if (at->first.gpus > free) break;
    at->second.visit([&](std::uint32_t number) {
      if (placed.shapes[number].tried_at == placed.version) return;
      const std::vector<Shape> asked = shapes_for_tree(state, state.shape_table.shape(number));
      const bool fits_now = std::any_of(asked.begin(), asked.end(), [&](const Shape& shape) {
        return gang_fits(*placed.tree, shape) != GangFits::no;
      });
      if (fits_now) fitting.push_back(number);
    });
  }
  for (const std::uint32_t number : fitting)
    open(state, number);
}

// What a cell has for one GPU of the class: nothing to be had, or the most.
std::optional<Need> room_for(const NodeView& view, const BlockedClass& klass) {
  const Shape shape{.gpus = klass.gpus, .share = klass.share, .kinds = klass.kinds};
  if (!fits(view, shape)) return std::nullopt;
  Need room{view.cpu.value, view.memory.value, 0};
  for (std::size_t i = 0; i < view.gpus; ++i) {
    if (view.left[i] >= klass.share) room.vram = std::max<std::int64_t>(room.vram, view.vram[i]);
  }
  return room;
}

class Pass {
 public:
  explicit Pass(State& state) : state_(state), placed_(state.placed) { ++placed_.passes; }

  void run() {
    wake_gangs(state_);
    forget_reservations(state_);
    std::int64_t visits = state_.policy.backfill_visits;
    const bool all_seen = reserve_for_first(visits) || (!placed_.next && look_behind(visits));
    start_claimed();
    finish(all_seen);
  }

 private:
  // A task whose claim has become free is next, whatever else waits.
  void start_claimed();
  // True: every task was looked at.
  bool reserve_for_first(std::int64_t& visits);
  bool look_behind(std::int64_t& visits);
  void finish(bool all_seen);

  void add_freed(PlacedOrder& order);
  const Place* place_of(std::uint32_t shape);
  bool starts(const PlacedOrder::Item& item);
  bool comes_first_time(std::uint32_t flow);
  bool is_held_back(std::uint32_t shape);

  State& state_;
  PlacedWork& placed_;
  std::vector<Place> places_;
  std::vector<std::uint32_t> fitting_;  // shapes that were tried
  std::vector<std::uint32_t> unfit_;
};

// Work without GPUs takes nothing that others could be promised.
bool is_reserved_for(const Shape& shape) { return shape.gpus > 0; }

// Where the shape could start if nobody else were planned for; null: nowhere.
const Place* Pass::place_of(std::uint32_t number) {
  ShapeWork& work = placed_.shapes[number];
  if (work.tried != placed_.passes) {
    work.tried = placed_.passes;
    work.place = UINT32_MAX;
    if (is_known_blocked(state_, number)) return nullptr;
    Place place = find_place(state_, state_.shape_table.shape(number));
    (place ? fitting_ : unfit_).push_back(number);
    if (place) {
      work.place = static_cast<std::uint32_t>(places_.size());
      places_.push_back(std::move(place));
    }
  }
  return work.place == UINT32_MAX ? nullptr : &places_[work.place];
}

// Whether the task can start now; then it is next.
bool Pass::starts(const PlacedOrder::Item& item) {
  const Place* first = place_of(item.shape);
  if (first == nullptr) return false;
  const TaskRow& row = state_.tasks.row(item.slot);
  const Shape& shape = state_.shape_table.shape(item.shape);
  if (fits_beside(state_, row, shape, *first)) {
    placed_.next = NextStart{item.slot, item.key, *first};
    return true;
  }
  for (std::size_t i = 0; i < placed_.kinds.size() && placed_.kinds.size() > 1; ++i) {
    const KindId kind = placed_.kinds[i].kind;
    if (!allows(shape.kinds, kind)) continue;
    Place place = find_place(state_, shape, KindMask{1} << kind.value);
    if (!place || !fits_beside(state_, row, shape, place)) continue;
    placed_.next = NextStart{item.slot, item.key, std::move(place)};
    return true;
  }
  return false;
}

void Pass::start_claimed() {
  for (const auto& [task, gpus] : state_.claims) {
    if (!claim_stands(state_, task) || !is_claim_free(state_, task, gpus)) continue;
    const std::uint32_t slot = state_.tasks.slot_of(task);
    placed_.next = NextStart{slot, placed_key_of(state_, slot), {NodeId::none(), gpus, {}}};
    return;
  }
}

bool Pass::reserve_for_first(std::int64_t& visits) {
  constexpr OrderKey kNobody{INT64_MIN, 0, 0, 0};
  const std::size_t depth = state_.policy.reservations;
  if (depth == 0) placed_.plan.last = kNobody;
  placed_.first.clear();
  PlacedOrder order(state_);
  order.add_all();
  std::size_t looked_at = 0;
  while (looked_at < depth && visits > 0) {
    const auto item = order.next();
    if (!item) {
      order.put_right();
      placed_.plan.last.reset();
      return true;
    }
    const Shape& shape = state_.shape_table.shape(item->shape);
    if (item->slot == kNoSlot) {
      if (is_reserved_for(shape) || place_of(item->shape) != nullptr) order.enter(*item);
      continue;
    }
    const TaskRow& row = state_.tasks.row(item->slot);
    if (state_.claims.contains(row.no)) {
      place_of(item->shape);  // else it would count as tried when `freed` is cleared
      continue;
    }
    --visits;
    if (starts(*item)) break;
    placed_.plan.last = item->key;
    placed_.first.push_back(row.no);
    if (!is_reserved_for(shape)) continue;
    reserve_start(state_, row, shape);
    ++looked_at;
  }
  order.put_right();
  return false;
}

bool Pass::look_behind(std::int64_t& visits) {
  PlacedOrder order(state_);
  order.add_open();
  add_freed(order);
  bool all_seen = false;
  while (visits > 0) {
    const auto item = order.next();
    if (!item) {
      all_seen = true;
      break;
    }
    if (item->slot == kNoSlot) {
      if (item->flow != kNoSlot && !comes_first_time(item->flow)) continue;
      if (place_of(item->shape) != nullptr) order.enter(*item);
      continue;
    }
    if (placed_.plan.last && item->key <= *placed_.plan.last) continue;
    if (state_.claims.contains(state_.tasks.row(item->slot).no)) continue;
    if (is_held_back(item->shape)) continue;
    --visits;
    if (starts(*item)) break;
  }
  order.put_right();
  return all_seen;
}

void Pass::add_freed(PlacedOrder& order) {
  for (const std::uint32_t cell : placed_.freed) {
    for (const auto& [klass, shapes] : placed_.blocked) {
      if (klass.is_gang) break;
      const auto room = room_for(placed_.cells[cell].view, klass);
      if (room) order.add_blocked(placed_.needy.at(klass), *room);
    }
  }
}

// Several cells may have room for it.
bool Pass::comes_first_time(std::uint32_t flow) {
  if (placed_.entered.size() <= flow) placed_.entered.resize(flow + 1);
  return std::exchange(placed_.entered[flow], placed_.passes) != placed_.passes;
}

// Of open shapes these never come up; of those blocked until now they must not count either, for
// what is blocked is a matter of history.
bool Pass::is_held_back(std::uint32_t shape) {
  const std::optional<Stay> stay = lone_stay(state_, shape);
  return stay && !may_fit_beside(state_, *stay);
}

void Pass::finish(bool all_seen) {
  if (placed_.next) placed_.stale = true;
  placed_.all_seen = all_seen;
  placed_.looked_at = state_.now;
  if (all_seen) placed_.freed.clear();
  for (const std::uint32_t number : fitting_)
    open(state_, number);
  for (const std::uint32_t number : unfit_)
    block(state_, number);
}

// Whether a blocked shape may fit the cell alone.
bool is_of_use(const PlacedWork& placed, const Cell& cell) {
  for (const auto& [klass, shapes] : placed.blocked) {
    if (klass.is_gang) return false;
    const auto room = room_for(cell.view, klass);
    if (room && may_fit(shapes.node(shapes.root()).least, *room)) return true;
  }
  return false;
}

}  // namespace

bool something_may_fit(State& state) {
  PlacedWork& placed = state.placed;
  wake_gangs(state);
  std::erase_if(placed.freed,
                [&](std::uint32_t cell) { return !is_of_use(placed, placed.cells[cell]); });
  return !placed.open.empty() || !placed.lone.empty() || !placed.freed.empty();
}

void find_next(State& state) { Pass(state).run(); }

bool keeps_first(State& state) {
  PlacedWork& placed = state.placed;
  PlacedOrder order(state);
  order.add_all();
  auto expected = placed.first.begin();
  const auto goes_on = [&] {
    const auto item = order.next();
    if (!item) return false;
    if (item->slot == kNoSlot) {
      order.enter(*item);
      return true;
    }
    const TaskNo task = state.tasks.row(item->slot).no;
    if (state.claims.contains(task)) return true;
    if (task != *expected) return false;
    if (placed.plan.last) placed.plan.last = item->key;
    ++expected;
    return true;
  };
  while (expected != placed.first.end() && goes_on())
    ;
  order.put_right();
  return expected == placed.first.end();
}

std::vector<TaskNo> first_waiting(State& state, std::size_t count) {
  PlacedOrder order(state);
  order.add_all();
  std::vector<TaskNo> tasks;
  std::vector<std::uint32_t> flows;  // whose first was taken: the others ask for the same
  std::int64_t visits = state.policy.backfill_visits;
  while (tasks.size() < count && visits > 0) {
    const auto item = order.next();
    if (!item) break;
    if (item->slot == kNoSlot) {
      order.enter(*item);
      continue;
    }
    --visits;
    const TaskRow& row = state.tasks.row(item->slot);
    if (std::find(flows.begin(), flows.end(), row.flow) != flows.end()) continue;
    if (state.claims.contains(row.no)) continue;
    flows.push_back(row.flow);
    tasks.push_back(row.no);
  }
  return tasks;
}

}  // namespace berth::core
