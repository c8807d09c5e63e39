// Events, actions and cases in words, for people who read a counterexample. See world.h.
#include <ostream>
#include <sstream>
#include <type_traits>

#include "core/mig/profiles.h"
#include "tests/property/world.h"

namespace berth::property {
namespace {

template <class Tag, class Rep>
std::ostream& operator<<(std::ostream& out, Id<Tag, Rep> id) {
  return id ? out << id.value : out << "none";
}
std::ostream& operator<<(std::ostream& out, Duration d) {
  return d == Duration::forever() ? out << "forever"
                                  : out << static_cast<double>(d.ns) * 1e-6 << "ms";
}
std::ostream& operator<<(std::ostream& out, const core::Reason& reason) {
  return out << core::info_of(reason.code).name << "(" << reason.need << "/" << reason.have << ")";
}

void put(std::ostream& out, const core::TaskSpec& s) {
  out << " tenant=" << s.tenant << " queue=" << s.queue << " run=" << s.expected_run
      << " vram=" << s.vram.value << " share=" << s.share.value << " gpus=" << s.gpus
      << " tier=" << int{s.tier} << " prio=" << s.priority << " wait=" << s.tolerated_wait
      << " checkpoints=" << s.checkpoint_interval << " restart=" << s.restart_cost
      << " not_before=" << s.not_before.ns << " attempts=" << int{s.retry.max_attempts}
      << " backoff=" << s.retry.backoff << (s.held ? " held" : "");
  if (s.cpu.value > 0) out << " cpu=" << s.cpu.value;
  if (s.memory.value > 0) out << " memory=" << s.memory.value;
  if (s.kinds != 0) out << " kinds=" << s.kinds;
  if (s.within != core::Level::cluster) {
    out << " within=" << int(s.within) << (s.required ? " required" : "");
  }
  if (s.group) out << " group=" << s.group;
  if (s.at_once > 0) out << " at_once=" << s.at_once;
  for (const core::Dependency& d : s.depends_on) {
    out << (d.kind == core::Dependency::Kind::signal ? " on signal " : " on task ") << d.id;
  }
}

struct Teller {
  std::ostream& out;

  void operator()(const core::SetPolicy& e) const {
    const core::PolicySpec& p = e.spec;
    out << "SetPolicy order=" << int(p.order) << " packing=" << int(p.packing)
        << " threshold=" << p.gpu_load_threshold.value << " usable=" << p.vram_usable.value
        << " patience=" << p.patience << " tier_patience=" << p.tier_patience
        << " age_step=" << p.age_step << " holds=" << p.max_holds << " starts=" << p.starts_per_step
        << " live=" << p.max_live_tasks << " window=" << p.usage_window
        << " poison=" << p.poison_after << " losses=" << p.max_infrastructure_losses
        << " reservations=" << p.reservations << " visits=" << p.backfill_visits
        << " preemption=" << p.preemption << " protected=" << p.protected_run
        << " long_work=" << p.long_work << " long_share=" << p.long_share.value;
  }
  void operator()(const core::PutTenant& e) const {
    out << "PutTenant " << e.tenant << " weight=" << e.spec.weight.value
        << " guaranteed=" << e.spec.guaranteed_gpus.value;
    if (e.spec.parent) out << " parent=" << e.spec.parent;
    if (e.spec.borrow_gpus) out << " borrow_gpus=" << e.spec.borrow_gpus->value;
    if (e.spec.max_gpus) out << " max_gpus=" << e.spec.max_gpus->value;
    if (e.spec.max_queue_size) out << " max_queue=" << *e.spec.max_queue_size;
    if (e.spec.isolation != core::Isolation::none) {
      out << " isolation " << static_cast<int>(e.spec.isolation);
    }
  }
  void operator()(const core::PutQueue& e) const {
    out << "PutQueue " << e.queue << " model=" << e.spec.model << " batch=" << e.spec.max_batch_size
        << " wait=" << e.spec.max_batch_wait << (e.spec.adaptive_wait ? " adaptive" : "")
        << " min_gpus=" << e.spec.min_gpus.value;
    if (e.spec.max_gpus) out << " max_gpus=" << e.spec.max_gpus->value;
    out << " base=" << e.spec.batch_base << " per_task=" << e.spec.batch_per_task;
    if (e.spec.work_class) out << " work_class=" << int{e.spec.work_class.value};
    if (e.spec.batch_commands) out << " batch_commands";
    if (e.spec.max_queue_size) out << " max_queue=" << *e.spec.max_queue_size;
    if (e.spec.max_task_gpus) out << " max_task_gpus=" << *e.spec.max_task_gpus;
  }
  void operator()(const core::PutModel& e) const {
    out << "PutModel " << e.model << " weights=" << e.spec.weights.value
        << " per_task=" << e.spec.vram_per_task.value << " load=" << e.spec.load_time
        << " keep=" << e.spec.keep_alive;
  }
  void operator()(const core::PutNode& e) const {
    out << "PutNode " << e.node << " rack=" << e.spec.rack << " cpu=" << e.spec.cpu.value
        << " memory=" << e.spec.memory.value;
  }
  void operator()(const core::PutGpu& e) const {
    out << "PutGpu " << e.gpu << " vram=" << e.spec.vram.value << " speed=" << e.spec.speed.value
        << " node=" << e.spec.node << " kind=" << e.spec.kind << " island=" << e.spec.island
        << " mig=" << core::mig::name_of(e.spec.mig);
    for (const core::ClassSpeed& its : e.spec.class_speeds)
      out << " speed of class " << int{its.work_class.value} << "=" << its.speed.value;
  }
  void operator()(const core::PutTable& e) const {
    out << "PutTable " << e.version << " bytes=" << e.bytes.size();
  }
  void operator()(const core::Submit& e) const {
    out << "Submit " << e.task;
    put(out, e.spec);
  }
  void operator()(const core::SubmitWorkflow& e) const {
    out << "SubmitWorkflow " << e.first;
    for (const core::TaskSpec& task : e.tasks) {
      out << "\n      -";
      put(out, task);
    }
  }
  void operator()(const core::Cancel& e) const { out << "Cancel " << e.task; }
  void operator()(const core::CancelGroup& e) const { out << "CancelGroup " << e.group; }
  void operator()(const core::Hold& e) const { out << "Hold " << e.task; }
  void operator()(const core::HoldStarts& e) const {
    out << (e.held ? "HoldStarts" : "HoldStarts no more");
  }
  void operator()(const core::ChangeTask& e) const {
    out << "ChangeTask " << e.task << " queue=" << e.queue << " priority=" << e.priority
        << " vram=" << (e.vram ? e.vram->value : -1);
    if (e.tolerated_wait) out << " tolerates=" << *e.tolerated_wait;
  }
  void operator()(const core::Release& e) const { out << "Release " << e.task; }
  void operator()(const core::ResolveSignal& e) const { out << "ResolveSignal " << e.signal; }
  void operator()(const core::DrainQueue& e) const {
    out << "DrainQueue " << e.queue << (e.draining ? " draining" : " open");
  }
  void operator()(const core::PauseQueue& e) const {
    out << "PauseQueue " << e.queue << (e.paused ? " paused" : " resumed");
  }
  void operator()(const core::PauseTenant& e) const {
    out << "PauseTenant " << e.tenant << (e.paused ? " paused" : " resumed");
  }
  void operator()(const core::Flush& e) const { out << "Flush " << e.queue; }
  void operator()(const core::DrainGpu& e) const {
    out << "DrainGpu " << e.gpu << (e.draining ? " on" : " off");
  }
  void operator()(const core::DayBoundary&) const { out << "DayBoundary"; }
  void operator()(const core::Tick&) const { out << "Tick"; }
  void operator()(const core::LeaseStarted& e) const { out << "LeaseStarted " << e.lease; }
  void operator()(const core::TaskEnded& e) const {
    out << "TaskEnded lease=" << e.lease << " task=" << e.outcome.task
        << (e.outcome.completed ? " completed" : " failed ") << int(e.outcome.failure);
  }
  void operator()(const core::LeaseEnded& e) const {
    out << "LeaseEnded " << e.lease;
    for (const core::TaskOutcome& o : e.outcomes) {
      out << " [" << o.task << (o.completed ? " completed" : " failed ") << int(o.failure) << "]";
    }
  }
  void operator()(const core::LeaseEndedAfter& e) const {
    (*this)(e.ended);
    out << " ran=" << e.ran;
  }
  void operator()(const core::ModelLoaded& e) const {
    out << "ModelLoaded gpu=" << e.gpu << " model=" << e.model << " load=" << e.load
        << (e.ok ? " ok" : " failed") << " took=" << e.took;
  }
  void operator()(const core::ModelUnloaded& e) const {
    out << "ModelUnloaded gpu=" << e.gpu << " model=" << e.model << " load=" << e.load;
  }
  void operator()(const core::GpuLost& e) const { out << "GpuLost " << e.gpu; }
  void operator()(const core::NodeLost& e) const { out << "NodeLost " << e.node; }
  void operator()(const core::GpuReturned& e) const { out << "GpuReturned " << e.gpu; }
  void operator()(const core::NodeReturned& e) const { out << "NodeReturned " << e.node; }
  void operator()(const core::GpuUtilisation& e) const {
    out << "GpuUtilisation " << e.gpu << " " << e.utilisation.value;
  }

  void operator()(const core::Instant& a) const { out << "Instant " << a.at.ns; }
  void operator()(const core::TaskAccepted& a) const { out << "TaskAccepted " << a.task; }
  void operator()(const core::TaskRefused& a) const {
    out << "TaskRefused " << a.task << " " << a.reason;
  }
  void operator()(const core::TaskReady& a) const { out << "TaskReady " << a.task; }
  void operator()(const core::TaskDeferred& a) const {
    out << "TaskDeferred " << a.task << " " << a.reason << " until " << a.eligible_at.ns;
  }
  void operator()(const core::TaskFinished& a) const {
    out << "TaskFinished " << a.task << " " << core::name_of(a.state) << " " << a.reason;
  }
  void operator()(const core::BatchStarted& a) const {
    out << "BatchStarted lease=" << a.lease << " queue=" << a.queue << " share=" << a.share.value
        << " vram=" << a.vram.value << " expected=" << a.expected << " gpus";
    for (const GpuId gpu : a.gpus)
      out << " " << gpu;
    if (a.node) out << " node=" << a.node;
    if (a.cpu.value > 0 || a.memory.value > 0) {
      out << " cpu=" << a.cpu.value << " memory=" << a.memory.value;
    }
    if (a.instance) {
      out << " " << core::mig::name_of(a.instance->profile) << " at "
          << static_cast<int>(a.instance->start);
    }
    out << " tasks";
    for (const core::StartedTask& t : a.tasks) {
      out << " " << t.task << "#" << t.attempt << " charge " << t.charge_us;
    }
  }
  void operator()(const core::StopTask& a) const {
    out << "StopTask lease=" << a.lease << " task=" << a.task;
  }
  void operator()(const core::LeaseCharged& a) const {
    out << "LeaseCharged " << a.lease << " " << a.quantum;
  }
  void operator()(const core::SliceLost& a) const {
    out << "SliceLost lease=" << a.lease << " gpu=" << a.gpu;
  }
  void operator()(const core::LeaseClosed& a) const {
    out << "LeaseClosed " << a.lease << " ran " << a.ran;
  }
  void operator()(const core::LoadModel& a) const {
    out << "LoadModel gpu=" << a.gpu << " model=" << a.model << " load=" << a.load << " "
        << a.expected;
  }
  void operator()(const core::EvictModel& a) const {
    out << "EvictModel gpu=" << a.gpu << " model=" << a.model << " load=" << a.load;
  }
  void operator()(const core::HoldGpu& a) const {
    out << "HoldGpu gpu=" << a.gpu << " queue=" << a.queue << " task=" << a.task;
  }
  void operator()(const core::ReleaseHold& a) const {
    out << "ReleaseHold gpu=" << a.gpu << " queue=" << a.queue << " task=" << a.task;
  }
  void operator()(const core::TaskChanged& a) const {
    out << "TaskChanged " << a.task << " queue=" << a.queue << " priority=" << a.priority
        << " vram=" << a.vram.value << " expires " << a.expires.ns;
  }
  void operator()(const core::Preempt& a) const {
    out << "Preempt " << a.task << " gpus";
    for (const GpuId gpu : a.gpus)
      out << " " << gpu;
  }
  void operator()(const core::QueuePassedOver& a) const {
    out << "QueuePassedOver " << a.queue << " due " << a.due.ns << " " << a.reason;
  }
};

}  // namespace

std::string describe(const core::Event& event) {
  std::ostringstream out;
  out << static_cast<double>(event.now.ns) * 1e-6 << "ms ";
  std::visit(Teller{out}, event.body);
  return out.str();
}

std::string describe(const core::Action& action) {
  std::ostringstream out;
  std::visit(Teller{out}, action);
  return out.str();
}

std::string describe(const std::vector<Step>& steps, std::size_t last) {
  std::string text;
  for (std::size_t i = 0; i < steps.size() && i <= last; ++i) {
    for (std::size_t a = 0; a < steps[i].actions.size(); ++a) {
      if (a == steps[i].from_timers)
        text += std::to_string(i) + "  " + describe(steps[i].event) + "\n";
      text += "      -> " + describe(steps[i].actions[a]) + "\n";
    }
    if (steps[i].actions.size() == steps[i].from_timers) {
      text += std::to_string(i) + "  " + describe(steps[i].event) + "\n";
    }
  }
  return text;
}

std::ostream& operator<<(std::ostream& out, const Case& input) {
  out << "setup";
  for (const std::uint32_t number : input.setup)
    out << " " << number;
  for (const Command& c : input.commands) {
    out << "\n  {" << c.verb << ", " << c.a << ", " << c.b << ", " << c.c << ", " << c.gap << "}";
  }
  return out;
}

}  // namespace berth::property
