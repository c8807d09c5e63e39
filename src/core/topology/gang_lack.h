// lack_of: what is missing for a gang that does not fit. For the search; see gang_search.h.
//
// What lacks is found by asking again with one limit taken away: when the gang would fit without
// memory (CPU, kinds, islands), that is what it lacks.
#pragma once

#include "core/topology/gang_room.h"
#include "core/topology/gang_search.h"

namespace berth::core {

// REQUIRES that the gang does not fit.
Lack lack_of(const FreeIndex& index, const Shape& shape, Visits& visits);

}  // namespace berth::core
