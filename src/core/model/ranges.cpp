// See ranges.h.
#include "core/model/ranges.h"

#include "base/units.h"

namespace berth::core {
namespace {

bool is_within(std::int64_t value, std::int64_t low, std::int64_t high) {
  return value >= low && value <= high;
}
bool is_time(Duration duration) { return duration.ns >= 0 && duration <= kDurationMax; }
bool is_time_or_forever(Duration duration) {
  return is_time(duration) || duration == Duration::forever();
}
bool is_vram(Mib amount) { return is_within(amount.value, 0, kMibMax); }
bool is_gpu_amount(Milli amount) { return is_within(amount.value, 0, kGpusMax * 1000); }
bool is_gpu_amount(const std::optional<Milli>& amount) { return !amount || is_gpu_amount(*amount); }

bool is_speed(Milli speed) { return is_within(speed.value, 1, kSpeedMax); }

const char* flaw_in_speeds(const GpuSpec& spec) {
  if (!is_speed(spec.speed)) return "a speed in range";
  std::int64_t last = -1;
  for (const ClassSpeed& its : spec.class_speeds) {
    if (its.work_class.value >= kMaxWorkClasses) return "a class of work in range";
    if (its.work_class.value <= last) return "speeds by ascending class";
    if (!is_speed(its.speed)) return "a speed in range for each class of work";
    last = its.work_class.value;
  }
  return nullptr;
}

// What no hardware could give.
const char* flaw_in_shape(const TaskSpec& spec) {
  const bool asks_for_node = spec.cpu.value > 0 || spec.memory.value > 0;
  if (spec.gpus < 1 && !asks_for_node) return "at least one GPU, or CPUs or memory";
  if (spec.gpus < 1 && (spec.groups > 1 || spec.profile > 0 || spec.kinds != 0)) {
    return "at least one GPU for groups, a MIG profile or a kind of GPU";
  }
  if (!is_within(spec.share.value, 1, 1000)) return "a share in range";
  if (spec.gpus > 1 && spec.share != kWholeGpu) return "whole GPUs for a gang";
  if (spec.groups < 1 || spec.gpus % spec.groups != 0) return "groups of equal size";
  if (spec.groups > 1 && spec.within == Level::cluster) return "a level for the groups to lie in";
  if (spec.within == Level::gpu) return "a level wider than one GPU";
  if (spec.required && spec.within == Level::cluster) return "a level that is required";
  if (spec.profile >= mig::kProfiles) return "a MIG profile there is";
  if (spec.profile > 0 && spec.gpus > 1) return "one GPU for a MIG profile";
  if (spec.profile > 0 && spec.share != kWholeGpu) return "no share beside a MIG profile";
  if (!is_within(spec.cpu.value, 0, kCpuMax)) return "CPUs in range";
  if (!is_within(spec.memory.value, 0, kMibMax)) return "memory in range";
  return nullptr;
}

}  // namespace

const char* flaw_in(const PolicySpec& spec) {
  if (!is_within(spec.gpu_load_threshold.value, 1, 1000)) return "a gpu_load_threshold in range";
  if (!is_within(spec.vram_usable.value, 1, 1000)) return "a vram_usable in range";
  if (spec.age_step.ns < 0 || spec.age_step > kAgeStepMax) return "an age_step in range";
  if (!is_time_or_forever(spec.patience)) return "a patience in range";
  if (!is_time_or_forever(spec.tier_patience)) return "a tier_patience in range";
  if (!is_within(spec.max_holds, 0, kHoldsMax)) return "max_holds in range";
  if (!is_within(spec.starts_per_step, 1, kStartsPerStepMax)) return "starts_per_step in range";
  if (!is_within(spec.max_live_tasks, 1, kLiveTasksMax)) return "max_live_tasks in range";
  if (!is_within(spec.live_reserve.value, 0, 1000)) return "a live_reserve in range";
  if (!is_within(spec.aging_factor.value, 0, kAgingFactorMax)) return "an aging_factor in range";
  if (!is_time(spec.usage_window)) return "a usage_window in range";
  if (!is_within(spec.poison_after, 0, kFailuresMax)) return "poison_after in range";
  if (!is_within(spec.max_infrastructure_losses, 0, kFailuresMax)) {
    return "max_infrastructure_losses in range";
  }
  if (!is_within(spec.reservations, 0, kReservationsMax)) return "reservations in range";
  if (!is_within(spec.backfill_visits, 1, kReservationsMax)) return "backfill_visits in range";
  if (!is_time_or_forever(spec.long_work)) return "a long_work in range";
  if (spec.protected_run.ns < 0) return "a protected_run of at least 0";
  if (!is_within(spec.long_share.value, 1, 1000)) return "a long_share in range";
  return nullptr;
}

const char* flaw_in(const TenantSpec& spec) {
  if (!is_within(spec.weight.value, kWeightMin, kWeightMax)) return "a weight in range";
  if (!is_within(spec.token_bucket_size.value_or(0), 0, kTokensMax)) return "a bucket in range";
  if (!is_within(spec.token_refill_rate, 0, kTokensMax)) return "a token_refill_rate in range";
  if (!is_within(spec.daily_token_limit.value_or(0), 0, kDailyTokensMax)) {
    return "a daily_token_limit in range";
  }
  if (!is_gpu_amount(spec.guaranteed_gpus)) return "guaranteed_gpus in range";
  if (!is_gpu_amount(spec.borrow_gpus)) return "borrow_gpus in range";
  if (!is_gpu_amount(spec.max_gpus)) return "max_gpus in range";
  return nullptr;
}

const char* flaw_in(const QueueSpec& spec) {
  if (!is_within(spec.max_batch_size, 1, kBatchSizeMax)) return "a max_batch_size in range";
  if (!is_time(spec.max_batch_wait)) return "a max_batch_wait in range";
  if (!is_gpu_amount(spec.max_gpus)) return "max_gpus in range";
  if (!is_gpu_amount(spec.min_gpus)) return "min_gpus in range";
  if (!is_time(spec.batch_base) || !is_time(spec.batch_per_task)) return "a batch time in range";
  const Wide full = Wide{spec.batch_base.ns} + Wide{spec.batch_per_task.ns} * spec.max_batch_size;
  if (full > kDurationMax.ns) return "a time in range for a full batch";
  if (spec.work_class && spec.work_class.value >= kMaxWorkClasses) {
    return "a class of work in range";
  }
  if (spec.max_queue_size && *spec.max_queue_size == 0) return "a max_queue_size of at least 1";
  if (spec.max_task_gpus && !is_within(*spec.max_task_gpus, 1, kGpusMax)) {
    return "max_task_gpus in range";
  }
  return nullptr;
}

const char* flaw_in(const ModelSpec& spec) {
  if (!is_vram(spec.weights) || !is_vram(spec.vram_per_task)) return "VRAM in range";
  if (!is_time(spec.load_time)) return "a load_time in range";
  if (!is_time_or_forever(spec.keep_alive)) return "a keep_alive in range";
  return nullptr;
}

const char* flaw_in(const NodeSpec& spec) {
  if (!is_within(spec.cpu.value, 0, kCpuMax)) return "CPUs in range";
  if (!is_within(spec.memory.value, 0, kMibMax)) return "memory in range";
  if (spec.rack.value >= kNodesMax) return "a rack in range";
  return nullptr;
}

const char* flaw_in(const GpuSpec& spec) {
  if (spec.node.value >= kNodesMax) return "a node in range";
  if (spec.kind.value >= kMaxKinds) return "a kind of GPU in range";
  if (!is_within(spec.vram.value, 1, kMibMax)) return "VRAM in range";
  if (const char* flaw = flaw_in_speeds(spec)) return flaw;
  if (spec.island && spec.island.value >= kGpusMax) return "an island in range";
  return nullptr;
}

const char* flaw_in(const TaskSpec& spec) {
  if (spec.at_once > 0 && !spec.group) return "a group for a limit of tasks at once";
  if (spec.tier > 3) return "a tier from 0 to 3";
  if (const char* flaw = flaw_in_shape(spec)) return flaw;
  if (!is_vram(spec.vram)) return "VRAM in range";
  if (!is_time(spec.expected_run)) return "an expected_run in range";
  if (spec.tolerated_wait.ns < 0) return "a tolerated_wait in range";
  if (!is_time(spec.checkpoint_interval)) return "a checkpoint_interval in range";
  if (!is_time(spec.restart_cost)) return "a restart_cost in range";
  if (spec.retry.max_attempts < 1) return "at least one attempt";
  if (!is_time(spec.retry.backoff)) return "a backoff in range";
  return nullptr;
}

}  // namespace berth::core
