// Log: actions and answers of the engine as lines of text, with the scenario's own names.
//
// Equal decisions at one instant that follow each other share a line ("accept a b"). The end of a
// lease has no line of its own: its GPUs are free once its last task has ended.
#pragma once

#include <string>
#include <vector>

#include "core/action.h"
#include "core/model/explanation.h"
#include "tests/scenarios/names.h"

namespace berth::scenario {

std::string text_of(Duration duration);
std::string text_of(Time time);
std::string text_of(Mib vram);
std::string text_of(Milli ratio);

class Log {
 public:
  Log(const Names& names, bool shows_charges) : names_(names), shows_charges_(shows_charges) {}

  void add(Time at, const core::Action& action);
  void add(Time at, TaskNo task, const core::Explanation& explanation);
  void add_line(Time at, const std::string& text);
  void add_left(TaskNo task, core::TaskState state);

  const std::vector<std::string>& lines() const { return lines_; }

 private:
  std::string task(TaskNo no) const { return names_.tasks.at(no.value); }
  std::string gpu(GpuId id) const { return names_.gpus.at(id.value); }
  std::string node(NodeId id) const { return names_.nodes.at(id.value); }
  std::string queue(QueueId id) const { return names_.queues.at(id.value); }
  std::string model(ModelId id) const { return names_.models.at(id.value); }
  std::string subject(std::string_view noun, std::uint64_t id) const;
  std::string reason(const core::Reason& reason, TaskNo about) const;
  std::string batch(const core::BatchStarted& batch) const;
  std::string deferral(const core::TaskDeferred& deferred) const;

  // A line "verb name name …" grows while the same is decided.
  void add_to_list(Time at, const std::string& verb, TaskNo task);

  const Names& names_;
  bool shows_charges_;
  std::vector<std::string> lines_;
  std::string open_list_;  // time and verb of the last line, if it may grow
};

}  // namespace berth::scenario
