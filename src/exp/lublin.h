// lublin: backfill of rigid gangs on 256 GPUs, the set-up of RLScheduler (SC'20).
//
// Windows of consecutive jobs of a trace, each on an empty machine. What decides is the shipped
// engine, by a scenario that `berth sim` runs as well; here are the set-up and the figures.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/diagnostics.h"
#include "exp/scenario_files.h"

namespace berth::exp {

struct LublinJob {
  std::int64_t submit_s = 0;
  std::int64_t run_s = 0;
  std::int64_t requested_s = 0;
  std::int64_t gpus = 0;
};

struct LublinTrace {
  std::string name;
  std::vector<LublinJob> jobs;  // by the time of submission
};

struct LublinTraces {
  std::vector<LublinTrace> traces;
  std::vector<std::string> notes;  // what was skipped, and why
};

// Every CSV in DIR/rlscheduler. None: something is wrong.
std::optional<LublinTraces> read_lublin(const std::string& traces,
                                        config::Diagnostics& diagnostics);

struct LublinPolicy {
  std::string name;
  std::string settings;  // lines of [policy]
};
const std::vector<LublinPolicy>& lublin_policies();

struct LublinWindow {
  std::size_t first = 0;
  std::size_t count = 0;
};
// The published windows; where the trace is too short for them, ten spread over it.
std::vector<LublinWindow> lublin_windows(const LublinTrace& trace);

ScenarioFiles lublin_scenario(const LublinTrace& trace, const LublinWindow& window,
                              const LublinPolicy& policy);

struct LublinFigures {
  double bounded_slowdown = 0;  // mean of max(1, (wait + run) / max(run, 10 s))
  double mean_wait_s = 0;
  double makespan_s = 0;
};
Result<LublinFigures> run_lublin(const LublinTrace& trace, const LublinWindow& window,
                                 const LublinPolicy& policy);

}  // namespace berth::exp
