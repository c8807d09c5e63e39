// A tiny agent for tests: says hello with its GPUs and carries out what it is told at once, or
// keeps it until the test says so.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "berth/v1/agent.pb.h"

namespace berth::service::testing {

class QuickAgent {
 public:
  using Say = std::function<void(v1::AgentMessage&&)>;

  explicit QuickAgent(Say say) : say_(std::move(say)) {}

  bool starts_at_once = true;
  bool finishes_at_once = true;
  bool finishes_when_stopped = false;         // the whole lease
  bool knows_all = false;                     // as its hello says
  std::int64_t ended_ago_ms = 0;              // as it says of the leases that it finishes
  std::optional<std::int64_t> ran_ms;         // likewise
  std::int64_t load_took_us = 0;              // as it reports it
  int simulated = 1000;                       // so many of its GPUs are, the first ones
  std::vector<std::string> kinds = {"test"};  // of its GPUs, in turn
  std::vector<v1::Lease> leases;              // all that came
  std::vector<v1::StopTask> stops;
  v1::Welcome welcome;
  std::uint64_t acknowledged = 0;
  std::function<void(const v1::LogRequest&)> on_log;  // none: it has no output

  void say(v1::AgentMessage&& message) { say_(std::move(message)); }

  void hello(int gpus, std::int64_t vram_mb, const std::vector<std::uint64_t>& held = {}) {
    v1::AgentMessage message;
    v1::Hello& hello = *message.mutable_hello();
    hello.set_protocol_low(1);
    hello.set_protocol_high(1);
    hello.set_node("local");
    hello.set_incarnation(incarnation_);
    hello.set_knows_all(knows_all);
    for (int i = 0; i < gpus; ++i) {
      v1::Gpu& gpu = *hello.add_gpus();
      gpu.set_uuid("GPU-" + std::to_string(i));
      gpu.set_name("gpu-" + std::to_string(i));
      gpu.set_kind(kinds[static_cast<std::size_t>(i) % kinds.size()]);
      gpu.set_vram_mb(vram_mb);
      gpu.set_simulated(i < simulated);
    }
    for (const std::uint64_t lease : held) {
      v1::HeldLease& known = *hello.add_leases();
      known.set_lease(lease);
      for (const v1::Lease& had : leases) {
        if (had.id() != lease) continue;
        for (const v1::LeasedTask& task : had.tasks())
          known.add_running(task.task_no());
      }
    }
    say_(std::move(message));
  }
  // Of an agent that says more of its hardware; the rest is filled in.
  void hello(const v1::Hello& hardware) {
    v1::AgentMessage message;
    *message.mutable_hello() = hardware;
    message.mutable_hello()->set_protocol_low(1);
    message.mutable_hello()->set_protocol_high(1);
    message.mutable_hello()->set_incarnation(incarnation_);
    say_(std::move(message));
  }

  void receive(v1::ServerMessage&& message) {
    if (message.has_welcome()) welcome = message.welcome();
    if (message.has_acknowledge()) acknowledged = message.acknowledge().seq();
    if (message.has_stop()) stopped(message.stop());
    if (message.has_load()) loaded(message.load());
    if (message.has_log() && on_log) on_log(message.log());
    if (!message.has_lease()) return;
    leases.push_back(message.lease());
    if (starts_at_once) started(message.lease().id());
    if (finishes_at_once) finish(message.lease());
  }

  void reading(const std::string& gpu, int utilisation_percent) {
    v1::AgentMessage message;
    v1::GpuReading& reading = *message.mutable_heartbeat()->add_readings();
    reading.set_gpu(gpu);
    reading.set_utilisation_percent(utilisation_percent);
    say_(std::move(message));
  }

  void started(std::uint64_t lease) {
    report().mutable_lease_started()->set_lease(lease);
    send();
  }

  // One task of the lease completes while the others go on.
  void finish_task(const v1::Lease& lease, std::uint64_t task_no) {
    v1::TaskEnded& ended = *report().mutable_task_ended();
    ended.set_lease(lease.id());
    ended.mutable_outcome()->set_task_no(task_no);
    ended.mutable_outcome()->mutable_result()->set_completed(true);
    send();
  }

  // Every task of the lease completes with the result "done".
  void finish(const v1::Lease& lease) {
    v1::LeaseEnded& ended = *report().mutable_lease_ended();
    ended.set_lease(lease.id());
    ended.set_ended_ago_ms(ended_ago_ms);
    if (ran_ms) ended.set_ran_ms(*ran_ms);
    for (const v1::LeasedTask& task : lease.tasks()) {
      v1::TaskOutcome& outcome = *ended.add_outcomes();
      outcome.set_task_no(task.task_no());
      outcome.mutable_result()->set_completed(true);
      outcome.mutable_result()->set_result("done");
    }
    send();
  }

 private:
  v1::Report& report() {
    message_.Clear();
    v1::Report& report = *message_.mutable_report();
    report.set_incarnation(incarnation_);
    report.set_seq(++seq_);
    return report;
  }
  void send() { say_(v1::AgentMessage(message_)); }
  void stopped(const v1::StopTask& stop) {
    stops.push_back(stop);
    for (const v1::Lease& lease : leases) {
      if (finishes_when_stopped && lease.id() == stop.lease()) finish(lease);
    }
  }
  void loaded(const v1::LoadModel& load) {
    v1::ModelLoaded& done = *report().mutable_model_loaded();
    done.set_load(load.load());
    done.set_gpu(load.gpu());
    done.set_model(load.model());
    done.set_ok(true);
    done.set_took_us(load_took_us);
    send();
  }

  Say say_;
  std::uint64_t incarnation_ = 1;
  std::uint64_t seq_ = 0;
  v1::AgentMessage message_;
};

}  // namespace berth::service::testing
