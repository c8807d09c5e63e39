// Why placed work cannot start now: what is missing, at which level, and whose end would help.
//
// For explanations only: it walks what it likes. The answers come from the code that decides: the
// cells and their exact test, the gang search and its lack, the plan and its reservations.
#pragma once

#include <optional>

#include "core/model/explanation.h"
#include "core/model/reason.h"
#include "core/state/state.h"

namespace berth::core {

struct PlacedReason {
  Reason reason;  // none: it fits now
  std::optional<Holder> holder;
};

// When the lease will end as far as is known, not before now; never: nobody said how long it runs.
Time likely_end(const State& state, const Lease& lease);

// REQUIRES a pending placed task.
PlacedReason why_not_placed(const State& state, std::uint32_t slot);

}  // namespace berth::core
