// When placed work will probably start. For explanations only; changes nothing that decides.
//
// The work ahead is planned in its order as if everything were to get a reservation, as far as a
// bounded number of tasks. Who stands deeper is served as the first of its flow are: if of so many
// tasks that are planned until an instant some are of its flow, its turn comes as much later as it
// stands deeper in the flow.
#include <algorithm>
#include <limits>

#include "core/state/flow_cursor.h"
#include "core/state/placed_internal.h"
#include "core/state/placed_order.h"
#include "core/timeline/estimate.h"

namespace berth::core {
namespace {

constexpr std::size_t kPlanned = 128;  // tasks
constexpr std::size_t kLookedAt = 4096;
constexpr std::int64_t kPlanVisits = 16'384;
constexpr std::size_t kDomainsTried = 32;

// Without the grace that is given to what runs before it.
Time without_grace(const State& state, Time start) {
  if (start == Time::never()) return start;
  return std::max(state.now, Time{start.ns - kChargeGrace.ns});
}

// Names the work ahead of a task, and the task itself, in order.
class WorkAhead {
 public:
  WorkAhead(State& state, std::uint32_t slot) : state_(state), slot_(slot), order_(state) {
    order_.add_all();
  }

  std::optional<Pending> next() {
    for (; !reached_ && planned_ < kPlanned && looked_at_ < kLookedAt; ++looked_at_) {
      const auto item = order_.next();
      if (!item) break;
      if (item->slot == kNoSlot) {
        order_.enter(*item);
        continue;
      }
      const TaskRow& row = state_.tasks.row(item->slot);
      const Shape& shape = state_.shape_table.shape(item->shape);
      reached_ = item->slot == slot_;
      const bool is_planned =
          shape.gpus > 0 && !state_.claims.contains(row.no) &&
          reservation_of(state_.placed.plan.reservations, row.no.value) == nullptr;
      if (!is_planned) continue;
      ++planned_;
      if (row.flow == state_.tasks.row(slot_).flow) ++of_flow_;
      const Duration run = planned_run(state_, row, {});
      const std::size_t reserved = state_.placed.plan.reservations.size() + planned_;
      ways_ = ways_of(state_, shape, run, std::min(reserved, kDomainsTried));
      return Pending{row.no.value, run, ways_};
    }
    return std::nullopt;
  }

  bool reached() const { return reached_; }
  std::size_t planned() const { return planned_; }
  std::size_t of_flow() const { return of_flow_; }

 private:
  State& state_;
  std::uint32_t slot_;
  PlacedOrder order_;
  std::vector<Parts> ways_;
  bool reached_ = false;
  std::size_t looked_at_ = 0;
  std::size_t planned_ = 0;
  std::size_t of_flow_ = 0;
};

// The instant, as many times as far from now.
Time farther(Time now, Time start, std::uint64_t times, std::uint64_t of) {
  const Wide wait = static_cast<Wide>((start - now).ns) * static_cast<Wide>(times) /
                    static_cast<Wide>(std::max<std::uint64_t>(of, 1));
  if (wait > std::numeric_limits<std::int64_t>::max() / 4) return Time::never();
  return now + Duration{static_cast<std::int64_t>(wait)};
}

}  // namespace

Time likely_start(State& state, std::uint32_t slot, std::uint64_t ahead_in_flow) {
  const TaskRow& row = state.tasks.row(slot);
  const Shape& shape = state.shape_table.shape(row.shape);
  const bool is_planned = shape.gpus > 0 && shape.profile == mig::kNoProfile &&
                          !state.claims.contains(row.no) && state.flows.flow(row.flow).competes;
  if (state.placed.cells_stale || !is_planned) return Time::never();
  PlacedPlan& plan = plan_of(state);
  if (const Reservation* own = reservation_of(plan.reservations, row.no.value)) {
    return without_grace(state, own->start);
  }
  WorkAhead work(state, slot);
  std::vector<Time> starts;
  std::int64_t visits = kPlanVisits;
  likely_starts(
      plan.pools, state.now, [&] { return work.next(); }, starts, visits);
  if (starts.empty()) return Time::never();
  const bool is_known = work.reached() && starts.size() == work.planned();
  if (is_known) return without_grace(state, starts.back());
  const Time last = *std::max_element(starts.begin(), starts.end());
  if (last == Time::never()) return last;
  const std::uint64_t of_flow = work.of_flow();
  const std::uint64_t ahead = of_flow > 0 ? ahead_in_flow : state.queue(row.queue).pending;
  return farther(state.now, last, ahead, of_flow > 0 ? of_flow : starts.size());
}

}  // namespace berth::core
