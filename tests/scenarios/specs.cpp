// See specs.h.
#include "tests/scenarios/specs.h"

#include <array>
#include <string>
#include <utility>

#include "core/mig/profiles.h"

namespace berth::scenario {
namespace {

using core::Failure;
using core::Isolation;
using core::Level;
using core::OnDependencyFailure;
using core::Order;
using core::Packing;

template <class T, class Value>
void set_if(T& field, const std::optional<Value>& value) {
  if (value) field = static_cast<T>(*value);
}

template <class T, std::size_t kSize>
T one_of(const Words& words, const std::string& text,
         const std::array<std::pair<const char*, T>, kSize>& choices) {
  std::string names;
  for (const auto& [name, value] : choices) {
    if (text == name) return value;
    names += std::string(names.empty() ? "" : ", ") + name;
  }
  words.fail("expected one of " + names + ", got `" + text + "`");
}

constexpr std::array<std::pair<const char*, Failure>, 7> kFailures = {
    {{"error", Failure::error},
     {"out_of_memory", Failure::out_of_memory},
     {"timeout", Failure::timeout},
     {"crash", Failure::crash},
     {"infrastructure", Failure::infrastructure},
     {"deadline", Failure::deadline},
     {"not_started", Failure::not_started}}};

// What a task asks of the hardware, without the kinds of GPU, which are names.
void read_shape(Words& w, core::TaskSpec& spec) {
  set_if(spec.gpus, w.integer("gpus"));
  set_if(spec.share, w.ratio("share"));
  set_if(spec.vram, w.vram("vram"));
  set_if(spec.cpu, w.ratio("cpu"));
  set_if(spec.memory, w.vram("memory"));
  set_if(spec.groups, w.integer("groups"));
  if (const auto level = w.option("within")) {
    spec.within = one_of<Level, 4>(w, *level,
                                   {{{"island", Level::island},
                                     {"node", Level::node},
                                     {"rack", Level::rack},
                                     {"cluster", Level::cluster}}});
  }
  spec.required = w.flag("required");
  if (const auto name = w.option("profile")) {
    spec.profile = core::mig::profile_named(*name);
    if (spec.profile == core::mig::kNoProfile) {
      w.fail("expected a MIG profile such as 3g.40gb, got `" + *name + "`");
    }
  }
}

}  // namespace

core::Failure read_failure(const Words& w, const std::string& name) {
  return one_of(w, name, kFailures);
}

void read_fields(Words& w, core::PolicySpec& spec) {
  if (const auto name = w.option("order")) {
    spec.order = one_of<Order, 6>(w, *name,
                                  {{{"fair", Order::fair},
                                    {"fifo", Order::fifo},
                                    {"round_robin", Order::round_robin},
                                    {"cost_aware", Order::cost_aware},
                                    {"sticky", Order::sticky},
                                    {"slowdown", Order::slowdown}}});
  }
  if (const auto name = w.option("packing")) {
    spec.packing = one_of<Packing, 4>(w, *name,
                                      {{{"best_fit", Packing::best_fit},
                                        {"first_fit", Packing::first_fit},
                                        {"spread", Packing::spread},
                                        {"frag", Packing::frag}}});
  }
  set_if(spec.gpu_load_threshold, w.ratio("load_threshold"));
  set_if(spec.vram_usable, w.ratio("vram_usable"));
  set_if(spec.age_step, w.duration("age_step"));
  set_if(spec.patience, w.duration("patience"));
  set_if(spec.tier_patience, w.duration("tier_patience"));
  set_if(spec.max_holds, w.integer("max_holds"));
  set_if(spec.max_live_tasks, w.integer("max_live_tasks"));
  set_if(spec.live_reserve, w.ratio("live_reserve"));
  set_if(spec.aging_factor, w.ratio("aging_factor"));
  set_if(spec.usage_window, w.duration("usage_window"));
  set_if(spec.poison_after, w.integer("poison_after"));
  set_if(spec.max_infrastructure_losses, w.integer("max_losses"));
  set_if(spec.reservations, w.integer("reservations"));
  set_if(spec.backfill_visits, w.integer("backfill_visits"));
  if (w.flag("no_preemption")) spec.preemption = false;
  set_if(spec.protected_run, w.duration("protected_run"));
  set_if(spec.long_work, w.duration("long_work"));
  set_if(spec.long_share, w.ratio("long_share"));
}

void read_fields(Words& w, core::TenantSpec& spec) {
  set_if(spec.weight, w.ratio("weight"));
  if (const auto n = w.integer("max_queue_size")) {
    spec.max_queue_size = static_cast<std::uint32_t>(*n);
  }
  if (const auto n = w.integer("bucket")) spec.token_bucket_size = *n;
  set_if(spec.token_refill_rate, w.integer("refill"));
  if (const auto n = w.integer("daily")) spec.daily_token_limit = *n;
  set_if(spec.guaranteed_gpus, w.ratio("guaranteed_gpus"));
  if (const auto n = w.ratio("borrow_gpus")) spec.borrow_gpus = *n;
  if (const auto n = w.ratio("max_gpus")) spec.max_gpus = *n;
  if (const auto name = w.option("isolation")) {
    spec.isolation = one_of<Isolation, 4>(w, *name,
                                          {{{"none", Isolation::none},
                                            {"batch", Isolation::batch},
                                            {"slice", Isolation::slice},
                                            {"gpu", Isolation::gpu}}});
  }
}

void read_fields(Words& w, core::ModelSpec& spec) {
  set_if(spec.weights, w.vram("weights"));
  set_if(spec.vram_per_task, w.vram("vram_per_task"));
  set_if(spec.load_time, w.duration("load"));
  set_if(spec.keep_alive, w.duration("keep_alive"));
}

void read_fields(Words& w, core::NodeSpec& spec) {
  set_if(spec.cpu, w.ratio("cpu"));
  set_if(spec.memory, w.vram("memory"));
}

void read_fields(Words& w, core::GpuSpec& spec) {
  set_if(spec.speed, w.ratio("speed"));
  set_if(spec.socket, w.integer("socket"));
  set_if(spec.pcie_switch, w.integer("switch"));
  if (const auto name = w.option("mig")) {
    spec.mig = core::mig::geometry_named(*name);
    if (spec.mig == core::mig::Geometry::none && *name != "none") {
      w.fail("expected a MIG geometry such as a100_80, got `" + *name + "`");
    }
  }
}

void read_fields(Words& w, core::QueueSpec& spec) {
  set_if(spec.max_batch_size, w.integer("size"));
  set_if(spec.max_batch_wait, w.duration("wait"));
  set_if(spec.batch_base, w.duration("base"));
  set_if(spec.batch_per_task, w.duration("per_task"));
  if (const auto n = w.ratio("max_gpus")) spec.max_gpus = *n;
  set_if(spec.min_gpus, w.ratio("min_gpus"));
  if (w.flag("adaptive")) spec.adaptive_wait = true;
  if (w.flag("refuse_late")) spec.refuse_late = true;
  if (w.flag("batch_commands")) spec.batch_commands = true;
  if (const auto n = w.integer("max_queue")) spec.max_queue_size = static_cast<std::uint32_t>(*n);
  if (const auto n = w.integer("task_gpus")) spec.max_task_gpus = static_cast<std::uint32_t>(*n);
}

void read_fields(Words& w, core::ChangeTask& change) {
  set_if(change.priority, w.integer("priority"));
  if (const auto vram = w.vram("vram")) change.vram = *vram;
  if (const auto wait = w.duration("tolerates")) change.tolerated_wait = *wait;
}

void read_fields(Words& w, core::TaskSpec& spec) {
  set_if(spec.tier, w.integer("tier"));
  set_if(spec.priority, w.integer("priority"));
  read_shape(w, spec);
  set_if(spec.expected_run, w.duration("run"));
  set_if(spec.tolerated_wait, w.duration("tolerates"));
  set_if(spec.checkpoint_interval, w.duration("checkpoint_interval"));
  set_if(spec.restart_cost, w.duration("restart_cost"));
  if (const auto at = w.duration("not_before")) spec.not_before = Time{at->ns};
  set_if(spec.tokens, w.integer("tokens"));
  set_if(spec.retry.max_attempts, w.integer("attempts"));
  set_if(spec.retry.backoff, w.duration("backoff"));
  if (const auto kinds = w.option("retry_on")) {
    spec.retry.on = 0;
    for (const std::string& kind : read_names(*kinds))
      spec.retry.on =
          static_cast<std::uint8_t>(spec.retry.on | core::mask_of(read_failure(w, kind)));
  }
  spec.held = w.flag("held");
  spec.command = w.flag("command");
  if (const auto rule = w.option("on_dependency_failure")) {
    spec.on_dependency_failure = one_of<OnDependencyFailure, 2>(
        w, *rule,
        {{{"fail", OnDependencyFailure::fail}, {"release", OnDependencyFailure::release}}});
  }
}

void read_fields(Words& w, TaskPlan& plan) {
  set_if(plan.stops, w.duration("stops"));
  if (const auto takes = w.duration("takes")) plan.takes = *takes;
  if (const auto kind = w.option("fails")) {
    plan.failure = read_failure(w, *kind);
    plan.failing_attempts = UINT32_MAX;
  }
  set_if(plan.failing_attempts, w.integer("times"));
}

void read_fields(Words& w, ModelPlan& plan) {
  if (const auto takes = w.duration("takes")) plan.takes = *takes;
  set_if(plan.failing_loads, w.integer("failing_loads"));
}

}  // namespace berth::scenario
