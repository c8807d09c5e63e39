// MIG work: placed tasks that ask for a profile. They have GPUs of their own, those in MIG mode, of
// which nobody else has any use; so they compete among themselves for instances, beside the rest of
// placed work, and neither waits for the other's plan. Only CPUs and memory of nodes are shared.
//
// Like all placed work, shapes compete by their best flow (placed.h): open ones are tried when
// their turn comes, blocked ones were tried and fit nowhere, except perhaps on GPUs in `freed`.
// They get no reservation: where small profiles keep coming, a large one that comes first in the
// order waits until enough neighbours end together.
//
// All of it is an index: it is rebuilt from the tables, everything open, and answers the same.
#pragma once

#include <compare>
#include <map>
#include <set>
#include <vector>

#include "base/ids.h"
#include "base/indexed_heap.h"
#include "core/mig/mig_index.h"
#include "core/model/shape.h"
#include "core/state/entities.h"
#include "core/state/need_index.h"
#include "core/state/order_key.h"

namespace berth::core {

// Blocked shapes that differ only in CPUs, memory and VRAM stand in one index, by their CPUs.
struct MigClass {
  mig::ProfileId profile = mig::kNoProfile;
  KindMask kinds = 0;
  auto operator<=>(const MigClass&) const = default;
};

// GPUs in MIG mode of one kind on nodes alike, as if nothing ran there.
struct MigSort {
  MigKind kind;
  Milli cpu;
  Mib memory;
  auto operator<=>(const MigSort&) const = default;
};

struct MigWork {
  std::vector<MigSort> sorts;             // that there are, each once; kept with the cells
  std::map<MigKind, mig::MigIndex> gpus;  // those that take instances now
  IndexedHeap<OrderKey> open;
  std::map<MigClass, NeedIndex> blocked;
  std::set<GpuId> freed;  // with more room, or on nodes with more, than when shapes were blocked
};

}  // namespace berth::core
