// Timeline: one row of CSV for every batch of a run, in the order in which batches started. A batch
// without a GPU has its node where others have their GPUs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/simulation.h"

namespace berth::sim {

class Timeline final : public Observer {
 public:
  explicit Timeline(const Scenario& scenario) : scenario_(scenario) {}

  void on_event(const core::Event&) override {}
  void on_action(Time at, const core::Action& action) override;

  // The header and all rows.
  std::string csv() const;

 private:
  struct Row {
    core::BatchStarted batch;
    Time started;
    Time ended = Time::never();  // never: it was still running when the simulation ended
    std::size_t completed = 0;
  };

  const Scenario& scenario_;
  std::vector<Row> rows_;
  std::map<LeaseId, std::size_t> open_;  // positions in rows_
  std::map<TaskNo, std::size_t> running_;
};

}  // namespace berth::sim
