// Hello, Welcome, heartbeats, and the way of each message to its part.
#include "agent/session.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "agent/process_info.h"

namespace berth::agent {
namespace {

constexpr std::uint32_t kProtocol = 1;
constexpr int kMissedWhenLost = 2;
constexpr int kFailedWhenLost = 5;

std::vector<std::uint64_t> running_tasks(const FoundLease& found) {
  std::set<std::uint64_t> settled(found.not_started.begin(), found.not_started.end());
  for (const FoundLease::Ended& ended : found.ended) {
    settled.insert(ended.task_no);
  }
  std::vector<std::uint64_t> running;
  for (const berth::v1::LeasedTask& task : found.lease.tasks()) {
    if (!settled.contains(task.task_no())) running.push_back(task.task_no());
  }
  return running;
}

void put_held_lease(berth::v1::Hello& hello, const FoundLease& found) {
  berth::v1::HeldLease& held = *hello.add_leases();
  held.set_lease(found.lease.id());
  held.set_epoch(found.lease.epoch());
  for (const std::uint64_t no : running_tasks(found)) {
    held.add_running(no);
  }
  for (const std::uint64_t no : found.not_started) {
    held.add_not_started(no);
  }
  for (const FoundLease::Ended& ended : found.ended) {
    held.add_ended(ended.task_no);
  }
}

}  // namespace

Session::Session(Loop& loop, Worker& worker, const AgentOptions& options, std::uint64_t incarnation,
                 Send send)
    : loop_(loop),
      worker_(worker),
      options_(options),
      incarnation_(incarnation),
      send_(std::move(send)),
      gpus_(options.gpus, Loop::now()),
      streams_(gpus_.size()),
      store_(options.folder, options.work_folder, options.group_root),
      processes_(loop, worker, store_, options,
                 {[this](std::uint64_t lease) { leases_.commands_begun(lease); },
                  [this](std::uint64_t lease, std::uint64_t task_no, berth::v1::TaskResult&& result,
                         const TaskTimes& times) {
                    leases_.task_ended(lease, task_no, std::move(result), times);
                  }}),
      outputs_(loop, worker, store_, options.output_ttl, options.clock, send_,
               [this](std::uint64_t lease, std::uint64_t task_no) {
                 return leases_.is_open(lease, task_no);
               }),
      reports_(incarnation, send_, [this](const berth::v1::Report& report) { forget(report); }),
      leases_(loop, gpus_, streams_, reports_, send_,
              {options.default_run_limit, options.time_scale},
              {[this](const berth::v1::Lease& lease, std::span<const int> tasks) {
                 processes_.start(lease, tasks);
               },
               [this](std::uint64_t lease, std::uint64_t task_no) {
                 processes_.stop(lease, task_no);
               }}),
      models_(loop, gpus_, streams_, reports_, options.time_scale),
      missed_(gpus_.size()),
      lost_(gpus_.size()) {}

void Session::begin(std::vector<FoundLease>&& found) {
  berth::v1::AgentMessage hello = hello_of(found);
  for (FoundLease& lease : found) {
    adopt(std::move(lease));
  }
  hello.mutable_hello()->set_last_report(reports_.last());
  send_(std::move(hello));
  outputs_.find_kept();
  if (options_.work_reserve_bytes > 0) outputs_.keep_room(options_.work_reserve_bytes);
  beat();
}

void Session::adopt(FoundLease&& found) {
  outputs_.add(found.lease);
  const std::vector<std::uint64_t> running = running_tasks(found);
  const std::set<std::uint64_t> run(running.begin(), running.end());
  for (const berth::v1::LeasedTask& task : found.lease.tasks()) {
    if (run.contains(task.task_no())) processes_.adopt(found.lease, task);
  }
  leases_.adopt(std::move(found));
}

void Session::forget(const berth::v1::Report& report) {
  leases_.forget(report);
  if (report.has_lease_ended()) outputs_.keep(report.lease_ended().lease());
}

berth::v1::AgentMessage Session::hello_of(const std::vector<FoundLease>& found) const {
  berth::v1::AgentMessage message;
  berth::v1::Hello& hello = *message.mutable_hello();
  hello.set_protocol_low(kProtocol);
  hello.set_protocol_high(kProtocol);
  hello.set_cluster(options_.cluster);
  hello.set_node(options_.node);
  hello.set_incarnation(incarnation_);
  hello.set_boot_id(boot_id());
  hello.set_knows_all(knows_all_);
  for (const NodeDescription& description : options_.nodes) {
    berth::v1::Node& node = *hello.add_nodes();
    node.set_name(description.name);
    node.set_rack(description.rack);
    node.set_cpu_milli(description.cpu_milli);
    node.set_memory_mb(description.memory_mb);
    node.set_address(description.address);
  }
  for (const GpuDescription& description : options_.gpus) {
    berth::v1::Gpu& gpu = *hello.add_gpus();
    gpu.set_uuid(description.uuid);
    gpu.set_name(description.name);
    gpu.set_kind(description.kind);
    gpu.set_vram_mb(description.vram_mb);
    gpu.set_speed_milli(description.speed_milli);
    gpu.set_simulated(description.simulated);
    gpu.set_node(description.node);
    gpu.set_socket(description.socket);
    gpu.set_pcie_switch(description.pcie_switch);
    gpu.set_island(description.island);
    gpu.set_mig(description.mig);
    for (const ClassSpeed& its : description.speed_by_class) {
      berth::v1::ClassSpeed& speed = *gpu.add_speed_by_class();
      speed.set_work_class(its.work_class);
      speed.set_speed_milli(its.speed_milli);
    }
  }
  for (const FoundLease& lease : found) {
    put_held_lease(hello, lease);
  }
  return message;
}

void Session::receive(berth::v1::ServerMessage&& message) {
  switch (message.body_case()) {
    case berth::v1::ServerMessage::kLease:
      outputs_.add(message.lease());
      return leases_.accept(std::move(*message.mutable_lease()));
    case berth::v1::ServerMessage::kAcknowledge:
      return reports_.acknowledge(message.acknowledge().seq());
    case berth::v1::ServerMessage::kStop:
      return leases_.stop(message.stop());
    case berth::v1::ServerMessage::kLoad:
      return models_.load(message.load());
    case berth::v1::ServerMessage::kEvict:
      return models_.evict(message.evict());
    case berth::v1::ServerMessage::kStartGang:
      return leases_.start_gang(message.start_gang().gang(), message.start_gang().generation());
    case berth::v1::ServerMessage::kHeartbeat:
      renewed_at_ = Loop::now();
      return;
    case berth::v1::ServerMessage::kWelcome:
      return welcome(message.welcome());
    case berth::v1::ServerMessage::kLog:
      return outputs_.request(message.log());
    case berth::v1::ServerMessage::BODY_NOT_SET:
      return;  // of a newer protocol
  }
}

void Session::welcome(const berth::v1::Welcome& message) {
  if (!message.refused().empty()) return;  // the server ends the session; what runs goes on
  renewed_at_ = Loop::now();
  worker_.post([this] { store_.note_welcome(); });
  renewal_ = milliseconds(std::max<std::int64_t>(0, message.ttl_ms() - message.margin_ms()));
  reports_.welcome(message.acknowledged());
  for (const std::uint64_t lease : message.kill()) {
    leases_.stop_all(lease);
  }
}

// ---- Heartbeats
// ----------------------------------------------------------------------------------

void Session::beat() {
  berth::v1::AgentMessage message;
  berth::v1::Heartbeat& heartbeat = *message.mutable_heartbeat();
  heartbeat.set_incarnation(incarnation_);
  for (std::uint32_t gpu = 0; gpu < gpus_.size(); ++gpu) {
    const GpuReadings readings = readings_of(gpu);
    berth::v1::GpuReading& reading = *heartbeat.add_readings();
    reading.set_gpu(readings.uuid);
    reading.set_used_mb(readings.used_mb);
    reading.set_utilisation_percent(readings.utilisation_percent);
    reading.set_temperature_c(readings.temperature_c);
    reading.set_power_w(readings.power_w);
  }
  send_(std::move(message));
  stop_if_disconnected();
  loop_.after(options_.heartbeat, [this] { beat(); });
}

void Session::stop_if_disconnected() {
  if (renewal_.ns == 0 || Loop::now() - renewed_at_ < renewal_) return;
  leases_.stop_all_that_stop_on_disconnect();
}

GpuReadings Session::readings_of(std::uint32_t gpu) {
  GpuState& state = gpus_[gpu];
  if (state.description.simulated) {
    state.gauge(Loop::now());
    return state.simulated_readings();
  }
  const auto measured = measured_.find(state.description.uuid);
  if (measured == measured_.end()) return {.uuid = state.description.uuid};
  return measured->second;
}

void Session::take_readings(const Result<std::vector<GpuReadings>>& readings) {
  measured_.clear();
  if (!readings) return miss_all(readings.error().message);
  failures_ = 0;
  for (const GpuReadings& reading : *readings) {
    measured_[reading.uuid] = reading;
  }
  for (std::uint32_t gpu = 0; gpu < gpus_.size(); ++gpu) {
    const GpuDescription& description = gpus_[gpu].description;
    if (description.simulated) continue;
    if (measured_.contains(description.uuid)) {
      missed_[gpu] = 0;
      if (lost_[gpu]) report_returned(gpu);
    } else if (++missed_[gpu] >= kMissedWhenLost && !lost_[gpu]) {
      report_lost(gpu, "nvidia-smi no longer lists it.");
    }
  }
}

// More patient than with one GPU: a driver that is busy answers nobody for a while.
void Session::miss_all(const std::string& why) {
  if (++failures_ < kFailedWhenLost) return;
  for (std::uint32_t gpu = 0; gpu < gpus_.size(); ++gpu) {
    if (gpus_[gpu].description.simulated || lost_[gpu]) continue;
    report_lost(gpu, "nvidia-smi has told nothing of any GPU " + std::to_string(failures_) +
                         " times in a row: " + why);
  }
}

void Session::report_lost(std::uint32_t gpu, const std::string& why) {
  lost_[gpu] = true;
  berth::v1::Report report;
  report.mutable_gpu_lost()->set_gpu(gpus_[gpu].description.uuid);
  report.mutable_gpu_lost()->set_message(why);
  reports_.add(std::move(report));
}

void Session::report_returned(std::uint32_t gpu) {
  lost_[gpu] = false;
  berth::v1::Report report;
  report.mutable_gpu_returned()->set_gpu(gpus_[gpu].description.uuid);
  reports_.add(std::move(report));
}

}  // namespace berth::agent
