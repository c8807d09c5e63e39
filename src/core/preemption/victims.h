// Who may be stopped for a task, in what order, and what that leaves their tenants.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/state/state.h"

namespace berth::core {

struct Victim {
  std::uint32_t lease = 0;  // slot
  std::int64_t tier = 0;    // the strictest of its tasks'
  std::int64_t lost = 0;    // milliseconds x thousandths of a GPU
};

struct Victims {
  std::vector<Victim> heap;    // the next to be taken on top
  Time again = Time::never();  // when the first protected one is so no more
};

// All that might be stopped for work of this rank, whatever their tenants are guaranteed.
Victims victims_for(const State& state, std::int64_t rank);

// What tenants use, claims included, once all that is being stopped has gone; and then without the
// victims taken so far. Each counts for the tenant and all above it.
class Uses {
 public:
  explicit Uses(const State& state);

  // The rank of the task as if it started now.
  std::int64_t rank_of(const TaskRow& row) const;
  // Whether the lease may be stopped, after those taken so far, by work of this rank; then it is
  // taken. `straddles`: also if that leaves a tenant with less than it is guaranteed.
  bool take(const Victim& victim, std::int64_t rank, bool straddles);

 private:
  void change(TenantId tenant, std::int64_t amount);
  bool is_guaranteed(TenantId tenant, std::int64_t more) const;

  const State& state_;
  std::map<TenantId, std::int64_t> changes_;
};

// The victims in the order in which they are taken. Those that are of use to who asks come before
// the others, whose CPUs alone may help; of both first those that leave their tenants with what
// they are guaranteed. Costs only as much as is asked of it.
class VictimOrder {
 public:
  VictimOrder(const State& state, Uses uses, std::int64_t rank, Victims victims,
              std::function<bool(std::uint32_t lease)> is_of_use)
      : state_(state),
        uses_(std::move(uses)),
        rank_(rank),
        heap_(std::move(victims.heap)),
        is_of_use_(std::move(is_of_use)) {}

  // The slot of the next lease, which then counts as taken. None: there are no more.
  std::optional<std::uint32_t> next();

 private:
  // Those that were passed over, in order.
  struct Rest {
    std::vector<Victim> victims;
    std::size_t at = 0;
  };
  std::optional<std::uint32_t> next_of(Rest& rest, bool straddles, Rest* passed_over);

  const State& state_;
  Uses uses_;
  std::int64_t rank_;
  std::vector<Victim> heap_;
  std::function<bool(std::uint32_t)> is_of_use_;
  Rest straddling_;
  Rest of_no_use_;
  Rest of_no_use_straddling_;
};

}  // namespace berth::core
