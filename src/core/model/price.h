// What a batch costs and how its tasks split it, and a tenant's line of the ledger. Integers, and
// no state: whoever has a batch's price and parts from its BatchStarted, and its quanta and its end
// from LeaseCharged and LeaseClosed, gets every amount the core gets.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"
#include "base/units.h"

namespace berth::core {

// In normalised GPU-microseconds, before any weight. Neither amount ever falls.
struct LedgerLine {
  std::int64_t charged_us = 0;
  std::int64_t refunded_us = 0;

  std::int64_t net_us() const { return charged_us - refunded_us; }
  // Below zero: given back.
  void post(std::int64_t amount_us) {
    if (amount_us > 0) {
      charged_us = saturating_add(charged_us, amount_us);
    } else {
      refunded_us = saturating_add(refunded_us, -amount_us);
    }
  }
  LedgerLine& operator+=(const LedgerLine& other) {
    charged_us = saturating_add(charged_us, other.charged_us);
    refunded_us = saturating_add(refunded_us, other.refunded_us);
    return *this;
  }
  bool operator==(const LedgerLine&) const = default;
};

struct BatchPrice {
  std::int64_t rate = 0;     // charged GPU-microseconds per 1000 of run time
  std::int64_t load_us = 0;  // for the load of the model, paid by the first batch
  std::int64_t parts = 0;    // of all its tasks together
};

// GPU-microseconds charged for a run of `ran` at `rate`.
inline std::int64_t cost_us(std::int64_t rate, Duration ran) {
  return scale(ran.ns, rate, 1'000'000);
}
// What a task with this part pays for a batch that ran this long.
inline std::int64_t share_of(const BatchPrice& price, Duration ran, std::int64_t part) {
  return scale(saturating_add(cost_us(price.rate, ran), price.load_us), part, price.parts);
}

// Long batches are charged ahead, a minute at a time.
inline constexpr Duration kLongestQuantum = seconds(60);
inline Duration first_quantum(Duration expected) { return std::min(expected, kLongestQuantum); }

}  // namespace berth::core
