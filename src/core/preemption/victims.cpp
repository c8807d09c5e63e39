// See victims.h.
#include "core/preemption/victims.h"

#include <algorithm>
#include <tuple>

namespace berth::core {
namespace {

std::int64_t rank_at(std::int64_t tier, bool guaranteed) { return tier * 2 + (guaranteed ? 0 : 1); }

bool may_be_stopped(const State& state, const Lease& lease) {
  if (!lease.id || lease.live == 0 || lease.gpus.empty() || lease.instance) return false;
  return std::all_of(lease.tasks.begin(), lease.tasks.end(), [&](const LeaseTask& task) {
    return !task.live || (state.tasks.row(task.slot).retry_on & kLossEndsIt) == 0;
  });
}

// What had waited so long that it started as work of tier 0 would start first again.
std::int64_t strictest_tier(const State& state, const Lease& lease) {
  std::int64_t tier = kTiers;
  for (const LeaseTask& task : lease.tasks) {
    if (!task.live) continue;
    const TaskRow& row = state.tasks.row(task.slot);
    const bool had_crossed = row.eligible + state.policy.tier_patience <= lease.started;
    tier = std::min<std::int64_t>(tier, had_crossed ? 0 : row.tier);
  }
  return tier;
}

Duration lost_by(const State& state, const LeaseTask& task, Duration ran) {
  const TaskExtra* extra = state.tasks.find_extra(task.slot);
  if (extra == nullptr) return ran;
  const Duration interval = extra->checkpoint_interval;
  const Duration unsaved = interval.ns > 0 ? Duration{ran.ns % interval.ns} : ran;
  return unsaved + extra->restart_cost;
}

// What is lost if the lease is stopped now: as much as by the task of it that loses most.
std::int64_t lost_work(const State& state, const Lease& lease) {
  const Duration ran = state.now - lease.started;
  Duration lost{0};
  for (const LeaseTask& task : lease.tasks) {
    if (task.live) lost = std::max(lost, lost_by(state, task, ran));
  }
  const std::int64_t amount = lease.share.value * static_cast<std::int64_t>(lease.gpus.size());
  return scale(lost.ns / milliseconds(1).ns, amount, 1);
}

// For a heap: whether a is taken after b.
auto is_taken_after(const State& state) {
  return [&state](const Victim& a, const Victim& b) {
    const LeaseId id_a = state.leases[a.lease].id;
    const LeaseId id_b = state.leases[b.lease].id;
    return std::tie(a.tier, b.lost, id_a) < std::tie(b.tier, a.lost, id_b);
  };
}

}  // namespace

Victims victims_for(const State& state, std::int64_t rank) {
  Victims victims;
  for (std::uint32_t slot = 0; slot < state.leases.size(); ++slot) {
    const Lease& lease = state.leases[slot];
    if (!may_be_stopped(state, lease)) continue;
    const std::int64_t tier = strictest_tier(state, lease);
    if (rank_at(tier, false) <= rank) continue;
    const Time from = lease.started + state.policy.protected_run;
    if (state.now < from) {
      victims.again = std::min(victims.again, from);
      continue;
    }
    victims.heap.push_back({slot, tier, lost_work(state, lease)});
  }
  std::make_heap(victims.heap.begin(), victims.heap.end(), is_taken_after(state));
  return victims;
}

std::optional<std::uint32_t> VictimOrder::next_of(Rest& rest, bool straddles, Rest* passed_over) {
  while (rest.at < rest.victims.size()) {
    const Victim victim = rest.victims[rest.at++];
    if (uses_.take(victim, rank_, straddles)) return victim.lease;
    if (passed_over != nullptr) passed_over->victims.push_back(victim);
  }
  return std::nullopt;
}

std::optional<std::uint32_t> VictimOrder::next() {
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), is_taken_after(state_));
    const Victim victim = heap_.back();
    heap_.pop_back();
    if (!is_of_use_(victim.lease)) {
      of_no_use_.victims.push_back(victim);
    } else if (uses_.take(victim, rank_, false)) {
      return victim.lease;
    } else {
      straddling_.victims.push_back(victim);
    }
  }
  if (const auto next = next_of(straddling_, true, nullptr)) return next;
  if (const auto next = next_of(of_no_use_, false, &of_no_use_straddling_)) return next;
  return next_of(of_no_use_straddling_, true, nullptr);
}

Uses::Uses(const State& state) : state_(state) {
  // What is being stopped counts as in use until its agent says so.
  for (const Lease& lease : state.leases) {
    if (!lease.id || !lease.preempted) continue;
    for (const LeaseTask& task : lease.tasks)
      change(task.tenant, -task.use.value);
  }
}

void Uses::change(TenantId tenant, std::int64_t amount) {
  for (; tenant; tenant = state_.tenant(tenant).spec.parent)
    changes_[tenant] += amount;
}

bool Uses::is_guaranteed(TenantId tenant, std::int64_t more) const {
  for (; tenant; tenant = state_.tenant(tenant).spec.parent) {
    const std::int64_t guaranteed = state_.tenant(tenant).spec.guaranteed_gpus.value;
    const auto change = changes_.find(tenant);
    const std::int64_t use = state_.tenant(tenant).subtree_use.value + more +
                             (change == changes_.end() ? 0 : change->second);
    if (guaranteed > 0 && use <= guaranteed) return true;
  }
  return false;
}

std::int64_t Uses::rank_of(const TaskRow& row) const {
  return rank_at(row.tier, is_guaranteed(row.tenant, std::int64_t{row.share} * row.gpus));
}

bool Uses::take(const Victim& victim, std::int64_t rank, bool straddles) {
  const Lease& lease = state_.leases[victim.lease];
  for (const LeaseTask& task : lease.tasks) {
    // If it came back it would be counted on top of what is left: as it is counted now.
    if (rank_at(victim.tier, is_guaranteed(task.tenant, 0)) <= rank) return false;
    // Without it, one more of anything must be over the guarantee.
    const bool leaves_less = is_guaranteed(task.tenant, 1 - task.use.value);
    if (!straddles && rank_at(victim.tier, leaves_less) <= rank) return false;
  }
  for (const LeaseTask& task : lease.tasks)
    change(task.tenant, -task.use.value);
  return true;
}

}  // namespace berth::core
