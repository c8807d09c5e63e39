// Fields: the one list of what is encoded of each event, action and spec. Knows no encoding.
//
// Names follow the declarations; a struct that grows does not compile here until its new field is
// named. Such a change is a new format: raise kFormat in codec.h, and say by BERTH_GROWN since when
// the new fields are there. New fields come last; no field and no enumerator changes its place. A
// new event or action takes the next free tag, wherever it stands in its variant; a tag is never
// given again.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "base/time.h"
#include "base/units.h"
#include "core/action.h"
#include "core/event.h"
#include "core/model/reason.h"
#include "core/model/specs.h"
#include "core/model/task_states.h"
#include "journal/encoding.h"

namespace berth::journal {

// The first byte of a message: 1..127 for events, 128..255 for actions, 0 for types without one.
template <class T>
inline constexpr std::uint8_t kTag = 0;

#define BERTH_MESSAGE(tag, Type, ...)             \
  template <>                                     \
  inline constexpr std::uint8_t kTag<Type> = tag; \
  BERTH_FIELDS(Type, __VA_ARGS__)

#define BERTH_EMPTY_MESSAGE(tag, Type)            \
  template <>                                     \
  inline constexpr std::uint8_t kTag<Type> = tag; \
  BERTH_NO_FIELDS(Type)

// ---- Enums: a switch without default lets the compiler notice a new enumerator ------------------

constexpr bool is_known(EnumCheck, core::Order x) {
  switch (x) {
    case core::Order::fair:
    case core::Order::fifo:
    case core::Order::round_robin:
    case core::Order::cost_aware:
    case core::Order::sticky:
    case core::Order::slowdown:
      return true;
  }
  return false;
}
constexpr bool is_known(EnumCheck, core::Packing x) {
  switch (x) {
    case core::Packing::best_fit:
    case core::Packing::first_fit:
    case core::Packing::spread:
    case core::Packing::frag:
      return true;
  }
  return false;
}
constexpr bool is_known(EnumCheck, core::TableKind x) { return x == core::TableKind::packing; }
constexpr bool is_known(EnumCheck, core::Isolation x) {
  switch (x) {
    case core::Isolation::none:
    case core::Isolation::batch:
    case core::Isolation::slice:
    case core::Isolation::gpu:
      return true;
  }
  return false;
}
constexpr bool is_known(EnumCheck, core::mig::Geometry x) {
  return static_cast<std::size_t>(x) < core::mig::kGeometries;
}
constexpr bool is_known(EnumCheck, core::Level x) {
  switch (x) {
    case core::Level::gpu:
    case core::Level::island:
    case core::Level::node:
    case core::Level::rack:
    case core::Level::cluster:
      return true;
  }
  return false;
}
constexpr bool is_known(EnumCheck, core::Failure x) {
  switch (x) {
    case core::Failure::error:
    case core::Failure::out_of_memory:
    case core::Failure::timeout:
    case core::Failure::crash:
    case core::Failure::infrastructure:
    case core::Failure::deadline:
    case core::Failure::not_started:
      return true;
  }
  return false;
}
constexpr bool is_known(EnumCheck, core::Dependency::Kind x) {
  switch (x) {
    case core::Dependency::Kind::task:
    case core::Dependency::Kind::signal:
      return true;
  }
  return false;
}
constexpr bool is_known(EnumCheck, core::OnDependencyFailure x) {
  switch (x) {
    case core::OnDependencyFailure::fail:
    case core::OnDependencyFailure::release:
      return true;
  }
  return false;
}
constexpr bool is_known(EnumCheck, core::TaskState x) {
  return static_cast<std::size_t>(x) < core::kTaskStates.size();
}

// Reasons are many and their table is kept in an order that reads well, so they go by name.
inline constexpr auto kReasonWireNumbers = wire_numbers_of(core::kReasons);
static_assert(all_different(kReasonWireNumbers));
constexpr const auto& wire_numbers(EnumCheck, core::ReasonCode) { return kReasonWireNumbers; }

// ---- Base ---------------------------------------------------------------------------------------

template <class Visitor, class Tag, class Rep>
constexpr void visit_fields(Visitor& visitor, Id<Tag, Rep>& x) {
  auto& [value] = x;
  visitor.fields(value);
}
template <class Visitor, class Tag, class Rep>
constexpr void visit_fields(Visitor& visitor, const Id<Tag, Rep>& x) {
  const auto& [value] = x;
  visitor.fields(value);
}
BERTH_FIELDS(Time, ns);
BERTH_FIELDS(Duration, ns);
BERTH_FIELDS(Mib, value);
BERTH_FIELDS(Milli, value);

// ---- Specs --------------------------------------------------------------------------------------

BERTH_FIELDS(core::TenantSpec, parent, weight, max_queue_size, token_bucket_size, token_refill_rate,
             daily_token_limit, guaranteed_gpus, borrow_gpus, max_gpus, isolation);
BERTH_GROWN(core::QueueSpec, 2,
            (model, max_batch_size, max_batch_wait, adaptive_wait, refuse_late, work_class,
             max_gpus, min_gpus, batch_base, batch_per_task),
            batch_commands, max_queue_size, max_task_gpus);
BERTH_FIELDS(core::ModelSpec, weights, vram_per_task, load_time, keep_alive);
BERTH_FIELDS(core::Shape, gpus, groups, within, required, profile, share, vram, cpu, memory, kinds);
BERTH_FIELDS(core::NodeSpec, rack, cpu, memory);
BERTH_FIELDS(core::ClassSpeed, work_class, speed);
BERTH_FIELDS(core::GpuSpec, node, kind, vram, speed, island, socket, pcie_switch, mig,
             class_speeds);
BERTH_FIELDS(core::MigInstance, geometry, profile, start);
BERTH_FIELDS(core::PolicySpec, order, packing, gpu_load_threshold, vram_usable, age_step, patience,
             tier_patience, max_holds, starts_per_step, max_live_tasks, live_reserve, aging_factor,
             usage_window, poison_after, max_infrastructure_losses, reservations, backfill_visits,
             preemption, protected_run, long_work, long_share);
BERTH_FIELDS(core::RetryRule, max_attempts, on, backoff);
BERTH_FIELDS(core::Dependency, kind, id);
BERTH_GROWN(core::TaskSpec, 2,
            (tenant, queue, tier, priority, gpus, groups, within, required, profile, share, vram,
             cpu, memory, kinds, expected_run, tolerated_wait, checkpoint_interval, restart_cost,
             not_before, tokens, retry, group, held, on_dependency_failure, depends_on),
            command, at_once);
BERTH_FIELDS(core::Reason, code, need, have, subject, at);

// ---- Events -------------------------------------------------------------------------------------

BERTH_MESSAGE(1, core::SetPolicy, spec);
BERTH_MESSAGE(2, core::PutTenant, tenant, spec);
BERTH_MESSAGE(3, core::PutQueue, queue, spec);
BERTH_MESSAGE(4, core::PutModel, model, spec);
BERTH_MESSAGE(5, core::PutGpu, gpu, spec);
BERTH_MESSAGE(6, core::Submit, task, spec);
BERTH_MESSAGE(7, core::SubmitWorkflow, first, tasks);
BERTH_MESSAGE(8, core::Cancel, task);
BERTH_MESSAGE(9, core::CancelGroup, group);
BERTH_MESSAGE(10, core::Hold, task);
BERTH_MESSAGE(11, core::Release, task);
BERTH_MESSAGE(12, core::ResolveSignal, signal);
BERTH_MESSAGE(13, core::PauseQueue, queue, paused);
BERTH_MESSAGE(14, core::PauseTenant, tenant, paused);
BERTH_MESSAGE(15, core::Flush, queue);
BERTH_MESSAGE(16, core::DrainGpu, gpu, draining);
BERTH_EMPTY_MESSAGE(17, core::DayBoundary);
BERTH_EMPTY_MESSAGE(18, core::Tick);
BERTH_MESSAGE(19, core::LeaseStarted, lease);
BERTH_FIELDS(core::TaskOutcome, task, completed, failure);
BERTH_MESSAGE(20, core::TaskEnded, lease, outcome);
BERTH_MESSAGE(21, core::LeaseEnded, lease, outcomes);
BERTH_MESSAGE(22, core::ModelLoaded, gpu, model, ok, took, load);
BERTH_MESSAGE(23, core::ModelUnloaded, gpu, model, load);
BERTH_MESSAGE(24, core::GpuLost, gpu);
BERTH_MESSAGE(25, core::NodeLost, node);
BERTH_MESSAGE(26, core::GpuReturned, gpu);
BERTH_MESSAGE(27, core::NodeReturned, node);
BERTH_MESSAGE(28, core::GpuUtilisation, gpu, utilisation);
BERTH_MESSAGE(29, core::DrainQueue, queue, draining);
BERTH_MESSAGE(30, core::PutNode, node, spec);
BERTH_MESSAGE(31, core::PutTable, kind, version, bytes);
BERTH_MESSAGE(32, core::LeaseEndedAfter, ended, ran);
BERTH_MESSAGE(34, core::HoldStarts, held);
BERTH_MESSAGE(33, core::ChangeTask, task, queue, priority, vram, tolerated_wait);

// ---- Actions ------------------------------------------------------------------------------------

BERTH_MESSAGE(128, core::Instant, at);
BERTH_MESSAGE(129, core::TaskAccepted, task);
BERTH_MESSAGE(130, core::TaskRefused, task, reason);
BERTH_MESSAGE(131, core::TaskReady, task);
BERTH_MESSAGE(132, core::TaskDeferred, task, reason, eligible_at, failure);
BERTH_MESSAGE(133, core::TaskFinished, task, state, reason);
BERTH_FIELDS(core::StartedTask, task, attempt, charge_us, part);
BERTH_MESSAGE(134, core::BatchStarted, lease, queue, model, share, vram, expected, gpus, node, cpu,
              memory, rate, load_us, instance, tasks);
BERTH_MESSAGE(135, core::StopTask, lease, task);
BERTH_MESSAGE(136, core::LeaseCharged, lease, quantum);
BERTH_MESSAGE(137, core::LeaseClosed, lease, ran);
BERTH_MESSAGE(138, core::LoadModel, gpu, model, expected, load);
BERTH_MESSAGE(139, core::EvictModel, gpu, model, load);
BERTH_MESSAGE(140, core::HoldGpu, gpu, queue, task);
BERTH_MESSAGE(141, core::ReleaseHold, gpu, queue, task);
BERTH_MESSAGE(142, core::QueuePassedOver, queue, due, reason);
BERTH_MESSAGE(147, core::Preempt, task, gpus);
BERTH_MESSAGE(148, core::TaskChanged, task, queue, priority, vram, expires);
BERTH_MESSAGE(143, core::SliceLost, lease, gpu);

}  // namespace berth::journal
