// See event_log.h.
#include "sim/event_log.h"

#include <array>
#include <string>

#include "core/mig/profiles.h"

namespace berth::sim {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

// In the order of core::EventBody and core::Action.
constexpr std::array kEventNames = {"set_policy",
                                    "put_tenant",
                                    "put_queue",
                                    "put_model",
                                    "put_node",
                                    "put_gpu",
                                    "put_table",
                                    "submit",
                                    "submit_workflow",
                                    "cancel",
                                    "cancel_group",
                                    "hold",
                                    "release",
                                    "resolve_signal",
                                    "pause_queue",
                                    "pause_tenant",
                                    "flush",
                                    "drain_gpu",
                                    "drain_queue",
                                    "day_boundary",
                                    "tick",
                                    "lease_started",
                                    "task_ended",
                                    "lease_ended",
                                    "model_loaded",
                                    "model_unloaded",
                                    "gpu_lost",
                                    "node_lost",
                                    "gpu_returned",
                                    "node_returned",
                                    "gpu_utilisation",
                                    "lease_ended_after",
                                    "change_task",
                                    "hold_starts"};
static_assert(kEventNames.size() == std::variant_size_v<core::EventBody>);

constexpr std::array kActionNames = {
    "instant",           "task_accepted", "task_refused", "task_ready",    "task_deferred",
    "task_finished",     "batch_started", "stop_task",    "lease_charged", "slice_lost",
    "lease_closed",      "load_model",    "evict_model",  "hold_gpu",      "release_hold",
    "queue_passed_over", "preempt",       "task_changed"};
static_assert(kActionNames.size() == std::variant_size_v<core::Action>);

constexpr std::array kFailureNames = {"error",          "out_of_memory", "timeout",    "crash",
                                      "infrastructure", "deadline",      "not_started"};
static_assert(kFailureNames.size() == core::kFailureKinds);

// In the order of core::Level.
constexpr std::array kLevelNames = {"gpu", "island", "node", "rack", "cluster"};

void write_outcome(JsonWriter& json, const core::TaskOutcome& outcome) {
  json.member("task", outcome.task.value).member("completed", outcome.completed);
  if (outcome.completed) return;
  json.member("failure", kFailureNames[static_cast<std::size_t>(outcome.failure)]);
}

void write_ended(JsonWriter& json, const core::LeaseEnded& ended) {
  json.member("lease", ended.lease.value);
  if (ended.outcomes.empty()) return;
  json.key("outcomes").begin_array();
  for (const core::TaskOutcome& outcome : ended.outcomes) {
    json.begin_object();
    write_outcome(json, outcome);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string_view name_of(const core::EventBody& event) { return kEventNames[event.index()]; }
std::string_view name_of(const core::Action& action) { return kActionNames[action.index()]; }

void EventLog::begin(Time at, std::string_view kind, std::string_view name) {
  json_.clear();
  json_.begin_object().member("t_ns", at.ns).member(kind, name);
}

void EventLog::end() {
  json_.end_object();
  sink_(json_.text() + "\n");
}

void EventLog::write_gpu(GpuId gpu) { json_.member("gpu", scenario_.gpus.names[gpu.value]); }
void EventLog::write_node(NodeId node) { json_.member("node", scenario_.nodes.all()[node.value]); }
void EventLog::write_model(ModelId model) {
  if (model) json_.member("model", scenario_.models.names[model.value]);
}
void EventLog::write_queue(QueueId queue) {
  if (queue) json_.member("queue", scenario_.queues.names[queue.value]);
}

void EventLog::write_reason(const core::Reason& reason) {
  if (!reason) return;
  const core::ReasonInfo& info = core::info_of(reason.code);
  json_.member("reason", info.name);
  if (!info.unit.empty()) {
    json_.member("need", reason.need).member("have", reason.have).member("unit", info.unit);
  }
  if (!info.subject.empty() && reason.subject != core::Reason::kNoSubject) {
    json_.member(std::string("subject_") + std::string(info.subject), reason.subject);
  }
  if (reason.at != Time::never()) json_.member("retry_at_ns", reason.at.ns);
}

// What it asks of the hardware beside GPUs, share and VRAM.
void EventLog::write_shape(const core::TaskSpec& spec) {
  if (spec.cpu.value > 0) json_.member("cpu_milli", spec.cpu.value);
  if (spec.memory.value > 0) json_.member("memory_mib", spec.memory.value);
  if (spec.groups != 1) json_.member("groups", spec.groups);
  if (spec.within != core::Level::cluster) {
    json_.member("within", kLevelNames[static_cast<std::size_t>(spec.within)]);
  }
  if (spec.required) json_.member("required", true);
  if (spec.profile != core::mig::kNoProfile) {
    json_.member("profile", core::mig::name_of(spec.profile));
  }
  if (spec.kinds == 0) return;
  json_.key("kinds").begin_array();
  for (std::uint32_t i = 0; i < scenario_.kinds.all().size(); ++i) {
    if (core::allows(spec.kinds, KindId{i})) json_.value(scenario_.kinds.all()[i]);
  }
  json_.end_array();
}

void EventLog::write_class_speeds(const core::GpuSpec& spec) {
  if (spec.class_speeds.empty()) return;
  json_.key("speed_milli_by_class").begin_object();
  for (const core::ClassSpeed& its : spec.class_speeds)
    json_.member(scenario_.work_classes.all()[its.work_class.value], its.speed.value);
  json_.end_object();
}

void EventLog::write_spec(const core::TaskSpec& spec) {
  write_queue(spec.queue);
  json_.member("tenant", scenario_.tenants.names[spec.tenant.value])
      .member("vram_mib", spec.vram.value)
      .member("expected_run_ns", spec.expected_run.ns);
  if (spec.priority != 0) json_.member("priority", spec.priority);
  if (spec.tier != 0) json_.member("tier", static_cast<int>(spec.tier));
  if (spec.gpus != 1) json_.member("gpus", spec.gpus);
  if (spec.share != kWholeGpu) json_.member("share_milli", spec.share.value);
  write_shape(spec);
  if (spec.tolerated_wait != Duration::forever()) {
    json_.member("tolerated_wait_ns", spec.tolerated_wait.ns);
  }
  if (spec.checkpoint_interval.ns > 0) {
    json_.member("checkpoint_interval_ns", spec.checkpoint_interval.ns);
  }
  if (spec.restart_cost.ns > 0) json_.member("restart_cost_ns", spec.restart_cost.ns);
  if (spec.tokens != 1) json_.member("tokens", spec.tokens);
  if (spec.group) json_.member("group", scenario_.groups.all()[spec.group.value]);
  if (spec.at_once > 0) json_.member("at_once", spec.at_once);
  if (spec.held) json_.member("held", true);
  if (spec.depends_on.empty()) return;
  json_.key("depends_on").begin_array();
  for (const core::Dependency& dependency : spec.depends_on) {
    if (dependency.kind == core::Dependency::Kind::task) {
      json_.value(dependency.id);
    } else {
      json_.value(scenario_.signals.all()[dependency.id]);
    }
  }
  json_.end_array();
}

void EventLog::on_event(const core::Event& event) {
  begin(event.now, "event", kEventNames[event.body.index()]);
  std::visit(
      Overloaded{
          [&](const core::SetPolicy& e) {
            json_.member("order", config::order_names()[static_cast<std::size_t>(e.spec.order)]);
            json_.member("packing",
                         config::packing_names()[static_cast<std::size_t>(e.spec.packing)]);
          },
          [&](const core::PutTenant& e) {
            json_.member("tenant", scenario_.tenants.names[e.tenant.value])
                .member("weight_milli", e.spec.weight.value);
            if (!e.spec.parent) return;
            json_.member("parent", scenario_.tenants.names[e.spec.parent.value]);
          },
          [&](const core::PutQueue& e) {
            write_queue(e.queue);
            write_model(e.spec.model);
            json_.member("max_batch_size", e.spec.max_batch_size)
                .member("max_batch_wait_ns", e.spec.max_batch_wait.ns);
            if (e.spec.work_class) {
              json_.member("work_class", scenario_.work_classes.all()[e.spec.work_class.value]);
            }
          },
          [&](const core::PutModel& e) {
            write_model(e.model);
            json_.member("weights_mib", e.spec.weights.value)
                .member("load_time_ns", e.spec.load_time.ns);
          },
          [&](const core::PutNode& e) {
            write_node(e.node);
            json_.member("rack", scenario_.racks.all()[e.spec.rack.value])
                .member("cpu_milli", e.spec.cpu.value)
                .member("memory_mib", e.spec.memory.value);
          },
          [&](const core::PutGpu& e) {
            write_gpu(e.gpu);
            write_node(e.spec.node);
            json_.member("kind", scenario_.kinds.all()[e.spec.kind.value])
                .member("vram_mib", e.spec.vram.value)
                .member("speed_milli", e.spec.speed.value);
            if (e.spec.island) json_.member("island", e.spec.island.value);
            if (e.spec.mig != core::mig::Geometry::none) {
              json_.member("mig", core::mig::name_of(e.spec.mig));
            }
            write_class_speeds(e.spec);
          },
          [&](const core::PutTable& e) {
            json_.member("version", e.version).member("bytes", e.bytes.size());
          },
          [&](const core::Submit& e) {
            json_.member("task", e.task.value);
            write_spec(e.spec);
          },
          [&](const core::SubmitWorkflow& e) {
            json_.key("tasks").begin_array();
            for (std::size_t i = 0; i < e.tasks.size(); ++i) {
              json_.begin_object().member("task", e.first.value + i);
              write_spec(e.tasks[i]);
              json_.end_object();
            }
            json_.end_array();
          },
          [&](const core::Cancel& e) { json_.member("task", e.task.value); },
          [&](const core::CancelGroup& e) {
            json_.member("group", scenario_.groups.all()[e.group.value]);
          },
          [&](const core::Hold& e) { json_.member("task", e.task.value); },
          [&](const core::Release& e) { json_.member("task", e.task.value); },
          [&](const core::ResolveSignal& e) {
            json_.member("signal", scenario_.signals.all()[e.signal.value]);
          },
          [&](const core::PauseQueue& e) {
            write_queue(e.queue);
            json_.member("paused", e.paused);
          },
          [&](const core::PauseTenant& e) {
            json_.member("tenant", scenario_.tenants.names[e.tenant.value])
                .member("paused", e.paused);
          },
          [&](const core::Flush& e) { write_queue(e.queue); },
          [&](const core::DrainGpu& e) {
            write_gpu(e.gpu);
            json_.member("draining", e.draining);
          },
          [&](const core::DrainQueue& e) {
            write_queue(e.queue);
            json_.member("draining", e.draining);
          },
          [&](const core::ChangeTask& e) {
            json_.member("task", e.task.value);
            write_queue(e.queue);
            json_.member("priority", e.priority);
            if (e.vram) json_.member("vram_mb", e.vram->value);
            if (e.tolerated_wait) json_.member("tolerated_wait_ns", e.tolerated_wait->ns);
          },
          [&](const core::DayBoundary&) {},
          [&](const core::HoldStarts& e) { json_.member("held", e.held); },
          [&](const core::Tick&) {},
          [&](const core::LeaseStarted& e) { json_.member("lease", e.lease.value); },
          [&](const core::TaskEnded& e) {
            json_.member("lease", e.lease.value);
            write_outcome(json_, e.outcome);
          },
          [&](const core::LeaseEnded& e) { write_ended(json_, e); },
          [&](const core::LeaseEndedAfter& e) {
            write_ended(json_, e.ended);
            json_.member("ran_ns", e.ran.ns);
          },
          [&](const core::ModelLoaded& e) {
            write_gpu(e.gpu);
            write_model(e.model);
            if (e.load) json_.member("load", e.load.value);
            json_.member("ok", e.ok).member("took_ns", e.took.ns);
          },
          [&](const core::ModelUnloaded& e) {
            write_gpu(e.gpu);
            write_model(e.model);
            if (e.load) json_.member("load", e.load.value);
          },
          [&](const core::GpuLost& e) { write_gpu(e.gpu); },
          [&](const core::NodeLost& e) { write_node(e.node); },
          [&](const core::GpuReturned& e) { write_gpu(e.gpu); },
          [&](const core::NodeReturned& e) { write_node(e.node); },
          [&](const core::GpuUtilisation& e) {
            write_gpu(e.gpu);
            json_.member("utilisation_milli", e.utilisation.value);
          },
      },
      event.body);
  end();
}

void EventLog::on_action(Time at, const core::Action& action) {
  // An instant is the time that the following lines carry anyway.
  if (std::holds_alternative<core::Instant>(action)) return;
  begin(at, "action", kActionNames[action.index()]);
  std::visit(Overloaded{
                 [&](const core::Instant&) {},
                 [&](const core::TaskAccepted& a) { json_.member("task", a.task.value); },
                 [&](const core::TaskRefused& a) {
                   json_.member("task", a.task.value);
                   write_reason(a.reason);
                 },
                 [&](const core::TaskReady& a) { json_.member("task", a.task.value); },
                 [&](const core::TaskDeferred& a) {
                   json_.member("task", a.task.value);
                   write_reason(a.reason);
                   if (a.eligible_at != Time::never())
                     json_.member("eligible_at_ns", a.eligible_at.ns);
                 },
                 [&](const core::TaskFinished& a) {
                   json_.member("task", a.task.value).member("state", core::name_of(a.state));
                   write_reason(a.reason);
                 },
                 [&](const core::BatchStarted& a) {
                   json_.member("lease", a.lease.value);
                   write_queue(a.queue);
                   write_model(a.model);
                   json_.member("share_milli", a.share.value)
                       .member("vram_mib", a.vram.value)
                       .member("expected_ns", a.expected.ns);
                   json_.member("rate", a.rate);
                   if (a.load_us > 0) json_.member("load_us", a.load_us);
                   if (a.node) write_node(a.node);
                   if (a.cpu.value > 0) json_.member("cpu_milli", a.cpu.value);
                   if (a.memory.value > 0) json_.member("memory_mib", a.memory.value);
                   if (a.instance) {
                     json_.member("profile", core::mig::name_of(a.instance->profile))
                         .member("start", static_cast<int>(a.instance->start));
                   }
                   json_.key("gpus").begin_array();
                   for (const GpuId gpu : a.gpus)
                     json_.value(scenario_.gpus.names[gpu.value]);
                   json_.end_array().key("tasks").begin_array();
                   for (const core::StartedTask& task : a.tasks) {
                     json_.begin_object()
                         .member("task", task.task.value)
                         .member("attempt", task.attempt)
                         .member("charge_us", task.charge_us)
                         .member("part", task.part)
                         .end_object();
                   }
                   json_.end_array();
                 },
                 [&](const core::StopTask& a) {
                   json_.member("lease", a.lease.value).member("task", a.task.value);
                 },
                 [&](const core::LeaseCharged& a) {
                   json_.member("lease", a.lease.value).member("quantum_ns", a.quantum.ns);
                 },
                 [&](const core::SliceLost& a) {
                   json_.member("lease", a.lease.value);
                   write_gpu(a.gpu);
                 },
                 [&](const core::LeaseClosed& a) {
                   json_.member("lease", a.lease.value).member("ran_ns", a.ran.ns);
                 },
                 [&](const core::LoadModel& a) {
                   write_gpu(a.gpu);
                   write_model(a.model);
                   json_.member("load", a.load.value).member("expected_ns", a.expected.ns);
                 },
                 [&](const core::EvictModel& a) {
                   write_gpu(a.gpu);
                   write_model(a.model);
                   if (a.load) json_.member("load", a.load.value);
                 },
                 [&](const core::HoldGpu& a) {
                   write_gpu(a.gpu);
                   write_queue(a.queue);
                   if (a.task) json_.member("task", a.task.value);
                 },
                 [&](const core::ReleaseHold& a) {
                   write_gpu(a.gpu);
                   write_queue(a.queue);
                   if (a.task) json_.member("task", a.task.value);
                 },
                 [&](const core::Preempt& a) {
                   json_.member("task", a.task.value);
                   json_.key("gpus").begin_array();
                   for (const GpuId gpu : a.gpus)
                     json_.value(scenario_.gpus.names[gpu.value]);
                   json_.end_array();
                 },
                 [&](const core::TaskChanged& a) {
                   json_.member("task", a.task.value);
                   write_queue(a.queue);
                   json_.member("priority", a.priority).member("vram_mb", a.vram.value);
                   if (a.expires != Time::never()) json_.member("expires_ns", a.expires.ns);
                 },
                 [&](const core::QueuePassedOver& a) {
                   write_queue(a.queue);
                   json_.member("due_ns", a.due.ns);
                   write_reason(a.reason);
                 },
             },
             action);
  end();
}

}  // namespace berth::sim
