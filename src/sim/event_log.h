// EventLog: every event and action of a run as one line of JSON, with names instead of numbers.
//
// {"t_ns":0,"event":"submit","task":3,…} or {"t_ns":0,"action":"batch_started",…}, in the order of
// the engine: what timers decided, the event, what it led to. Lines go to a sink as they come.
#pragma once

#include <functional>
#include <string_view>

#include "base/json.h"
#include "sim/simulation.h"

namespace berth::sim {

// "submit", "batch_started".
std::string_view name_of(const core::EventBody& event);
std::string_view name_of(const core::Action& action);

class EventLog final : public Observer {
 public:
  using Sink = std::function<void(std::string_view line)>;

  // The lines end with a newline.
  EventLog(const Scenario& scenario, Sink sink) : scenario_(scenario), sink_(std::move(sink)) {}

  void on_event(const core::Event& event) override;
  void on_action(Time at, const core::Action& action) override;

 private:
  void begin(Time at, std::string_view kind, std::string_view name);
  void end();
  void write_spec(const core::TaskSpec& spec);
  void write_class_speeds(const core::GpuSpec& spec);
  void write_shape(const core::TaskSpec& spec);
  void write_gpu(GpuId gpu);
  void write_node(NodeId node);
  void write_model(ModelId model);
  void write_queue(QueueId queue);
  void write_reason(const core::Reason& reason);

  const Scenario& scenario_;
  Sink sink_;
  JsonWriter json_{0};
};

}  // namespace berth::sim
