// OrderKey: the place of a task, flow or queue in the order of service. Smaller goes first.
//
// The order rule fills it; the tie is the head's task number, so that no two keys are ever equal
// and heaps pop in one order whatever their history.
#pragma once

#include <compare>
#include <cstdint>

namespace berth::core {

struct OrderKey {
  std::int64_t rank = 0;   // strict classes: tier, over the guarantee
  std::int64_t value = 0;  // the rule's main figure: the tenant's counter, a turn, a score
  std::int64_t head = 0;   // eligible_at − priority × age_step
  std::uint64_t tie = 0;   // task number

  constexpr auto operator<=>(const OrderKey&) const = default;
};

}  // namespace berth::core
