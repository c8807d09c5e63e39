// See printer.h.
#include "tests/scenarios/printer.h"

#include <array>
#include <variant>

#include "core/mig/profiles.h"

namespace berth::scenario {
namespace {

using namespace core;  // every action is named below

constexpr std::size_t kTimeWidth = 9;
constexpr std::array kFailureNames = {"error", "out_of_memory", "timeout", "crash",
                                      "infrastructure"};

template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};

// value / unit as a decimal without trailing zeros.
std::string decimal(std::int64_t value, std::int64_t unit) {
  std::string text = std::to_string(value / unit);
  std::int64_t rest = value % unit;
  if (rest != 0) text += '.';
  for (; rest != 0; rest %= unit / 10, unit /= 10)
    text += static_cast<char>('0' + rest / (unit / 10));
  return text;
}

std::string amount(std::string_view unit, std::int64_t value) {
  if (unit == "MiB") return text_of(Mib{value});
  if (unit == "ns") return text_of(Duration{value});
  if (unit == "milli-GPUs") return text_of(Milli{value}) + " GPUs";
  if (unit == "milli-CPUs") return text_of(Milli{value}) + " CPUs";
  return std::to_string(value);
}

// "needs 3 tasks, has 2"; what has ended fulfilled its limit: "3 of 3 attempts".
std::string amounts(const Reason& reason, const ReasonInfo& info) {
  const std::string need = amount(info.unit, reason.need);
  const std::string have = amount(info.unit, reason.have);
  const bool is_measure = info.unit == "MiB" || info.unit == "ns" || info.unit == "milli-GPUs" ||
                          info.unit == "milli-CPUs";
  const std::string unit = is_measure ? "" : " " + std::string(info.unit);
  switch (reason.code) {
    case ReasonCode::poison_held:
    case ReasonCode::waited_too_long:
    case ReasonCode::attempts_spent:
    case ReasonCode::infrastructure_lost:
      return need + " of " + have + unit;
    case ReasonCode::mig_start_short:
      return have + " of " + need + unit;
    case ReasonCode::behind_in_flow:
    case ReasonCode::behind_in_order:
    case ReasonCode::load_failed:
      return need + unit;
    default:
      return "needs " + need + unit + ", has " + have;
  }
}

std::string padded(Time at) {
  std::string text = text_of(at);
  text.resize(std::max(text.size() + 1, kTimeWidth), ' ');
  return text;
}

std::string failure_name(Failure failure) {
  return kFailureNames[static_cast<std::size_t>(failure)];
}

}  // namespace

std::string text_of(Duration duration) {
  if (duration == Duration::forever()) return "forever";
  if (duration.ns == 0) return "0s";
  if (duration.ns < 1'000'000) return decimal(duration.ns, 1'000) + "us";
  if (duration.ns < 1'000'000'000) return decimal(duration.ns, 1'000'000) + "ms";
  return decimal(duration.ns, 1'000'000'000) + "s";
}

std::string text_of(Time time) { return text_of(Duration{time.ns}); }

std::string text_of(Mib vram) {
  if (vram.value % 512 != 0) return std::to_string(vram.value) + "MiB";
  return decimal(vram.value * 1000 / 1024, 1000) + "GB";
}

std::string text_of(Milli ratio) { return decimal(ratio.value, 1000); }

std::string Log::subject(std::string_view noun, std::uint64_t id) const {
  if (noun == "mig_profile") {
    return std::string(noun) + " " + std::string(mig::name_of(static_cast<mig::ProfileId>(id)));
  }
  const NameTable* table = noun == "task"     ? &names_.tasks
                           : noun == "gpu"    ? &names_.gpus
                           : noun == "queue"  ? &names_.queues
                           : noun == "tenant" ? &names_.tenants
                           : noun == "model"  ? &names_.models
                           : noun == "signal" ? &names_.signals
                                              : nullptr;
  return std::string(noun) + " " + (table != nullptr ? table->at(id) : std::to_string(id));
}

std::string Log::reason(const Reason& reason, TaskNo about) const {
  const ReasonInfo& info = info_of(reason.code);
  std::string text(info.name);
  // An instant says more than how far away it is.
  const bool is_instant = reason.code == ReasonCode::waits_for_time;
  if (!info.unit.empty() && !is_instant) text += ", " + amounts(reason, info);
  const bool is_itself = info.subject == "task" && reason.subject == about.value;
  if (reason.subject != Reason::kNoSubject && !is_itself) {
    text += ", " + subject(info.subject, reason.subject);
  }
  if (reason.code == ReasonCode::mig_profile_absent) {
    text += ", there are " + mig::names_of_geometries(static_cast<std::uint64_t>(reason.have));
  }
  if (reason.at != Time::never()) text += ", until " + text_of(reason.at);
  return text;
}

std::string Log::batch(const BatchStarted& batch) const {
  std::string text = "start";
  std::string notes;
  for (const StartedTask& started : batch.tasks) {
    text += " " + task(started.task);
    if (started.attempt > 1) {
      notes += ", " + task(started.task) + " attempt " + std::to_string(started.attempt);
    }
  }
  if (batch.share != kWholeGpu) notes += ", share " + text_of(batch.share);
  if (batch.cpu.value > 0) notes += ", cpu " + text_of(batch.cpu);
  if (batch.memory.value > 0) notes += ", memory " + text_of(batch.memory);
  if (batch.instance) {
    notes += ", " + std::string(mig::name_of(batch.instance->profile)) + " at " +
             std::to_string(batch.instance->start);
  }
  if (shows_charges_) {
    notes += ", charged";
    for (const StartedTask& started : batch.tasks)
      notes += " " + text_of(microseconds(started.charge_us));
  }
  text += " on";
  for (const GpuId id : batch.gpus)
    text += " " + gpu(id);
  if (batch.node) text += " " + node(batch.node);
  return text + " (lease " + std::to_string(batch.lease.value) + ", " + text_of(batch.expected) +
         notes + ")";
}

std::string Log::deferral(const TaskDeferred& deferred) const {
  const std::string name = task(deferred.task);
  switch (deferred.reason.code) {
    case ReasonCode::task_held:
      return "hold " + name;
    case ReasonCode::waits_for_time:
      return "retry " + name + " at " + text_of(deferred.eligible_at) + " after " +
             failure_name(deferred.failure);
    case ReasonCode::preempted:
    case ReasonCode::gpu_lost:
      return "put back " + name + ": " + reason(deferred.reason, deferred.task);
    default:
      return "hold " + name + ": " + reason(deferred.reason, deferred.task) + ", after " +
             failure_name(deferred.failure);
  }
}

void Log::add_line(Time at, const std::string& text) {
  lines_.push_back(padded(at) + text);
  open_list_.clear();
}

void Log::add_to_list(Time at, const std::string& verb, TaskNo no) {
  const std::string list = padded(at) + verb;
  if (list != open_list_) {
    lines_.push_back(list);
    open_list_ = list;
  }
  lines_.back() += " " + task(no);
}

void Log::add_left(TaskNo no, TaskState state) {
  const std::string list = "left " + std::string(name_of(state)) + ":";
  if (list != open_list_) {
    lines_.push_back(list);
    open_list_ = list;
  }
  lines_.back() += " " + task(no);
}

void Log::add(Time at, const Action& action) {
  const auto about = [&](const char* verb, TaskNo no, const Reason& why) {
    add_line(at, std::string(verb) + " " + task(no) + ": " + reason(why, no));
  };
  std::visit(
      Overloaded{
          [](const Instant&) {},
          [&](const TaskAccepted& a) { add_to_list(at, "accept", a.task); },
          [&](const TaskRefused& a) { about("refuse", a.task, a.reason); },
          [&](const TaskReady& a) { add_to_list(at, "ready", a.task); },
          [&](const TaskDeferred& a) { add_line(at, deferral(a)); },
          [&](const TaskFinished& a) {
            if (a.state == TaskState::completed) return add_to_list(at, "complete", a.task);
            if (a.state == TaskState::cancelled) return add_to_list(at, "cancel", a.task);
            about(a.state == TaskState::failed ? "fail" : "expire", a.task, a.reason);
          },
          [&](const BatchStarted& a) { add_line(at, batch(a)); },
          [&](const StopTask& a) {
            add_line(at, "stop " + task(a.task) + " (lease " + std::to_string(a.lease.value) + ")");
          },
          [&](const LeaseCharged& a) {
            add_line(at,
                     "charge lease " + std::to_string(a.lease.value) + " " + text_of(a.quantum));
          },
          [&](const SliceLost& a) {
            add_line(at, "lose " + gpu(a.gpu) + " (lease " + std::to_string(a.lease.value) + ")");
          },
          [](const LeaseClosed&) {},
          [&](const LoadModel& a) {
            add_line(at, "load " + model(a.model) + " on " + gpu(a.gpu) + " (" +
                             text_of(a.expected) + ")");
          },
          [&](const EvictModel& a) {
            add_line(at, "evict " + model(a.model) + " from " + gpu(a.gpu));
          },
          [&](const HoldGpu& a) {
            add_line(at, "hold " + gpu(a.gpu) + " for " +
                             (a.task ? "task " + task(a.task) : "queue " + queue(a.queue)));
          },
          [&](const ReleaseHold& a) {
            add_line(at, "free " + gpu(a.gpu) + ", held for " +
                             (a.task ? "task " + task(a.task) : "queue " + queue(a.queue)));
          },
          [&](const TaskChanged& a) {
            add_line(at, "change " + task(a.task) + " to queue " + queue(a.queue) + ", priority " +
                             std::to_string(a.priority) + ", " + std::to_string(a.vram.value) +
                             " MiB" +
                             (a.expires == Time::never() ? "" : ", until " + text_of(a.expires)));
          },
          [&](const Preempt& a) {
            std::string line = "preempt for task " + task(a.task) + " on";
            for (const GpuId id : a.gpus)
              line += " " + gpu(id);
            add_line(at, line);
          },
          [&](const QueuePassedOver& a) {
            add_line(at, "pass over queue " + queue(a.queue) + " until " + text_of(a.due) + ": " +
                             reason(a.reason, TaskNo::none()));
          },
      },
      action);
}

void Log::add(Time at, TaskNo no, const Explanation& explanation) {
  std::string line = "explain " + task(no) + ": " + std::string(name_of(explanation.state));
  if (explanation.state == TaskState::pending) {
    line += ", " + std::to_string(explanation.ahead_in_flow) + " ahead in its flow, " +
            std::to_string(explanation.ahead_in_queue) + " more in its queue";
    if (explanation.binding.empty()) line += ", starts next";
  }
  add_line(at, line);
  const std::string indent(kTimeWidth + 2, ' ');
  for (const Reason& binding : explanation.binding)
    lines_.push_back(indent + reason(binding, no));
  if (explanation.holder) {
    const Holder& holder = *explanation.holder;
    lines_.push_back(indent + "lease " + std::to_string(holder.lease.value) + " has " +
                     text_of(holder.vram) + " of " + gpu(holder.gpu) +
                     (holder.expected_end == Time::never()
                          ? ", nobody knows until when"
                          : " until about " + text_of(holder.expected_end)));
  }
  if (explanation.start) {
    const core::StartEstimate& start = *explanation.start;
    std::string when = indent + "starts about " + text_of(start.likely);
    if (start.low != start.high) {
      when += " (" + text_of(start.low) + " to " + text_of(start.high) + ")";
    }
    lines_.push_back(std::move(when));
  }
}

}  // namespace berth::scenario
