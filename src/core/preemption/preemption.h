// Preemption: whose work is stopped so that better work can start. Reads the state; plans the whole
// gang at once.
//
// Rank: tier x 2, and 1 more for work over its tenant's guarantee. A task may stop only work of a
// higher rank than its own, counted as if that were to start again: what was stopped can therefore
// never stop its preemptor in turn. Work that leaves its tenant with what it is guaranteed goes
// first; a gang that is partly over the guarantee goes only where that does not do. Ageing lifts
// nobody here, but what had aged into tier 0 when it started counts so. Work is not stopped before
// it has run for `protected_run`, nor where it may start only once.
//
// A plan names the GPUs, and every lease that lies on them or has the CPUs they need, and no other.
// The first that waits, if it outranks anything, counts on what is being stopped already and
// claimed by nobody; that may be all it needs. The GPUs are claimed: nobody else gets them, and the
// task starts on exactly those when the last of the stopped work has gone. So nothing is ever
// stopped in vain, unless a GPU is lost meanwhile.
// Victims: those with a GPU that the task may use, of the highest tier first, then by least lost
// work (since the last checkpoint, and the cost of a restart, x GPUs), the youngest on ties.
//
// Work that asks for one GPU or a share of one (one_gpu.h) claims it likewise, and is placed work
// from then on. One that may share a batch starts with others of its queue; while it waits, none of
// those asks. Before it asks, it has waited for a second, so that what comes and goes by the
// millisecond stops nobody.
//
// Work that needs a model, a MIG instance, or CPUs alone stops nobody.
#pragma once

#include <cstdint>
#include <vector>

#include "core/action.h"
#include "core/state/state.h"

namespace berth::core {

struct PreemptionPlan {
  TaskNo task;
  std::vector<GpuId> gpus;             // by rank
  std::vector<std::uint32_t> victims;  // slots of leases, in the order of choice
};

struct PreemptionAnswer {
  std::optional<PreemptionPlan> plan;
  Time again = Time::never();  // without a plan: when the first protected lease is so no more
};

// For the first of these pending tasks for which there is one.
PreemptionAnswer plan_preemption(const State& state, const std::vector<TaskNo>& waiting);

// The claim, and what stops.
void carry_out(const State& state, const PreemptionPlan& plan, Actions& out);

}  // namespace berth::core
